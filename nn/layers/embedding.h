#pragma once

#include <optional>
#include <minnow/nn/module/module.h>
#include <minnow/ops/indexing/embedding_bag.h>

namespace minnow::nn {

struct EmbeddingOptions {
  /// The index of a row that is initialized with zeros and gets no gradient.  Negative: from the end.
  std::optional<std::int64_t> padding_idx{};
  /// The gradient has the rows that were read alone (row_grad()), so that a step does not grow with the table.  SGD
  /// without momentum, Adagrad and SparseAdam update these rows; clipping and GradScaler know them; a Checkpoint,
  /// Module::to and DataParallel refuse them.
  bool sparse = false;
};

/// A lookup table: y = weight[x].   x: int64 or int32 [...]  ->  [..., embedding_dim].
/// weight: [num_embeddings, embedding_dim], initialized with the standard normal distribution, as in PyTorch.
/// The gradient is dense, of the weight's size, unless it is .sparse.  IndexError for an index out of range.
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
  bool sparse_;
};

struct EmbeddingBagOptions {
  BagMode mode = BagMode::mean;
  bool include_last_offset = false;           ///< the last offset is the end of the last bag
  std::optional<std::int64_t> padding_idx{};  ///< as of Embedding; the row is left out
  bool sparse = false;                        ///< as of Embedding
};

/// The sum, the mean or the largest elements of the rows of each bag: minnow::embedding_bag.   index: [B, L], or [L]
/// with offsets [B]; of mode sum also with weights for each index  ->  [B, embedding_dim].  weight: as of Embedding.
class EmbeddingBag : public Module {
 public:
  /// ValueError unless num_embeddings and embedding_dim are positive, IndexError for a padding_idx out of range.
  EmbeddingBag(std::int64_t num_embeddings, std::int64_t embedding_dim, EmbeddingBagOptions options = {},
               SourceLocation where = SourceLocation::current());

  Parameter weight;

  Tensor forward(const Tensor& index) override;
  Tensor forward(const Tensor& index, const Tensor& offsets) override;
  /// offsets may be undefined.
  Tensor forward(const Tensor& index, const Tensor& offsets, const Tensor& per_sample_weights) override;
  std::string describe() const override;

 private:
  EmbeddingBagOptions options_;
};

}  // namespace minnow::nn
