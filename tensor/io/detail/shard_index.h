#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>
#include <minnow/tensor/io/file.h>

namespace minnow::io::detail {

/// A model's files, as Hugging Face's model.safetensors.index.json lists them.
struct ShardIndex {
  std::vector<std::string> files;              ///< names within the index's folder, sorted
  std::map<std::string, std::size_t> file_of;  ///< of each tensor
};

/// Throws Refusal (json_reader.h).
ShardIndex read_shard_index(const InputFile& file);
std::string write_shard_index(const ShardIndex& index, std::uint64_t total_bytes);

/// "net-00002-of-00003.safetensors" for "net", 1 and 3.
std::string shard_name(const std::string& stem, std::size_t shard, std::size_t count);

}  // namespace minnow::io::detail
