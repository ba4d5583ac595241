#include <minnow/llm/embedding.h>

#include <fmt/format.h>
#include <minnow/llm/detail/blocks.h>
#include <minnow/llm/linear.h>
#include <minnow/nn/module/init.h>
#include <minnow/ops/detail/blocks.h>
#include <minnow/ops/indexing/index.h>
#include <minnow/tensor/create.h>
#include <minnow/tensor/error.h>
#include <minnow/tensor/internal.h>

namespace minnow::llm {
namespace {

Tensor initial_table(std::int64_t count, std::int64_t dim, SourceLocation where) {
  const CallSite site("Embedding", where);
  if (count <= 0 || dim <= 0)
    throw ValueError(
        fmt::format("Embedding: num_embeddings and embedding_dim must be positive, got {} and {}", count, dim), where);
  const Tensor table = empty({count, dim});
  return Uninitialized::is_on() ? table : nn::init::normal_(table, 0, 0.02);
}

}  // namespace

Embedding::Embedding(std::int64_t num_embeddings, std::int64_t embedding_dim, SourceLocation where)
    : weight(parameter("weight", initial_table(num_embeddings, embedding_dim, where))), dim_(embedding_dim) {}

Embedding::Embedding(const In& given, std::int64_t embedding_dim) : dim_(embedding_dim) {
  const CallSite site("Embedding", given.where);
  type_ = detail::type_of_rows("Embedding", given, dim_);
  blocks = buffer("blocks", given->contiguous(), true, given.where);
}

Tensor Embedding::forward(const Tensor& tokens) {
  const auto site = called();
  if (weight.defined()) return embedding(tokens, weight);
  const Tensor rows = index_select(blocks, 0, tokens.flatten());
  Shape shape = tokens.shape();
  shape.push_back(dim_);
  return minnow::detail::dequantized(rows, detail::format_of(type_), 0, rows.size(0)).view(shape);
}

std::string Embedding::describe() const {
  const std::int64_t count = weight.defined() ? weight.size(0) : blocks.size(0);
  return fmt::format("Embedding({}, {}{}{})", count, dim_, weight.defined() ? "" : ", ",
                     weight.defined() ? "" : detail::name_of(type_));
}

}  // namespace minnow::llm
