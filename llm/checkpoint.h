#pragma once

#include <optional>
#include <string>
#include <minnow/llm/config.h>
#include <minnow/llm/gguf.h>
#include <minnow/tensor/io/state_dict.h>

namespace minnow::llm {

/// A model as it is stored, with Hugging Face's names ("model.layers.0.self_attn.q_proj.weight").
struct Checkpoint {
  LlamaConfig config;
  StateDict weights;             ///< "lm_head.weight" too where it is the embedding
  std::optional<GgufFile> gguf;  ///< the file, if it is one: it has the tokens too
};

/// Reads a model: a GGUF file of llama.cpp's, whose numbers are dequantized and whose rows of q and k, which it has
/// permuted, are put back; or a folder of Hugging Face's with config.json and model.safetensors or
/// model.safetensors.index.json.   path: "FILE.gguf" or "FOLDER"
/// FormatError for a file that is not valid, and for a GGUF file that has tensors of other models; IoError;
/// OutOfMemoryError.
/// keep_blocks: the matrices that a GGUF file has in blocks stay as they are: uint8 [rows, bytes of a row], for
/// llm::Linear and llm::Embedding.
Checkpoint load_checkpoint(const std::string& path, bool keep_blocks = false,
                           SourceLocation where = SourceLocation::current());

}  // namespace minnow::llm
