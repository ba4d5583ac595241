#include <minnow/nn/layers/embedding.h>

#include <fmt/format.h>
#include <minnow/autograd/grad_mode.h>
#include <minnow/autograd/record.h>
#include <minnow/autograd/row_gradient.h>
#include <minnow/nn/module/init.h>
#include <minnow/ops/elementwise/arithmetic.h>
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

/// embedding() with a sparse gradient.
Tensor sparse_rows(const Tensor& index, const Tensor& weight, std::optional<std::int64_t> padding_idx) {
  const CallSite site("embedding", {});
  {
    const NoGradGuard guard;
    (void)embedding(index.flatten().narrow(0, 0, 0), weight, padding_idx);  // its checks
  }
  if (padding_idx && *padding_idx < 0) *padding_idx += weight.size(0);
  Shape shape = index.shape();
  shape.push_back(weight.size(1));
  return autograd::rows_of(weight, index.to(DType::int64).flatten(), padding_idx.value_or(-1)).view(shape);
}

}  // namespace

Embedding::Embedding(std::int64_t num_embeddings, std::int64_t embedding_dim, EmbeddingOptions options,
                     SourceLocation where)
    : weight(parameter("weight", initial_weight(num_embeddings, embedding_dim, options.padding_idx, where))),
      padding_idx_(options.padding_idx),
      sparse_(options.sparse) {}

Tensor Embedding::forward(const Tensor& x) {
  const CallSite site = called();
  if (sparse_ && records(weight)) return sparse_rows(x, weight, padding_idx_);
  return embedding(x, weight, padding_idx_);
}

std::string Embedding::describe() const {
  const std::string padding = padding_idx_ ? fmt::format(", padding_idx {}", *padding_idx_) : "";
  return fmt::format("Embedding({}, {}{}{})", weight.size(0), weight.size(1), padding, sparse_ ? ", sparse" : "");
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
  EmbeddingBagFuncOptions options{options_.mode, per_sample_weights, options_.include_last_offset,
                                  options_.padding_idx};
  if (!options_.sparse || !records(weight) || !index.defined()) return embedding_bag(index, weight, offsets, options);
  // The rows that are read are a table of their own, of which all is read once; the padding's is its last.
  Tensor flat = index.flatten();
  Tensor places = arange(flat.numel(), index.device());
  if (options.padding_idx) {
    const std::int64_t padding = *options.padding_idx + (*options.padding_idx < 0 ? weight.size(0) : 0);
    options.padding_idx = flat.numel();
    places = where(eq(flat, padding), flat.numel(), places);
    flat = cat({flat, full({1}, padding, {flat.dtype(), flat.device()})});
  }
  return embedding_bag(places.view(index.shape()), sparse_rows(flat, weight, options_.padding_idx), offsets, options);
}

std::string EmbeddingBag::describe() const {
  const char* const mode = options_.mode == BagMode::sum ? "sum" : options_.mode == BagMode::mean ? "mean" : "max";
  const std::string padding = options_.padding_idx ? fmt::format(", padding_idx {}", *options_.padding_idx) : "";
  return fmt::format("EmbeddingBag({}, {}, {}{}{})", weight.size(0), weight.size(1), mode, padding,
                     options_.sparse ? ", sparse" : "");
}

}  // namespace minnow::nn
