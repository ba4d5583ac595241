#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <type_traits>
#include <vector>
#include <minnow/tensor/create.h>
#include <minnow/tensor/error.h>
#include <minnow/tensor/runtime/stream.h>
#include <minnow/tensor/tensor.h>

// Memory shared with PyTorch, NumPy, JAX, CuPy and others by DLPack (https://dmlc.github.io/dlpack), without a copy.
// Include a dlpack.h before (Debian: libdlpack-dev; PyTorch: ATen/dlpack.h); minnow itself does not use it.  Managed is
// its DLManagedTensorVersioned or DLManagedTensor.

namespace minnow {

namespace detail {

template <class Managed>
concept HasDlpackVersion = requires(Managed& m) {
  m.version.major;
  m.flags;
};
inline constexpr std::uint64_t kDlpackReadOnly = 1;

struct DlpackElement {
  int code, bits;
  friend bool operator==(const DlpackElement&, const DlpackElement&) = default;
};
/// In the order of DType.  Codes: 0 signed, 1 unsigned, 2 floating-point, 4 bfloat16, 6 bool.
inline constexpr DlpackElement kDlpackElements[kDTypeCount] = {{2, 32}, {2, 64}, {2, 16}, {4, 16}, {0, 64},
                                                               {0, 32}, {0, 16}, {0, 8},  {1, 8},  {6, 8}};

inline DType dtype_of_dlpack(int code, int bits, int lanes, SourceLocation where) {
  for (int i = 0; i < kDTypeCount; ++i)
    if (lanes == 1 && kDlpackElements[i] == DlpackElement{code, bits}) return static_cast<DType>(i);
  throw DTypeError("from_dlpack: no dtype has these elements\n  DLDataType  code " + std::to_string(code) + ", " +
                       std::to_string(bits) + " bits, " + std::to_string(lanes) +
                       " lanes\nconvert them on the other side, for example to float32",
                   where);
}

/// Device types of DLPack: 1 host, 2 CUDA, 3 page-locked host, 13 CUDA's managed memory.
inline Device device_of_dlpack(int type, int index, SourceLocation where) {
  if (type == 1 || type == 3) return {};
  if (type == 2 || type == 13) return {DeviceType::cuda, index};
  throw DeviceError("from_dlpack: no device of minnow has this memory\n  DLDevice  type " + std::to_string(type) +
                        "\nmove it to the host or to CUDA on the other side",
                    where);
}

template <class Managed> struct DlpackExport {
  Managed managed{};
  Tensor tensor;
  std::vector<std::int64_t> shape, strides;
};

}  // namespace detail

/// A tensor of another library's memory.  The tensor owns it: its deleter is called when the last tensor of the memory
/// is gone, or at once if the memory is read-only, which is copied.  The memory must be ready (of CUDA: on the current
/// stream).  On an error the caller still owns it.  ValueError for another major version, strides below 0 or memory
/// that is not aligned to its elements, DTypeError for elements and DeviceError for a device that minnow does not have,
/// ShapeError for too many dimensions.
template <class Managed>
[[nodiscard]] Tensor from_dlpack(Managed* managed, SourceLocation where = SourceLocation::current()) {
  if (!managed) throw ValueError("from_dlpack: the pointer is null", where);
  bool is_read_only = false;
  if constexpr (detail::HasDlpackVersion<Managed>) {
    if (managed->version.major != 1)
      throw ValueError("from_dlpack: version " + std::to_string(managed->version.major) +
                           " of DLPack is not known\nask the other side for version 1",
                       where);
    is_read_only = (managed->flags & detail::kDlpackReadOnly) != 0;
  }
  const auto& t = managed->dl_tensor;
  if (t.ndim < 0 || t.ndim > kMaxRank)
    throw ShapeError("from_dlpack: a tensor has at most " + std::to_string(kMaxRank) + " dimensions\n  memory  " +
                         std::to_string(t.ndim) + " dimensions",
                     where);
  Shape shape;
  for (int d = 0; d < t.ndim; ++d) shape.push_back(t.shape[d]);
  BlobOptions options;
  options.dtype = detail::dtype_of_dlpack(t.dtype.code, t.dtype.bits, t.dtype.lanes, where);
  if (t.strides) {
    options.strides.emplace();
    for (int d = 0; d < t.ndim; ++d) options.strides->push_back(t.strides[d]);
  }
  options.device = detail::device_of_dlpack(t.device.device_type, t.device.device_id, where);
  char* const data = t.data ? static_cast<char*>(t.data) + t.byte_offset : nullptr;
  if (reinterpret_cast<std::uintptr_t>(data) % size_of(*options.dtype) != 0)
    throw ValueError("from_dlpack: the address is not a multiple of the elements' size\ncopy it on the other side",
                     where);
  // The deleter may only run once nothing can fail any more.
  const auto owner = std::make_shared<Managed*>(nullptr);
  options.deleter = [owner](void*) {
    if (Managed* const own = *owner; own && own->deleter) own->deleter(own);
  };
  Tensor result = from_blob(static_cast<void*>(data), shape, options, where);
  if (is_read_only) {
    result = result.clone();
    if (!options.device.is_cpu()) synchronize(options.device, where);  // the memory is read until then
  }
  *owner = managed;
  if (is_read_only && managed->deleter) managed->deleter(managed);
  return result;
}

/// The tensor's memory for another library, which calls the deleter; until then the tensor's memory lives.  Waits for
/// the device.  AutogradError if it requires a gradient, DeviceError for the simulated device.
template <class Managed>
[[nodiscard]] Managed* to_dlpack(const Tensor& t, SourceLocation where = SourceLocation::current()) {
  if (t.requires_grad(where))
    throw AutogradError("to_dlpack: the other library would not record the tensor's gradient\nexport t.detach()",
                        where);
  const Device device = t.device();
  if (device.is_sim())
    throw DeviceError("to_dlpack: other libraries cannot read " + device.str() + "\nexport t.cpu()", where);
  if (!device.is_cpu()) synchronize(device, where);
  t.storage()->wait_ready();
  auto own = std::make_unique<detail::DlpackExport<Managed>>();
  own->tensor = t;
  for (int d = 0; d < t.dim(); ++d) own->shape.push_back(t.size(d)), own->strides.push_back(t.strides()[d]);
  Managed& m = own->managed;
  if constexpr (detail::HasDlpackVersion<Managed>) m.version = {1, 0};
  using Code = std::remove_reference_t<decltype(m.dl_tensor.dtype.code)>;
  using Bits = std::remove_reference_t<decltype(m.dl_tensor.dtype.bits)>;
  const detail::DlpackElement element = detail::kDlpackElements[static_cast<int>(t.dtype())];
  m.dl_tensor.data = t.raw_data();
  m.dl_tensor.device.device_type = static_cast<decltype(m.dl_tensor.device.device_type)>(device.is_cpu() ? 1 : 2);
  m.dl_tensor.device.device_id = device.is_cpu() ? 0 : device.index();
  m.dl_tensor.ndim = t.dim();
  m.dl_tensor.dtype = {static_cast<Code>(element.code), static_cast<Bits>(element.bits), 1};
  m.dl_tensor.shape = own->shape.data();
  m.dl_tensor.strides = own->strides.data();
  m.dl_tensor.byte_offset = 0;
  m.manager_ctx = own.get();
  m.deleter = [](Managed* self) { delete static_cast<detail::DlpackExport<Managed>*>(self->manager_ctx); };
  return &own.release()->managed;
}

}  // namespace minnow
