#include <minnow/tensor/cuda/pack.h>

#include <memory>
#include <minnow/tensor/backend/dispatch.h>

namespace minnow::cuda {

Tensor scratch(const Call& call, const Shape& shape, DType dtype, MemoryFormat format) {
  const auto bytes = static_cast<std::size_t>(shape.numel()) * size_of(dtype);
  const Device device(DeviceType::cuda, call.device());
  auto storage = std::make_shared<Storage>(cuda_backend()->allocator(call.device()), device, bytes);
  return Tensor(std::move(storage), dtype, shape,
                format == MemoryFormat::channels_last ? channels_last_strides(shape) : contiguous_strides(shape));
}

void convert(const Tensor& from, const Tensor& to) {
  if (to.numel() != 0) cuda_backend()->copy(from, to);
}

Tensor packed(const Call& call, const Tensor& from, MemoryFormat format) {
  if (from.is_contiguous(format)) return from;
  Tensor to = scratch(call, from.shape(), from.dtype(), format);
  convert(from, to);
  return to;
}

}  // namespace minnow::cuda
