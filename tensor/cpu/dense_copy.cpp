#include <minnow/tensor/cpu/dense_copy.h>

#include <memory>
#include <minnow/tensor/cpu/cpu_backend.h>
#include <minnow/tensor/internal.h>

namespace minnow::cpu {

View scratch(const Shape& shape, DType dtype, MemoryFormat format) {
  const auto bytes = static_cast<std::size_t>(shape.numel()) * size_of(dtype);
  return View(std::make_shared<Storage>(cpu_allocator(), Device(), bytes), dtype, shape,
              format == MemoryFormat::channels_last ? channels_last_strides(shape) : contiguous_strides(shape));
}

void convert(const View& from, const View& to) {
  if (to.numel() != 0) execute(calls::Copy{from, to});
}

View packed(const View& from, DType dtype, MemoryFormat format) {
  if (from.dtype() == dtype && from.is_contiguous(format)) return from;
  View to = scratch(from.shape(), dtype, format);
  convert(from, to);
  return to;
}

}  // namespace minnow::cpu
