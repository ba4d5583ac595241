#include <minnow/tensor/io/npz.h>

#include <limits>
#include <memory>
#include <new>
#include <vector>
#include <zlib.h>
#include <minnow/tensor/error.h>
#include <minnow/tensor/internal.h>
#include <minnow/tensor/io/detail/json_reader.h>
#include <minnow/tensor/io/detail/npy_header.h>
#include <minnow/tensor/io/detail/selection.h>
#include <minnow/tensor/io/detail/zip.h>
#include <minnow/tensor/io/file.h>
#include <minnow/tensor/raw/copy.h>
#include <minnow/tensor/raw/transfer.h>
#include <minnow/tensor/raw/view.h>
#include <minnow/tensor/runtime/allocator.h>

namespace minnow {
namespace {

using io::detail::Refusal;
using io::detail::ZipMember;

constexpr std::uint64_t kLocal = 0x04034b50, kCentral = 0x02014b50, kEnd = 0x06054b50, kNone32 = 0xffffffff;
constexpr int kStored = 0, kDeflated = 8;

Tensor read_array(const io::InputFile& file, const ZipMember& member, SourceLocation where) {
  const auto content = std::make_unique_for_overwrite<std::byte[]>(member.size);
  const std::span<std::byte> bytes(content.get(), member.size);
  io::detail::read_zip_member(file, member, bytes);
  const io::detail::NpyHeader header =
      io::detail::parse_npy_header(bytes.first(std::min(bytes.size(), io::detail::kNpyHeadBytes)), bytes.size());
  auto storage = std::make_shared<Storage>(cpu_allocator(), Device(), bytes.size() - header.data);
  std::copy(bytes.begin() + static_cast<std::ptrdiff_t>(header.data), bytes.end(),
            static_cast<std::byte*>(storage->data()));
  return io::detail::finish_npy(header, std::move(storage), where);
}

/// Appends a little-endian number.
void put(std::string& out, std::uint64_t value, int size) {
  for (int i = 0; i < size; ++i) out += static_cast<char>(value >> (8 * i) & 0xff);
}

std::vector<std::byte> pack(std::span<const std::byte> in) {
  z_stream z{};
  if (deflateInit2(&z, Z_DEFAULT_COMPRESSION, Z_DEFLATED, -15, 8, Z_DEFAULT_STRATEGY) != Z_OK) throw std::bad_alloc();
  const std::unique_ptr<z_stream, int (*)(z_stream*)> end(&z, deflateEnd);
  std::vector<std::byte> out(deflateBound(&z, static_cast<uLong>(in.size())));
  z.next_in = reinterpret_cast<Bytef*>(const_cast<std::byte*>(in.data()));
  z.avail_in = static_cast<uInt>(in.size());
  z.next_out = reinterpret_cast<Bytef*>(out.data());
  z.avail_out = static_cast<uInt>(std::min<std::size_t>(out.size(), std::numeric_limits<uInt>::max()));
  // All at once.  Only a buffer of more than 4 GiB is not large enough: its size says that the file would be too large.
  if (deflate(&z, Z_FINISH) == Z_STREAM_END) out.resize(z.total_out);
  return out;
}

/// What the local header and the directory have in common, from the version on.
std::string fields_of(const ZipMember& member, std::size_t name) {
  std::string out;
  put(out, 20, 2);
  put(out, 0x800, 2);  // names are UTF-8
  put(out, static_cast<std::uint64_t>(member.method), 2);
  put(out, 0, 2);
  put(out, 0x21, 2);  // 1980-01-01, as numpy
  put(out, member.crc, 4);
  put(out, member.packed, 4);
  put(out, member.size, 4);
  put(out, name, 2);
  put(out, 0, 2);
  return out;
}

}  // namespace

StateDict load_npz(const std::string& path, Device device, SourceLocation where) {
  return load_npz(path, LoadOptions{.device = device}, where);
}

StateDict load_npz(const std::string& path, const LoadOptions& options, SourceLocation where) {
  const CallSite site("load_npz", where);
  const io::InputFile file("load_npz", path, where);
  try {
    const std::vector<ZipMember> members = io::detail::read_zip_directory(file);
    std::vector<std::string> names;
    for (const ZipMember& member : members) {
      if (!member.name.ends_with(".npy")) throw Refusal{"the member '" + member.name + "'", "arrays, named *.npy"};
      names.push_back(member.name.substr(0, member.name.size() - 4));
    }
    StateDict tensors;
    for (const auto& [i, name] : io::detail::select(options, names, path, where))
      tensors.set(name, raw::to_device({read_array(file, members[i], where), where}, options.device));
    return tensors;
  } catch (const Refusal& refusal) {
    throw FormatError("load_npz: '" + path + "' is not an .npz file that minnow can read\n  found     " +
                          refusal.found + "\n  expected  " + refusal.expected + "\nsave it again with numpy.savez()",
                      where);
  } catch (const std::bad_alloc&) {
    throw OutOfMemoryError("load_npz: no memory for '" + path + "'\nsave its arrays as .npy files", where);
  }
}

void save_npz(const StateDict& tensors, const std::string& path, const NpzOptions& options, SourceLocation where) {
  const CallSite site("save_npz", where);
  constexpr std::size_t kMaxMembers = 0xfffe, kMaxName = 0xfff0;
  const auto check_space = [&](std::uint64_t bytes) {
    if (bytes >= kNone32)
      throw ValueError("save_npz: the file would have 4 GiB or more\nsave as safetensors, or in several files", where);
  };
  if (tensors.size() > kMaxMembers)
    throw ValueError("save_npz: there are 65535 tensors or more\nsave in several files", where);
  io::AtomicFile file("save_npz", path, where);
  std::string directory;
  std::uint64_t written = 0;
  for (const auto& [key, tensor] : tensors) {
    if (!tensor.defined()) throw ValueError("save_npz: the tensor '" + key + "' is undefined\nleave it out", where);
    if (key.empty() || key.size() > kMaxName || !io::detail::is_utf8(key))
      throw ValueError("save_npz: the name '" + key + "' is empty, too long or not UTF-8\ngive it another name", where);
    const Tensor host = raw::contiguous(raw::to_device(raw::detach({tensor, where}), Device()));
    host.storage()->wait_ready();
    const std::string head = io::detail::write_npy_header("save_npz", host, where);
    check_space(static_cast<std::uint64_t>(host.nbytes()) + head.size());
    std::vector<std::byte> content(head.size() + static_cast<std::size_t>(host.nbytes()));
    std::copy_n(reinterpret_cast<const std::byte*>(head.data()), head.size(), content.begin());
    std::copy_n(static_cast<const std::byte*>(host.raw_data()), host.nbytes(),
                content.begin() + static_cast<std::ptrdiff_t>(head.size()));
    ZipMember member{key + ".npy", options.compress ? kDeflated : kStored};
    member.crc = crc32_z(0, reinterpret_cast<const Bytef*>(content.data()), content.size());
    member.size = content.size();
    if (options.compress) content = pack(content);
    member.packed = content.size();
    check_space(written + member.packed + 2 * member.name.size() + directory.size() + 1024);
    const std::string fields = fields_of(member, member.name.size());
    std::string local;
    put(local, kLocal, 4);
    local += fields + member.name;
    put(directory, kCentral, 4);
    put(directory, 20, 2);
    directory += fields;
    directory.append(10, '\0');  // comment, disk, attributes
    put(directory, written, 4);
    directory += member.name;
    file.write(std::as_bytes(std::span(local)));
    file.write(content);
    written += local.size() + content.size();
  }
  std::string end = directory;
  put(end, kEnd, 4);
  put(end, 0, 4);
  put(end, tensors.size(), 2);
  put(end, tensors.size(), 2);
  put(end, directory.size(), 4);
  put(end, written, 4);
  put(end, 0, 2);
  file.write(std::as_bytes(std::span(end)));
  file.commit();
}

}  // namespace minnow
