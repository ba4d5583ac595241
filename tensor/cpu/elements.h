#pragma once

#include <utility>
#include <minnow/tensor/cpu/isa.h>
#include <minnow/tensor/internal.h>
#include <minnow/tensor/view.h>

namespace minnow::cpu {

/// Elements that are computed in float or double: halves pass through a buffer.  All functions are for none too, where the
/// tensor is undefined.
class Elements {
 public:
  Elements(const View& t)
      : dtype_(t.defined() ? t.dtype() : DType::float32),
        data_(t.defined() ? static_cast<char*>(t.raw_data()) : nullptr) {}

  /// `count` elements to read; of halves copies, which are taken from `room`.
  const void* read(std::int64_t at, std::int64_t count, float*& room) const {
    float* to = static_cast<float*>(write(at, count, room));
    if (data_ != nullptr && is_half(dtype_)) loops().load[static_cast<int>(dtype_)][kFloat](place(at), to, count);
    return to;
  }
  /// Where `count` elements are to be written, before written().
  void* write(std::int64_t at, std::int64_t count, float*& room) const {
    if (data_ == nullptr || !is_half(dtype_)) return place(at);
    return std::exchange(room, room + count);
  }
  void written(std::int64_t at, std::int64_t count, const void* from) const {
    if (data_ != nullptr && is_half(dtype_)) loops().store[kFloat][static_cast<int>(dtype_)](from, place(at), count);
  }

 private:
  static constexpr int kFloat = static_cast<int>(Compute::kFloat);

  char* place(std::int64_t at) const {
    return data_ == nullptr ? nullptr : data_ + at * static_cast<std::int64_t>(size_of(dtype_));
  }

  DType dtype_;
  char* data_;
};

}  // namespace minnow::cpu
