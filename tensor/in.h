#pragma once

#include <concepts>
#include <minnow/tensor/runtime/call_site.h>
#include <minnow/tensor/tensor.h>

namespace minnow {

namespace detail {

/// What refers to the caller's expression: a copy, in a member or a lambda's capture, would outlive it.
struct OfExpression {
  OfExpression() = default;
  OfExpression(const OfExpression&) = delete;
  OfExpression& operator=(const OfExpression&) = delete;
  void operator&() const = delete;
  static void* operator new(std::size_t) = delete;
};

template <class T>
concept Number = std::integral<T> || std::floating_point<T> || std::same_as<T, Scalar>;

}  // namespace detail

/// The parameter type of operations, as `const In&`: a reference to a tensor, and the user's line, which the conversion
/// takes at the caller, so that errors of `a + b` name it too.  Valid only within the full expression: never store one;
/// copy the tensor.
struct In : detail::OfExpression {
  In(const Tensor& t, SourceLocation l = SourceLocation::current()) : tensor(t), where(l) {}

  const Tensor* operator->() const { return &tensor; }
  const Tensor& operator*() const { return tensor; }

  const Tensor& tensor;
  SourceLocation where;
};

/// How operations take an operand that may be a number, as `const TensorLike&`: add(x, 2), 1 - x.  Otherwise as In.
struct TensorLike : detail::OfExpression {
  TensorLike(const Tensor& t, SourceLocation l = SourceLocation::current()) : tensor(&t), where(l) {}
  TensorLike(const In& in) : tensor(&in.tensor), where(in.where) {}
  template <detail::Number T>
  TensorLike(T value, SourceLocation l = SourceLocation::current()) : number(value), where(l) {}

  bool is_number() const { return tensor == nullptr; }

  const Tensor* tensor = nullptr;  ///< nullptr of a number
  Scalar number = false;
  SourceLocation where;
};

/// Prints to_string().
std::ostream& operator<<(std::ostream& out, const In& tensor);

}  // namespace minnow
