#pragma once

#include <memory>
#include <minnow/tensor/tensor.h>

namespace minnow {

/// The gradient of a table of which a step reads few rows: values [k, d] are the gradients of the rows index [k],
/// int64; those of other rows are 0.
struct RowGradient {
  Tensor index, values;

  bool defined() const { return index.defined(); }
};

/// The gradient that backward has left for a parameter of nn::Embedding or nn::EmbeddingBag with .sparse: each row
/// once, in order; undefined if there is none.  grad() of such a parameter is an error.  set_grad({}) and zero_grad()
/// drop it.  Shares memory: what is written to the values counts in the next step of an optimizer.  AutogradError if
/// other operations have left a dense gradient beside it.
RowGradient row_grad(const Tensor& x, SourceLocation where = SourceLocation::current());

namespace autograd {

/// The rows of a table, [k, d], as embedding() gives them; backward adds their gradient to the table's row_grad().
/// index: int64 [k]. The rows of padding_idx (from 0; -1: none) get 0.  AutogradError if the table is computed from
/// others.
Tensor rows_of(const Tensor& table, const Tensor& index, std::int64_t padding_idx);

}  // namespace autograd

}  // namespace minnow
