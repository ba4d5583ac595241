#include <minnow/data/batch.h>

#include <atomic>
#include <minnow/tensor/error.h>

namespace minnow::data {

Tensor BatchBuffer::make(int field, DType dtype, const Shape& shape) {
  if (field < 0) throw ValueError("BatchBuffer::make: field " + std::to_string(field) + " is negative");
  const auto k = static_cast<std::size_t>(field);
  if (storages_.size() <= k) storages_.resize(k + 1);
  if (tensors_.size() <= k) tensors_.resize(k + 1);
  tensors_[k] = Tensor();
  const std::size_t bytes = static_cast<std::size_t>(shape.numel()) * size_of(dtype);
  auto& storage = storages_[k];
  if (!storage || storage.use_count() > 1 || storage->bytes() < bytes)
    storage = std::make_shared<Storage>(*allocator_, device_, bytes, pinned_);
  else std::atomic_thread_fence(std::memory_order_acquire);  // after the release by the last holder
  tensors_[k] = Tensor(storage, dtype, shape, contiguous_strides(shape));
  return tensors_[k];
}

std::vector<Tensor> BatchBuffer::take() {
  std::vector<Tensor> taken = std::move(tensors_);
  tensors_.clear();
  return taken;
}

bool BatchBuffer::is_shared() const {
  for (std::size_t k = 0; k < storages_.size(); ++k) {
    const long mine = k < tensors_.size() && tensors_[k].defined() ? 2 : 1;
    if (storages_[k] && storages_[k].use_count() > mine) return true;
  }
  return false;
}

}  // namespace minnow::data
