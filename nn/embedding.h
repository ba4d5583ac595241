#pragma once

#include <optional>
#include <minnow/nn/module.h>

namespace minnow::nn {

struct EmbeddingOptions {
  /// A row that stands for no entry: it starts as zeros and gets no gradient.  Negative: from the end.
  std::optional<std::int64_t> padding_idx{};
};

/// A table of vectors: the rows of weight that x names.   x: int64 or int32 [...]  ->  [..., dim].  weight: [num, dim]
/// starts normally distributed, as in PyTorch.  An entry out of range is an IndexError.
class Embedding : public Module {
 public:
  /// ValueError unless both sizes are positive, IndexError for a padding_idx out of range.
  Embedding(std::int64_t num, std::int64_t dim, EmbeddingOptions options = {},
            SourceLocation where = SourceLocation::current());

  Parameter weight;

  Tensor forward(const Tensor& x) override;
  std::string describe() const override;

 private:
  std::optional<std::int64_t> padding_idx_;
};

}  // namespace minnow::nn
