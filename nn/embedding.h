#pragma once

#include <optional>
#include <minnow/nn/module.h>

namespace minnow::nn {

struct EmbeddingOptions {
  /// The index of a row that is initialized with zeros and gets no gradient.  Negative: from the end.
  std::optional<std::int64_t> padding_idx{};
};

/// A lookup table: y = weight[x].   x: int64 or int32 [...]  ->  [..., embedding_dim].
/// weight: [num_embeddings, embedding_dim], initialized with the standard normal distribution, as in PyTorch.
/// IndexError for an index out of range.
class Embedding : public Module {
 public:
  /// ValueError unless num_embeddings and embedding_dim are positive, IndexError for a padding_idx out of range.
  Embedding(std::int64_t num_embeddings, std::int64_t embedding_dim, EmbeddingOptions options = {},
            SourceLocation where = SourceLocation::current());

  Parameter weight;

  Tensor forward(const Tensor& x) override;
  std::string describe() const override;

 private:
  std::optional<std::int64_t> padding_idx_;
};

}  // namespace minnow::nn
