#include <minnow/tensor/io/save.h>

#include <filesystem>
#include <memory>
#include <system_error>
#include <utility>
#include <vector>
#include <minnow/tensor/error.h>
#include <minnow/tensor/internal.h>
#include <minnow/tensor/io/detail/foreign.h>
#include <minnow/tensor/io/detail/header.h>
#include <minnow/tensor/io/detail/json_reader.h>
#include <minnow/tensor/io/detail/shard_index.h>
#include <minnow/tensor/io/file.h>
#include <minnow/tensor/io/npy.h>
#include <minnow/tensor/io/npz.h>
#include <minnow/tensor/raw/copy.h>
#include <minnow/tensor/raw/transfer.h>
#include <minnow/tensor/raw/view.h>

namespace minnow {
namespace {

using io::AtomicFile;
using io::detail::Entry;
using io::detail::Format;
using io::detail::Header;

/// A copy in host memory with the elements in row-major order.
Tensor on_host(const Tensor& tensor, SourceLocation where) {
  const Tensor host = raw::contiguous(raw::to_device(raw::detach({tensor, where}), Device()));
  host.storage()->wait_ready();
  return host;
}

void check(const StateDict& tensors, const Metadata& metadata, SourceLocation where) {
  for (const auto& [name, tensor] : tensors) {
    if (!tensor.defined())
      throw ValueError("save: the tensor '" + name + "' is undefined\ngive it a value, or leave it out", where);
    if (name == "__metadata__")
      throw ValueError("save: the name '__metadata__' is reserved by the format\ngive it another name", where);
    if (!io::detail::is_utf8(name))
      throw ValueError("save: the name '" + name + "' is not UTF-8\ngive it another name", where);
  }
  for (const auto& [key, value] : metadata)
    if (!io::detail::is_utf8(key) || !io::detail::is_utf8(value))
      throw ValueError("save: the metadata '" + key + "' is not UTF-8\nencode it as text", where);
}

/// A complete safetensors file, which only has to be committed.
std::unique_ptr<AtomicFile> written(const StateDict& tensors, const std::string& path, const Metadata& metadata,
                                    SourceLocation where) {
  Header header;
  header.metadata = metadata;
  for (const auto& [name, tensor] : tensors) header.entries.push_back({name, tensor.dtype(), tensor.shape()});
  const std::string text = io::detail::write_header(header);
  const std::uint64_t length = text.size();
  if (length > io::detail::kMaxHeaderBytes)
    throw ValueError("save: names and metadata take " + std::to_string(length) + " bytes\n  the format allows " +
                         std::to_string(io::detail::kMaxHeaderBytes) +
                         "\nsave in several files, e.g. with .max_shard_bytes",
                     where);
  auto file = std::make_unique<AtomicFile>("save", path, where);
  file->write(std::as_bytes(std::span(&length, 1)));
  file->write(std::as_bytes(std::span(text)));
  // One at a time, since together they may not fit into host memory.
  for (const Entry& entry : header.entries) {
    const Tensor host = on_host(*tensors.find(entry.name), where);
    file->write({static_cast<const std::byte*>(host.raw_data()), static_cast<std::size_t>(host.nbytes())});
  }
  return file;
}

/// As Hugging Face divides them: in order, a file ends before the tensor that would make it too large; a tensor that
/// is too large by itself has its own.
std::vector<StateDict> divide(const StateDict& tensors, std::int64_t most) {
  std::vector<StateDict> shards;
  StateDict current;
  std::int64_t bytes = 0;
  for (const auto& [name, tensor] : tensors) {
    const std::int64_t more = tensor.nbytes();
    if (more > most) {
      shards.push_back({{name, tensor}});
      continue;
    }
    if (more > most - bytes) {
      shards.push_back(std::exchange(current, {}));
      bytes = 0;
    }
    current.set(name, tensor);
    bytes += more;
  }
  if (!current.empty() || shards.empty()) shards.push_back(std::move(current));
  return shards;
}

/// Removes a regular file, also behind a link.
void remove_old(const std::string& path) {
  std::error_code failed;
  const std::filesystem::path old = std::filesystem::canonical(path, failed);
  if (!failed && std::filesystem::is_regular_file(old, failed)) std::filesystem::remove(old, failed);
}

void save_shards(const std::vector<StateDict>& shards, const std::string& index_path, const Metadata& metadata,
                 SourceLocation where) {
  constexpr std::string_view kEnd = ".safetensors";
  std::string stem = index_path.substr(0, index_path.size() - std::string_view(".index.json").size());
  if (stem.ends_with(kEnd)) stem.resize(stem.size() - kEnd.size());
  AtomicFile index_file("save", index_path, where);  // first, to see whether it can be written
  io::detail::ShardIndex index;
  std::vector<std::unique_ptr<AtomicFile>> files;
  std::uint64_t total = 0;
  for (std::size_t i = 0; i < shards.size(); ++i) {
    const std::string path = io::detail::shard_name(stem, i, shards.size());
    index.files.push_back(std::filesystem::path(path).filename().string());
    for (const auto& [name, tensor] : shards[i]) {
      index.file_of.emplace(name, i);
      total += static_cast<std::uint64_t>(tensor.nbytes());
    }
    files.push_back(written(shards[i], path, metadata, where));
  }
  const std::string text = io::detail::write_shard_index(index, total);
  index_file.write(std::as_bytes(std::span(text)));
  remove_old(index_path);
  for (const auto& file : files) file->commit();
  index_file.commit();
}

[[noreturn]] void refuse(const std::string& what, const std::string& hint, SourceLocation where) {
  throw ValueError("save: " + what + "\n" + hint, where);
}

void save_safetensors(const StateDict& tensors, const std::string& path, const SaveOptions& options, bool as_index,
                      SourceLocation where) {
  check(tensors, options.metadata, where);
  double bytes = 0;
  for (const auto& [name, tensor] : tensors) bytes += static_cast<double>(tensor.nbytes());
  const bool several = options.max_shard_bytes > 0 && bytes > static_cast<double>(options.max_shard_bytes);
  if (!as_index && !several) {
    written(tensors, path, options.metadata, where)->commit();
    if (options.max_shard_bytes > 0) remove_old(path + ".index.json");
    return;
  }
  const auto shards = options.max_shard_bytes > 0 ? divide(tensors, options.max_shard_bytes) : std::vector{tensors};
  save_shards(shards, as_index ? path : path + ".index.json", options.metadata, where);
  if (!as_index) remove_old(path);  // Hugging Face's loaders would prefer it to the index
}

}  // namespace

void save(const StateDict& tensors, const std::string& path, const SaveOptions& options, SourceLocation where) {
  const CallSite site("save", where);
  if (options.max_shard_bytes < 0)
    refuse("got max_shard_bytes " + std::to_string(options.max_shard_bytes), "pass a number of bytes from 0", where);
  const Format format = io::detail::format_of_name(path);
  const bool numpy = format == Format::npz || format == Format::npy;
  if (numpy && (!options.metadata.empty() || options.max_shard_bytes != 0))
    refuse("'" + path + "' would hold no metadata and have no shards", "save it as .safetensors, or leave them out",
           where);
  if (format == Format::npy && tensors.size() != 1)
    refuse(std::to_string(tensors.size()) + " tensors for '" + path + "'",
           "an .npy file holds one: save as .npz or .safetensors", where);
  switch (format) {
    case Format::torch:
      refuse("'" + path + "' has the name of a file of PyTorch, which minnow reads but does not write",
             "save it as .safetensors; in Python, safetensors.torch.load_file() reads it", where);
    case Format::npz: return save_npz(tensors, path, {}, where);
    case Format::npy: return save_npy(tensors.begin()->second, path, where);
    default: return save_safetensors(tensors, path, options, format == Format::index, where);
  }
}

void save(const StateDict& tensors, const std::string& path, const Metadata& metadata, SourceLocation where) {
  save(tensors, path, SaveOptions{.metadata = metadata}, where);
}

}  // namespace minnow
