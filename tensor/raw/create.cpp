#include <minnow/tensor/raw/create.h>

#include <fmt/format.h>
#include <minnow/tensor/backend/dispatch.h>
#include <minnow/tensor/dtype_switch.h>
#include <minnow/tensor/error.h>

namespace minnow::detail::raw {
std::size_t checked_bytes(const Shape& shape, DType dtype) {
  std::int64_t bytes = static_cast<std::int64_t>(size_of(dtype));
  if (!bytes)
    throw DTypeError(
        message(fmt::format("{} is not a dtype", static_cast<int>(dtype)), {},
                "give one of float32, float64, float16, bfloat16, int64, int32, int16, int8, uint8, bool"));
  bool overflow = false, none = false;
  for (const std::int64_t size : shape) {
    if (size < 0) throw ShapeError(message("a size is negative\n  shape  " + shape.str(), {}, "sizes are 0 or more"));
    none |= size == 0;
    overflow |= __builtin_mul_overflow(bytes, size, &bytes);
  }
  if (none) return 0;
  if (overflow) throw OutOfMemoryError(message(shape.str() + " is larger than any memory", {}, "use smaller sizes"));
  return static_cast<std::size_t>(bytes);
}

namespace {

Tensor allocate(Backend& backend, const Shape& shape, const Strides& strides, DType dtype, Device device, bool pinned) {
  const std::size_t bytes = checked_bytes(shape, dtype);
  Allocator* allocator = &backend.allocator(device.index());
  if (pinned) {
    Allocator* locked = pinned_allocator();
    pinned = device.is_cpu() && locked != nullptr;
    if (pinned) allocator = locked;
  }
  const Wanted wanted{dtype, shape};
  return Tensor(make_storage(*allocator, device, bytes, pinned, {}, &wanted), dtype, shape, strides);
}

}  // namespace

Tensor allocate(const Shape& shape, const Strides& strides, DType dtype, Device device, bool pinned) {
  return allocate(backend_of(device), shape, strides, dtype, device, pinned);
}

Tensor new_result(Backend& backend, const Shape& shape, DType dtype, Device device) {
  return allocate(backend, shape, contiguous_strides(shape), dtype, device, false);
}

Tensor new_result(Backend& backend, const Shape& shape, const Strides& like, DType dtype, Device device) {
  return allocate(backend, shape, strides_like(shape, like), dtype, device, false);
}

Tensor new_result(const Shape& shape, DType dtype, Device device) {
  return allocate(shape, contiguous_strides(shape), dtype, device, false);
}

Tensor new_result(const Shape& shape, const Strides& like, DType dtype, Device device) {
  return allocate(shape, strides_like(shape, like), dtype, device, false);
}

namespace {

/// Memory of one element, in one piece with the storage that owns it.
struct OneElement {
  explicit OneElement(DType dtype) : storage(element, size_of(dtype), Device(), nullptr) {}

  alignas(8) std::byte element[8];
  Storage storage;
};

}  // namespace

Tensor scalar_tensor(Scalar value, DType dtype) {
  const auto memory = std::make_shared<OneElement>(dtype);
  const Tensor out(std::shared_ptr<Storage>(memory, &memory->storage), dtype, {}, {});
  dtype_switch(dtype, [&]<class T>() {
    T& element = *static_cast<T*>(out.raw_data());
    if constexpr (std::is_same_v<T, bool>) element = value.as_double() != 0;
    else if constexpr (std::is_integral_v<T>) element = static_cast<T>(value.as_int());
    else element = T(static_cast<std::conditional_t<sizeof(T) == 8, double, float>>(value.as_double()));
  });
  return out;
}

}  // namespace minnow::detail::raw
