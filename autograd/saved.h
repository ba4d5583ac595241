#pragma once

#include <minnow/autograd/node.h>

namespace minnow {

/// A value that a gradient needs, kept with the version of its memory: reading it after the memory was
/// written is an AutogradError, not a wrong gradient.  Keeps the value's place in the graph, for second
/// derivatives.
class Saved {
 public:
  Saved() = default;
  /// An input of the operation.
  explicit Saved(const Tensor& input);
  /// The output of the operation that is being recorded (its node would hold itself otherwise).
  static Saved output(const Tensor& out);

  /// The value.  Within a gradient function only.
  Tensor operator()() const;
  bool defined() const { return value_.defined(); }

 private:
  Tensor value_;  // detached
  std::uint32_t version_ = 0;
  std::shared_ptr<autograd::Slot> slot_;
  bool is_output_ = false;
};

}  // namespace minnow
