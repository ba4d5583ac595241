#pragma once

#include <minnow/tensor/call_site.h>
#include <minnow/tensor/tensor.h>

namespace minnow {

/// The parameter type of operations, as `const In&`: a reference to a tensor, and the user's line, which the conversion
/// takes at the caller, so that errors of `a + b` name it too.  Valid only within the full expression: never store one;
/// copy the tensor.
struct In {
  In(const Tensor& t, SourceLocation l = SourceLocation::current()) : tensor(t), where(l) {}

  const Tensor* operator->() const { return &tensor; }
  const Tensor& operator*() const { return tensor; }

  const Tensor& tensor;
  SourceLocation where;

  // A copy, in a member or a lambda's capture, would outlive the expression.
  In(const In&) = delete;
  In& operator=(const In&) = delete;
  In* operator&() = delete;
  const In* operator&() const = delete;
  static void* operator new(std::size_t) = delete;
};

/// Prints to_string().
std::ostream& operator<<(std::ostream& out, const In& tensor);

}  // namespace minnow
