#pragma once

#include <minnow/autograd/node.h>

namespace minnow {

/// A value that a gradient function needs, with the version of its memory: reading it after the memory was written is
/// an AutogradError, not a wrong gradient.  Keeps the value's history, for second derivatives.
class Saved {
 public:
  Saved() = default;
  /// An input of the operation.
  explicit Saved(const Tensor& input);
  /// The output of the operation that is being recorded, or one of its outputs: the tensor itself that record() gets,
  /// not a view of it.  Its history is not kept: the node would hold itself.
  static Saved output(const Tensor& out);

  /// The value.  Call it inside of a gradient function.
  Tensor operator()() const;
  bool defined() const { return value_.defined(); }

 private:
  Tensor value_;  // detached
  std::uint32_t version_ = 0;
  std::shared_ptr<autograd::Slot> slot_;
  const void* output_ = nullptr;  // the id of the output
};

}  // namespace minnow
