#include <minnow/data/batch.h>

#include <atomic>
#include <minnow/tensor/error.h>
#include <minnow/tensor/internal.h>

namespace minnow::data {

namespace {

constexpr int kMaxFields = 1024;

std::size_t checked_bytes(DType dtype, const Shape& shape, SourceLocation where) {
  auto bytes = static_cast<std::int64_t>(size_of(dtype));
  bool fits = true, empty = false;
  for (const auto size : shape) {
    if (size < 0)
      throw ShapeError("BatchBuffer::make: sizes must be at least 0\n  shape  " + shape.str() + "\ngive 0 or more",
                       where);
    empty = empty || size == 0;
    fits = !__builtin_mul_overflow(bytes, size, &bytes) && fits;
  }
  if (empty) return 0;
  if (!fits)
    throw OutOfMemoryError(
        "BatchBuffer::make: " + shape.str() + " has more bytes than 63 bits can count\nuse smaller sizes", where);
  return static_cast<std::size_t>(bytes);
}

}  // namespace

Tensor BatchBuffer::make(int field, DType dtype, const Shape& shape, SourceLocation where) {
  if (field < 0 || field >= kMaxFields)
    throw ValueError("BatchBuffer::make: field must be in [0, " + std::to_string(kMaxFields) + "), got " +
                         std::to_string(field) + "\nfields are numbered 0, 1, ... in the sample's order",
                     where);
  const std::size_t bytes = checked_bytes(dtype, shape, where);
  const auto k = static_cast<std::size_t>(field);
  if (storages_.size() <= k) storages_.resize(k + 1);
  if (tensors_.size() <= k) tensors_.resize(k + 1);
  tensors_[k] = Tensor();
  std::erase_if(bytes_, [field](const Bytes& each) { return each.field == field; });
  auto& storage = storages_[k];
  if (!storage || storage.use_count() > 1 || storage->bytes() < bytes)
    storage = make_storage(*allocator_, device_, bytes, pinned_, where);
  else std::atomic_thread_fence(std::memory_order_acquire);  // synchronizes with the last owner's release
  tensors_[k] = Tensor(storage, dtype, shape, contiguous_strides(shape));
  return tensors_[k];
}

Tensor BatchBuffer::make_bytes(int field, const Shape& shape, float scale, float shift, SourceLocation where) {
  if (!to_device_)
    throw ValueError(
        "BatchBuffer::make_bytes: this batch stays on the host\nask goes_to_device() first, and make() the floats",
        where);
  const Tensor made = make(field, DType::uint8, shape, where);
  bytes_.push_back({field, scale, shift});
  return made;
}

std::vector<Tensor> BatchBuffer::take() {
  bytes_.clear();
  std::vector<Tensor> taken = std::move(tensors_);
  tensors_.clear();
  return taken;
}

bool BatchBuffer::is_shared() const {
  for (std::size_t k = 0; k < storages_.size(); ++k) {
    const long own = k < tensors_.size() && tensors_[k].defined() ? 2 : 1;
    if (storages_[k] && storages_[k].use_count() > own) return true;
  }
  return false;
}

}  // namespace minnow::data
