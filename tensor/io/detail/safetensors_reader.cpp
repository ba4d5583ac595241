#include <minnow/tensor/io/detail/safetensors_reader.h>

#include <algorithm>
#include <bit>
#include <filesystem>
#include <new>
#include <numeric>
#include <span>
#include <string>
#include <system_error>
#include <utility>
#include <minnow/tensor/error.h>
#include <minnow/tensor/internal.h>
#include <minnow/tensor/io/detail/checksum.h>
#include <minnow/tensor/io/detail/json_reader.h>
#include <minnow/tensor/io/detail/open_header.h>
#include <minnow/tensor/io/detail/shard_index.h>
#include <minnow/tensor/raw/transfer.h>
#include <minnow/tensor/runtime/allocator.h>

namespace minnow::detail {

using io::detail::Entry;
using io::detail::Opened;
using io::detail::Refusal;
using io::detail::ShardIndex;

static_assert(std::endian::native == std::endian::little, "safetensors files are little-endian: swap bytes here");

namespace {

[[noreturn]] void refuse_damaged(const char* op, const std::string& path, const std::string& found,
                                 const std::string& expected, SourceLocation where) {
  throw FormatError(std::string(op) + ": '" + path + "' is damaged\n  found     " + found + "\n  expected  " +
                        expected +
                        "\nuse another checkpoint; a program that changes tensors must not keep their checksums",
                    where);
}

/// Takes the checksums of a Checkpoint's file out of its metadata, so that no other file gets them; empty if there are
/// none.  FormatError if that of the header is wrong.
Metadata take_checksums(const char* op, const io::InputFile& file, Opened& opened, SourceLocation where) {
  Metadata checksums, &all = opened.header.metadata;
  if (!all.contains(std::string(io::detail::kHeaderChecksumKey))) return checksums;
  std::string text(opened.data - sizeof(std::uint64_t), '\0');
  file.read(sizeof(std::uint64_t), std::as_writable_bytes(std::span(text)));
  const io::detail::HeaderChecksum sum = io::detail::header_checksum(std::move(text));
  if (sum.found.empty()) return checksums;  // written by another program
  if (sum.found != sum.expected)
    refuse_damaged(op, file.path(), "a header with the checksum " + sum.expected, sum.found, where);
  for (auto entry = all.begin(); entry != all.end();)
    if (entry->first == io::detail::kHeaderChecksumKey || entry->first.starts_with(io::detail::kTensorChecksumKey))
      checksums.insert(all.extract(entry++));
    else ++entry;
  return checksums;
}

}  // namespace

SafetensorsReader::SafetensorsReader(const char* op, std::unique_ptr<io::InputFile> file, bool index,
                                     SourceLocation where)
    : path_(file->path()) {
  try {
    if (index) add_index(op, *file, where);
    else add_file(op, std::move(file), where);
    sort_names();
  } catch (const std::bad_alloc&) {
    throw OutOfMemoryError(
        std::string(op) + ": no memory for the names in '" + path_ + "'\nload it where there is more memory", where);
  }
}

void SafetensorsReader::sort_names() {
  order_.resize(tensors_.size());
  std::iota(order_.begin(), order_.end(), 0u);
  std::sort(order_.begin(), order_.end(),
            [this](std::uint32_t a, std::uint32_t b) { return tensors_[a].name < tensors_[b].name; });
}

void SafetensorsReader::add_file(const char* op, std::unique_ptr<io::InputFile> file, SourceLocation where) {
  Opened opened = io::detail::open_header(*file, op, where);
  const Metadata checksums = take_checksums(op, *file, opened, where);
  for (Entry& entry : opened.header.entries) {
    const auto known = checksums.find(io::detail::checksum_key(entry.name));
    tensors_.push_back(
        {std::move(entry.name), entry.dtype, entry.shape, static_cast<std::int64_t>(entry.end - entry.begin)});
    places_.push_back({files_.size(), opened.data + entry.begin, known == checksums.end() ? "" : known->second});
  }
  metadata_.merge(opened.header.metadata);
  files_.push_back(std::move(file));
}

void SafetensorsReader::add_index(const char* op, const io::InputFile& index, SourceLocation where) {
  const auto refuse = [&](const std::string& found, const std::string& expected) {
    throw FormatError(std::string(op) + ": '" + path_ + "' is not an index of safetensors files that minnow can read" +
                          "\n  found     " + found + "\n  expected  " + expected +
                          "\nkeep an index and its files as they were saved, in one folder",
                      where);
  };
  try {
    const ShardIndex shards = io::detail::read_shard_index(index);
    const std::filesystem::path folder = std::filesystem::path(path_).parent_path();
    std::error_code failed;
    for (std::size_t i = 0; i < shards.files.size(); ++i) {
      const std::string& name = shards.files[i];
      if (!std::filesystem::exists(folder / name, failed))
        throw Refusal{"no file '" + name + "' beside it", "all files that it names"};
      const std::size_t begin = tensors_.size();
      add_file(op, std::make_unique<io::InputFile>(op, (folder / name).string(), where), where);
      for (std::size_t t = begin; t < tensors_.size(); ++t) {
        const auto entry = shards.file_of.find(tensors_[t].name);
        if (entry == shards.file_of.end() || entry->second != i)
          throw Refusal{"the tensor '" + tensors_[t].name + "' in '" + name + "'",
                        entry == shards.file_of.end() ? "only tensors that the index names"
                                                      : "it in '" + shards.files[entry->second] + "'"};
      }
    }
    sort_names();
    for (const auto& [name, file] : shards.file_of)
      if (find(name) == nullptr)
        throw Refusal{"no tensor '" + name + "' in '" + shards.files[file] + "'", "all tensors that the index names"};
  } catch (const Refusal& refusal) { refuse(refusal.found, refusal.expected); }
}

const TensorInfo* SafetensorsReader::find(std::string_view name) const {
  const auto place = std::lower_bound(order_.begin(), order_.end(), name,
                                      [this](std::uint32_t i, std::string_view n) { return tensors_[i].name < n; });
  return place == order_.end() || tensors_[*place].name != name ? nullptr : &tensors_[*place];
}

Tensor SafetensorsReader::read(const char* op, const TensorInfo& info, Device device, SourceLocation where) const {
  const Place& place = places_[static_cast<std::size_t>(&info - tensors_.data())];
  const io::InputFile& file = *files_[place.file];
  const auto refuse = [&] {
    throw OutOfMemoryError(std::string(op) + ": no memory for the tensor '" + info.name + "' of '" + file.path() +
                               "'\n  tensor  " + std::string(name_of(info.dtype)) + info.shape.str() + ", " +
                               std::to_string(info.nbytes) + " bytes\n  file    " + std::to_string(file.size()) +
                               " bytes, to " + device.str() +
                               "\nfree tensors that are no longer needed, or load it where there is more memory",
                           where);
  };
  try {
    auto storage = std::make_shared<Storage>(cpu_allocator(), Device(), static_cast<std::size_t>(info.nbytes));
    const std::span<std::byte> out(static_cast<std::byte*>(storage->data()), static_cast<std::size_t>(info.nbytes));
    file.read(place.offset, out);
    if (!place.checksum.empty())
      if (const std::string is = io::detail::checksum(out); is != place.checksum)
        refuse_damaged(op, file.path(), "the tensor '" + info.name + "' with the checksum " + is, place.checksum,
                       where);
    if (info.dtype == DType::bool_)  // a bool that is neither 0 nor 1 is undefined behavior
      for (std::byte& byte : out) byte = byte == std::byte{0} ? byte : std::byte{1};
    const Tensor host(std::move(storage), info.dtype, info.shape, contiguous_strides(info.shape));
    return raw::to_device({host, where}, device);
  } catch (const OutOfMemoryError&) { refuse(); } catch (const std::bad_alloc&) {
    refuse();
  }
  return {};
}

}  // namespace minnow::detail
