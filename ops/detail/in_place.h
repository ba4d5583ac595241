#pragma once

#include <algorithm>
#include <array>
#include <minnow/autograd/record.h>
#include <minnow/tensor/error.h>
#include <minnow/tensor/internal.h>

namespace minnow::detail {

/// Refuses to overwrite self while recording: a leaf that requires a gradient, or memory that other tensors
/// share, whose history would then not belong to their value.
void require_recordable(const Tensor& self);
/// Gives self, which alone holds its memory, another value and that value's history.
void replace_value(const Tensor& self, const Tensor& value);
/// Refuses a negative power of integers.
void require_power(const char* name, const Tensor& base, Scalar power);
/// After a write that is not recorded: self's own history stays valid.
void mark_written(const Tensor& self);

/// "add_" of an operation called "add".
template <class Op>
inline constexpr auto kInPlaceName = [] {
  std::array<char, Op::kName.size() + 2> name{};
  std::copy(Op::kName.begin(), Op::kName.end(), name.begin());
  name[Op::kName.size()] = '_';
  return name;
}();

/// An in-place operation: while recording, `compute` gives the new value by the recording function of the
/// same name (self shares its memory with nobody, so taking over that value is the same as writing);
/// otherwise `write` writes.
template <class Compute, class Write>
Tensor in_place(const char* op, const In& self, bool recording, Compute compute, Write write) {
  const CallSite site(op, self.where);
  self->require_defined(op, self.where);
  if (recording) {
    require_recordable(*self);
    replace_value(*self, compute());
  } else {
    write();
    mark_written(*self);
  }
  return *self;
}

}  // namespace minnow::detail
