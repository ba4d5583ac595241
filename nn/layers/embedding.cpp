#include <minnow/nn/layers/embedding.h>

#include <fmt/format.h>
#include <minnow/autograd/grad_mode.h>
#include <minnow/nn/module/init.h>
#include <minnow/ops/indexing/index.h>
#include <minnow/tensor/create.h>
#include <minnow/tensor/error.h>
#include <minnow/tensor/internal.h>

namespace minnow::nn {
namespace {

Tensor initial_weight(std::int64_t num_embeddings, std::int64_t embedding_dim, std::optional<std::int64_t> padding_idx,
                      SourceLocation where, const char* name = "Embedding") {
  const CallSite site(name, where);
  if (num_embeddings <= 0 || embedding_dim <= 0)
    throw ValueError(
        fmt::format("{}: num_embeddings and embedding_dim must be positive, got {} and {}\n"
                    "give two sizes of 1 or more",
                    name, num_embeddings, embedding_dim));
  if (padding_idx && (*padding_idx < -num_embeddings || *padding_idx >= num_embeddings))
    throw IndexError(fmt::format("{}: padding_idx must be in [{}, {}], got {}\nit is the index of a row", name,
                                 -num_embeddings, num_embeddings - 1, *padding_idx));
  const Tensor weight = init::normal_(empty({num_embeddings, embedding_dim}));
  if (padding_idx) init::zeros_(weight.select(0, *padding_idx));
  return weight;
}

}  // namespace

Embedding::Embedding(std::int64_t num_embeddings, std::int64_t embedding_dim, EmbeddingOptions options,
                     SourceLocation where)
    : weight(parameter("weight", initial_weight(num_embeddings, embedding_dim, options.padding_idx, where))),
      padding_idx_(options.padding_idx) {}

Tensor Embedding::forward(const Tensor& x) {
  const CallSite site = called();
  return embedding(x, weight, padding_idx_);
}

std::string Embedding::describe() const {
  const std::string padding = padding_idx_ ? fmt::format(", padding_idx {}", *padding_idx_) : "";
  return fmt::format("Embedding({}, {}{})", weight.size(0), weight.size(1), padding);
}

EmbeddingBag::EmbeddingBag(std::int64_t num_embeddings, std::int64_t embedding_dim, EmbeddingBagOptions options,
                           SourceLocation where)
    : weight(parameter("weight",
                       initial_weight(num_embeddings, embedding_dim, options.padding_idx, where, "EmbeddingBag"))),
      options_(options) {}

Tensor EmbeddingBag::forward(const Tensor& index) { return forward(index, {}, {}); }
Tensor EmbeddingBag::forward(const Tensor& index, const Tensor& offsets) { return forward(index, offsets, {}); }
Tensor EmbeddingBag::forward(const Tensor& index, const Tensor& offsets, const Tensor& per_sample_weights) {
  const CallSite site = called();
  return embedding_bag(index, weight, offsets,
                       {options_.mode, per_sample_weights, options_.include_last_offset, options_.padding_idx});
}

std::string EmbeddingBag::describe() const {
  const char* const mode = options_.mode == BagMode::sum ? "sum" : options_.mode == BagMode::mean ? "mean" : "max";
  const std::string padding = options_.padding_idx ? fmt::format(", padding_idx {}", *options_.padding_idx) : "";
  return fmt::format("EmbeddingBag({}, {}, {}{})", weight.size(0), weight.size(1), mode, padding);
}

}  // namespace minnow::nn
