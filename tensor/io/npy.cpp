#include <minnow/tensor/io/npy.h>

#include <memory>
#include <new>
#include <vector>
#include <minnow/tensor/error.h>
#include <minnow/tensor/internal.h>
#include <minnow/tensor/io/detail/json_reader.h>
#include <minnow/tensor/io/detail/npy_header.h>
#include <minnow/tensor/io/file.h>
#include <minnow/tensor/raw/copy.h>
#include <minnow/tensor/raw/transfer.h>
#include <minnow/tensor/raw/view.h>
#include <minnow/tensor/runtime/allocator.h>

namespace minnow {

Tensor load_npy(const std::string& path, Device device, SourceLocation where) {
  const CallSite site("load_npy", where);
  const io::InputFile file("load_npy", path, where);
  try {
    std::vector<std::byte> head(std::min<std::uint64_t>(io::detail::kNpyHeadBytes, file.size()));
    file.read(0, head);
    const io::detail::NpyHeader header = io::detail::parse_npy_header(head, file.size());
    const std::size_t bytes = file.size() - header.data;
    auto storage = std::make_shared<Storage>(cpu_allocator(), Device(), bytes);
    file.read(header.data, {static_cast<std::byte*>(storage->data()), bytes});
    return raw::to_device({io::detail::finish_npy(header, std::move(storage), where), where}, device);
  } catch (const io::detail::Refusal& refusal) {
    throw FormatError("load_npy: '" + path + "' is not an .npy file that minnow can read\n  found     " +
                          refusal.found + "\n  expected  " + refusal.expected +
                          "\nsave it again with numpy.save(); of .npz files, use load_npz()",
                      where);
  } catch (const std::bad_alloc&) {
    throw OutOfMemoryError("load_npy: no memory for '" + path + "'\nread its rows by data::FileTensor", where);
  }
}

void save_npy(const Tensor& tensor, const std::string& path, SourceLocation where) {
  const CallSite site("save_npy", where);
  if (!tensor.defined())
    throw ValueError("save_npy: the tensor is undefined\nit was default-constructed or moved from", where);
  const Tensor host = raw::contiguous(raw::to_device(raw::detach({tensor, where}), Device()));
  host.storage()->wait_ready();
  const std::string head = io::detail::write_npy_header("save_npy", host, where);
  io::AtomicFile file("save_npy", path, where);
  file.write(std::as_bytes(std::span(head)));
  file.write({static_cast<const std::byte*>(host.raw_data()), static_cast<std::size_t>(host.nbytes())});
  file.commit();
}

}  // namespace minnow
