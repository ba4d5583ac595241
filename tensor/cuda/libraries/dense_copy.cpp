#include <minnow/tensor/cuda/libraries/dense_copy.h>

#include <memory>
#include <minnow/tensor/backend/devices.h>
#include <minnow/tensor/backend/dispatch.h>
#include <minnow/tensor/cuda/cuda_backend.h>

namespace minnow::cuda {

View scratch(const Call& call, const Shape& shape, DType dtype, MemoryFormat format) {
  const auto bytes = static_cast<std::size_t>(shape.numel()) * size_of(dtype);
  const Device device(DeviceType::cuda, call.device());
  auto storage = std::make_shared<Storage>(cuda_backend()->allocator(call.device()), device, bytes);
  return View(std::move(storage), dtype, shape,
              format == MemoryFormat::channels_last ? channels_last_strides(shape) : contiguous_strides(shape));
}

void convert(const View& from, const View& to) {
  if (to.numel() != 0) execute(calls::Copy{from, to});
}

View packed(const Call& call, const View& from, MemoryFormat format) {
  if (from.is_contiguous(format)) return from;
  View to = scratch(call, from.shape(), from.dtype(), format);
  convert(from, to);
  return to;
}

}  // namespace minnow::cuda
