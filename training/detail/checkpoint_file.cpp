#include <minnow/training/detail/checkpoint_file.h>

#include <span>
#include <utility>
#include <minnow/tensor/create.h>
#include <minnow/tensor/error.h>
#include <minnow/tensor/io/detail/checksum.h>
#include <minnow/tensor/io/detail/json_reader.h>
#include <minnow/tensor/io/detail/open_header.h>
#include <minnow/tensor/io/file.h>
#include <minnow/tensor/raw/copy.h>

namespace minnow::detail {
namespace {

using io::detail::checksum;
using io::detail::checksum_key;
using io::detail::Entry;

std::span<std::byte> bytes_of(const Tensor& host) {
  return {static_cast<std::byte*>(host.raw_data()), static_cast<std::size_t>(host.nbytes())};
}

[[noreturn]] void refuse(const std::string& path, const std::string& found, const std::string& expected,
                         SourceLocation where) {
  throw FormatError("Checkpoint: '" + path + "' is damaged\n  found     " + found + "\n  expected  " + expected +
                        "\nuse another checkpoint; this file cannot be repaired",
                    where);
}

}  // namespace

void write_checkpoint(const std::string& path, const StateDict& tensors, Metadata metadata, SourceLocation where) {
  io::detail::Header header;
  StateDict host;
  for (const auto& [name, tensor] : tensors) {
    tensor.storage()->wait_ready();
    host.set(name, raw::contiguous({tensor, where}));
    header.entries.push_back({name, tensor.dtype(), tensor.shape()});
    metadata[checksum_key(name)] = checksum(bytes_of(host.at(name)));
  }
  metadata[std::string(io::detail::kHeaderChecksumKey)] = "00000000";
  header.metadata = std::move(metadata);
  std::string text = io::detail::write_header(header);
  io::detail::set_header_checksum(text);
  const std::uint64_t length = text.size();
  if (length > io::detail::kMaxHeaderBytes)
    throw ValueError("Checkpoint::save: names and metadata take " + std::to_string(length) +
                         " bytes\n  the format allows " + std::to_string(io::detail::kMaxHeaderBytes) +
                         "\nsave less in one checkpoint",
                     where);
  io::AtomicFile file("Checkpoint::save", path, where);
  file.write(std::as_bytes(std::span(&length, 1)));
  file.write(std::as_bytes(std::span(text)));
  for (const Entry& entry : header.entries) file.write(bytes_of(host.at(entry.name)));
  file.commit();
}

CheckpointFile read_checkpoint(const std::string& path, SourceLocation where) {
  const io::InputFile file("Checkpoint::resume", path, where);
  io::detail::Opened opened = io::detail::open_header(file, "Checkpoint::resume", where);
  std::string text(opened.data - sizeof(std::uint64_t), '\0');
  file.read(sizeof(std::uint64_t), std::as_writable_bytes(std::span(text)));
  const io::detail::HeaderChecksum sum = io::detail::header_checksum(std::move(text));
  if (sum.found.empty())
    refuse(path, "a header without a checksum", "a file that Checkpoint::save() has written", where);
  if (sum.found != sum.expected) refuse(path, "a header with the checksum " + sum.expected, sum.found, where);
  CheckpointFile out;
  for (const Entry& entry : opened.header.entries) {
    const Tensor tensor = empty(entry.shape, {.dtype = entry.dtype}, where);
    const std::span<std::byte> bytes = bytes_of(tensor);
    file.read(opened.data + entry.begin, bytes);
    const std::string is = checksum(bytes), known = opened.header.metadata[checksum_key(entry.name)];
    if (is != known) refuse(path, "the tensor '" + entry.name + "' with the checksum " + is, known, where);
    if (entry.dtype == DType::bool_)  // a bool that is neither 0 nor 1 is undefined behavior
      for (std::byte& byte : bytes) byte = byte == std::byte{0} ? byte : std::byte{1};
    out.tensors.set(entry.name, tensor);
  }
  out.metadata = std::move(opened.header.metadata);
  return out;
}

}  // namespace minnow::detail
