#include <minnow/nn/embedding.h>

#include <fmt/format.h>
#include <minnow/autograd/grad_mode.h>
#include <minnow/nn/init.h>
#include <minnow/ops/index.h>
#include <minnow/tensor/create.h>
#include <minnow/tensor/error.h>
#include <minnow/tensor/internal.h>

namespace minnow::nn {
namespace {

Tensor initial_weight(std::int64_t num, std::int64_t dim, std::optional<std::int64_t> padding_idx,
                      SourceLocation where) {
  const CallSite site("Embedding", where);
  if (num <= 0 || dim <= 0)
    throw ValueError(
        fmt::format("Embedding: the sizes must be positive\n  num  {}\n  dim  {}\ngive two numbers above 0", num, dim));
  if (padding_idx && (*padding_idx < -num || *padding_idx >= num))
    throw IndexError(fmt::format("Embedding: padding_idx must be in [{}, {}], got {}\nname a row of the table", -num,
                                 num - 1, *padding_idx));
  const Tensor weight = init::normal_(empty({num, dim}));
  if (padding_idx) init::zeros_(weight.select(0, *padding_idx));
  return weight;
}

}  // namespace

Embedding::Embedding(std::int64_t num, std::int64_t dim, EmbeddingOptions options, SourceLocation where)
    : weight(parameter("weight", initial_weight(num, dim, options.padding_idx, where))),
      padding_idx_(options.padding_idx) {}

Tensor Embedding::forward(const Tensor& x) {
  const CallSite site = called();
  return embedding(x, weight, padding_idx_);
}

std::string Embedding::describe() const {
  const std::string padding = padding_idx_ ? fmt::format(", padding_idx {}", *padding_idx_) : "";
  return fmt::format("Embedding({}, {}{})", weight.size(0), weight.size(1), padding);
}

}  // namespace minnow::nn
