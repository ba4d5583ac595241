#include <minnow/tensor/io/safetensors.h>

#include <bit>
#include <new>
#include <minnow/tensor/allocator.h>
#include <minnow/tensor/error.h>
#include <minnow/tensor/internal.h>
#include <minnow/tensor/io/detail/json_reader.h>
#include <minnow/tensor/io/detail/open_header.h>
#include <minnow/tensor/io/file.h>
#include <minnow/tensor/raw/copy.h>
#include <minnow/tensor/raw/transfer.h>
#include <minnow/tensor/raw/view.h>

namespace minnow {
namespace {

using io::detail::Entry;
using io::detail::Header;
using io::detail::open_header;
using io::detail::Opened;

static_assert(std::endian::native == std::endian::little, "safetensors files are little-endian: swap bytes here");

Tensor read_tensor(const io::InputFile& file, const Entry& entry, std::uint64_t data) {
  const std::size_t bytes = entry.end - entry.begin;
  auto storage = std::make_shared<Storage>(cpu_allocator(), Device(), bytes);
  const std::span<std::byte> out(static_cast<std::byte*>(storage->data()), bytes);
  file.read(data + entry.begin, out);
  if (entry.dtype == DType::bool_)  // a bool that is neither 0 nor 1 is undefined behavior
    for (std::byte& byte : out) byte = byte == std::byte{0} ? byte : std::byte{1};
  return Tensor(std::move(storage), entry.dtype, entry.shape, contiguous_strides(entry.shape));
}

[[noreturn]] void refuse_memory(const io::InputFile& file, const Opened& opened, const Entry& entry, Device device,
                                SourceLocation where) {
  throw OutOfMemoryError("load: no memory for the tensor '" + entry.name + "' of '" + file.path() + "'\n  tensor  " +
                             std::string(name_of(entry.dtype)) + entry.shape.str() + ", " +
                             std::to_string(entry.end - entry.begin) + " bytes\n  file    " +
                             std::to_string(file.size() - opened.data) + " bytes of tensors, to " + device.str() +
                             "\nfree tensors that are no longer needed, or load it where there is more memory",
                         where);
}

/// A copy in host memory with the elements in row-major order.
Tensor on_host(const Tensor& tensor, SourceLocation where) {
  const Tensor host = raw::contiguous(raw::to_device(raw::detach({tensor, where}), Device()));
  host.storage()->wait_ready();
  return host;
}

Header describe_all(const StateDict& tensors, const Metadata& metadata, SourceLocation where) {
  Header header;
  header.metadata = metadata;
  for (const auto& [name, tensor] : tensors) {
    if (!tensor.defined())
      throw ValueError("save: the tensor '" + name + "' is undefined\ngive it a value, or leave it out", where);
    if (name == "__metadata__")
      throw ValueError("save: the name '__metadata__' is reserved by the format\ngive it another name", where);
    if (!io::detail::is_utf8(name))
      throw ValueError("save: the name '" + name + "' is not UTF-8\ngive it another name", where);
    header.entries.push_back({name, tensor.dtype(), tensor.shape()});
  }
  for (const auto& [key, value] : metadata)
    if (!io::detail::is_utf8(key) || !io::detail::is_utf8(value))
      throw ValueError("save: the metadata '" + key + "' is not UTF-8\nencode it as text", where);
  return header;
}

}  // namespace

void save(const StateDict& tensors, const std::string& path, const Metadata& metadata, SourceLocation where) {
  Header header = describe_all(tensors, metadata, where);
  const std::string text = io::detail::write_header(header);
  const std::uint64_t length = text.size();
  if (length > io::detail::kMaxHeaderBytes)
    throw ValueError("save: names and metadata take " + std::to_string(length) + " bytes\n  the format allows " +
                         std::to_string(io::detail::kMaxHeaderBytes) + "\nsave in several files",
                     where);
  io::AtomicFile file("save", path, where);
  file.write(std::as_bytes(std::span(&length, 1)));
  file.write(std::as_bytes(std::span(text)));
  // One at a time, since together they may not fit into host memory.
  for (const Entry& entry : header.entries) {
    const Tensor host = on_host(*tensors.find(entry.name), where);
    file.write({static_cast<const std::byte*>(host.raw_data()), static_cast<std::size_t>(host.nbytes())});
  }
  file.commit();
}

StateDict load(const std::string& path, Device device, SourceLocation where) {
  const CallSite site("load", where);
  const io::InputFile file("load", path, where);
  const Opened opened = open_header(file, "load", where);
  StateDict tensors;
  for (const Entry& entry : opened.header.entries) {
    try {
      tensors.set(entry.name, raw::to_device({read_tensor(file, entry, opened.data), where}, device));
    } catch (const OutOfMemoryError&) {
      refuse_memory(file, opened, entry, device, where);
    } catch (const std::bad_alloc&) { refuse_memory(file, opened, entry, device, where); }
  }
  return tensors;
}

Metadata load_metadata(const std::string& path, SourceLocation where) {
  return open_header(io::InputFile("load_metadata", path, where), "load_metadata", where).header.metadata;
}

}  // namespace minnow
