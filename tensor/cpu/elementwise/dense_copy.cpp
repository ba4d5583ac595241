#include <minnow/tensor/cpu/elementwise/dense_copy.h>

#include <memory>
#include <minnow/tensor/cpu/cpu_backend.h>
#include <minnow/tensor/internal.h>

namespace minnow::cpu {

View scratch(const Shape& shape, DType dtype, MemoryFormat format) {
  const auto bytes = static_cast<std::size_t>(shape.numel()) * size_of(dtype);
  const Wanted wanted{dtype, shape};
  return View(make_storage(cpu_allocator(), Device(), bytes, false, {}, &wanted), dtype, shape,
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

View laid_out_as(const View& like, const View& t) {
  constexpr std::int64_t kLeast = 1 << 14;
  if (t.numel() < kLeast || t.shape() != like.shape() || t.strides() == like.strides()) return t;
  if (!is_dense(like.shape(), like.strides()) || !is_transpose(t, like)) return t;
  const View to(scratch(t.shape(), t.dtype()).storage(), t.dtype(), t.shape(), like.strides());
  convert(t, to);
  return to;
}

}  // namespace minnow::cpu
