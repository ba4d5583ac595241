#pragma once

#include <cstring>
#include <utility>
#include <minnow/tensor/cpu/runtime/isa.h>
#include <minnow/tensor/internal.h>
#include <minnow/tensor/view.h>

namespace minnow::cpu {

/// Elements that are computed in float or double: halves pass through a buffer.  All functions are for none too, where
/// the tensor is undefined.
class Elements {
 public:
  /// `as_is`: the caller computes with halves.
  Elements(const View& t, bool as_is = false)
      : dtype_(t.defined() ? t.dtype() : DType::float32),
        converts_(t.defined() && is_half(t.dtype()) && !as_is),
        data_(t.defined() ? static_cast<char*>(t.raw_data()) : nullptr) {}

  bool converts() const { return converts_; }
  /// `count` elements to read; of halves copies, which are taken from `room`.
  const void* read(std::int64_t at, std::int64_t count, float*& room) const {
    float* to = static_cast<float*>(write(at, count, room));
    if (converts_) loops().load[static_cast<int>(dtype_)][kFloat](place(at), to, count);
    return to;
  }
  /// Where `count` elements are to be written, before written().
  void* write(std::int64_t at, std::int64_t count, float*& room) const {
    if (!converts_) return place(at);
    return std::exchange(room, room + count);
  }
  void written(std::int64_t at, std::int64_t count, const void* from) const {
    if (converts_) loops().store[kFloat][static_cast<int>(dtype_)](from, place(at), count);
  }

  /// Writes what was computed elsewhere.
  void store(std::int64_t at, std::int64_t count, const void* from) const {
    if (converts_) return written(at, count, from);
    std::memcpy(place(at), from, static_cast<std::size_t>(count) * size_of(dtype_));
  }

 private:
  static constexpr int kFloat = static_cast<int>(Compute::kFloat);

  char* place(std::int64_t at) const {
    return data_ == nullptr ? nullptr : data_ + at * static_cast<std::int64_t>(size_of(dtype_));
  }

  DType dtype_;
  bool converts_;  // through a buffer
  char* data_;
};

}  // namespace minnow::cpu
