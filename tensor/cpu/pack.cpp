#include <minnow/tensor/cpu/pack.h>

#include <memory>
#include <minnow/tensor/backend/dispatch.h>

namespace minnow::cpu {

Tensor scratch(const Shape& shape, DType dtype, MemoryFormat format) {
  const auto bytes = static_cast<std::size_t>(shape.numel()) * size_of(dtype);
  return Tensor(std::make_shared<Storage>(cpu_allocator(), Device(), bytes), dtype, shape,
                format == MemoryFormat::channels_last ? channels_last_strides(shape) : contiguous_strides(shape));
}

void convert(const Tensor& from, const Tensor& to) {
  if (to.numel() != 0) cpu_backend()->copy(from, to);
}

Tensor packed(const Tensor& from, DType dtype, MemoryFormat format) {
  if (from.dtype() == dtype && from.is_contiguous(format)) return from;
  Tensor to = scratch(from.shape(), dtype, format);
  convert(from, to);
  return to;
}

}  // namespace minnow::cpu
