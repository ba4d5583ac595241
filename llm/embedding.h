#pragma once

#include <cstdint>
#include <string>
#include <minnow/llm/gguf.h>
#include <minnow/nn/module/module.h>
#include <minnow/tensor/in.h>

namespace minnow::llm {

/// A table of tokens, as nn::Embedding: a weight that is trained, drawn with a standard deviation of 0.02 as Hugging
/// Face does, or blocks of a GgufType, of which the rows that are read are dequantized.
/// tokens: int64 [...]  ->  [..., embedding_dim].  IndexError for a token out of range.
class Embedding : public nn::Module {
 public:
  /// ValueError unless num_embeddings and embedding_dim are positive.
  Embedding(std::int64_t num_embeddings, std::int64_t embedding_dim, SourceLocation where = SourceLocation::current());
  /// blocks: uint8 [num_embeddings, bytes of a row], as Linear has them.   The same errors.
  Embedding(const In& blocks, std::int64_t embedding_dim);

  nn::Parameter weight;  ///< undefined if there are blocks
  nn::Buffer blocks;     ///< undefined if there is a weight

  std::int64_t embedding_dim() const { return dim_; }
  Device device() const { return weight.defined() ? weight.device() : blocks.device(); }
  /// Of the results.
  DType dtype() const { return weight.defined() ? weight.dtype() : DType::float32; }

  Tensor forward(const Tensor& tokens) override;
  std::string describe() const override;

 private:
  std::int64_t dim_;
  GgufType type_ = GgufType::f32;
};

}  // namespace minnow::llm
