#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <minnow/tensor/checked.h>
#include <minnow/tensor/dtype.h>
#include <minnow/tensor/shape.h>
#include <minnow/tensor/storage.h>

namespace minnow {

/// The order of the dimensions of an image batch in memory.  The shape is [N, C, H, W] in both.
enum class MemoryFormat { contiguous, channels_last };

namespace detail {

/// Memory and the layout of elements in it: the operand of a backend's call.  A tensor is a view with a name and an
/// autograd slot.  Members are unchecked.  A default-constructed view is undefined (a missing operand): call only
/// defined().
class View {
 public:
  View() = default;
  View(std::shared_ptr<Storage> storage, DType dtype, const Shape& shape, const Strides& strides,
       std::int64_t offset = 0)
      : storage_(std::move(storage)),
        shape_(shape),
        strides_(strides),
        offset_(offset),
        numel_(shape.numel()),
        dtype_(dtype),
        contiguous_(detail::is_contiguous(shape, strides)) {}

  bool defined() const { return storage_ != nullptr; }
  const std::shared_ptr<Storage>& storage() const { return storage_; }
  Device device() const { return storage_->device(); }
  const Shape& shape() const { return shape_; }
  const Strides& strides() const { return strides_; }
  /// In elements.
  std::int64_t storage_offset() const { return offset_; }
  int dim() const { return shape_.rank(); }
  std::int64_t numel() const { return numel_; }
  DType dtype() const { return dtype_; }
  std::size_t itemsize() const { return size_of(dtype_); }
  /// Saturates: an expanded view may have more than 2^63 bytes.
  std::int64_t nbytes() const { return saturating_mul(numel_, static_cast<std::int64_t>(itemsize())); }
  bool is_contiguous() const { return contiguous_; }
  bool is_contiguous(MemoryFormat format) const;
  bool is_floating_point() const { return minnow::is_floating_point(dtype_); }
  bool is_pinned() const { return storage_->is_pinned(); }
  /// The address of the first element, on any device.
  void* raw_data() const {
    char* const data = static_cast<char*>(storage_->data());  // null without elements: nothing is added to it
    return data ? data + offset_ * static_cast<std::int64_t>(itemsize()) : nullptr;
  }
  /// Whether both are the same elements with the same layout.
  bool is_same(const View& other) const {
    return storage_ == other.storage_ && offset_ == other.offset_ && dtype_ == other.dtype_ && shape_ == other.shape_ &&
           strides_ == other.strides_;
  }

 private:
  std::shared_ptr<Storage> storage_;
  Shape shape_;
  Strides strides_;
  std::int64_t offset_ = 0;
  std::int64_t numel_ = 0;
  DType dtype_ = DType::float32;
  bool contiguous_ = true;
};

inline bool View::is_contiguous(MemoryFormat format) const {
  if (format == MemoryFormat::contiguous) return contiguous_;
  if (dim() != 4) return false;
  const Strides want = channels_last_strides(shape_);
  for (int d = 0; d < 4; ++d)
    if (shape_[d] != 1 && strides_[d] != want[d]) return numel_ == 0;
  return true;
}

}  // namespace detail
}  // namespace minnow
