#pragma once

#include <concepts>
#include <functional>
#include <utility>
#include <vector>
#include <minnow/tensor/tensor.h>

namespace minnow {

/// A function of tensors.
using TensorFunction = std::function<Tensor(const std::vector<Tensor>&)>;

struct FunctionalOptions {
  /// Record the results, so that they have gradients with respect to inputs that require one, and to what f refers to.
  bool create_graph = false;
};

// Derivatives of functions, as torch.autograd.functional's.  f is called with other handles of the inputs, and records
// also under NoGradGuard; grad() of no tensor changes.  The gradient with respect to an input that f does not use is 0.
// AutogradError if an input is not floating-point.

/// f's result, and v times f's Jacobian matrix: the gradients of sum(v * f(inputs)).  v has the shape of the result; it
/// may be undefined if that has one element.
std::pair<Tensor, std::vector<Tensor>> vjp(const TensorFunction& f, const std::vector<Tensor>& inputs,
                                           const Tensor& v = {}, FunctionalOptions options = {},
                                           SourceLocation where = SourceLocation::current());
/// f's result, and f's Jacobian matrix times v: the change of f along v, which has the shapes of the inputs.  Two
/// backward passes, of which f needs second derivatives.
std::pair<Tensor, Tensor> jvp(const TensorFunction& f, const std::vector<Tensor>& inputs, const std::vector<Tensor>& v,
                              FunctionalOptions options = {}, SourceLocation where = SourceLocation::current());
/// For each input the derivatives of each element of the result, [result's shape, input's shape].  One backward pass
/// for each element of the result.
std::vector<Tensor> jacobian(const TensorFunction& f, const std::vector<Tensor>& inputs, FunctionalOptions options = {},
                             SourceLocation where = SourceLocation::current());
/// The second derivatives of f, whose result has one element: [i][j] is [shape of input i, shape of input j].  One
/// backward pass for each element of the inputs.
std::vector<std::vector<Tensor>> hessian(const TensorFunction& f, const std::vector<Tensor>& inputs,
                                         FunctionalOptions options = {},
                                         SourceLocation where = SourceLocation::current());
/// f's result, which has one element, and f's Hessian matrix times v, which has the shapes of the inputs.  Two backward
/// passes (Pearlmutter 1994).
std::pair<Tensor, std::vector<Tensor>> hvp(const TensorFunction& f, const std::vector<Tensor>& inputs,
                                           const std::vector<Tensor>& v, FunctionalOptions options = {},
                                           SourceLocation where = SourceLocation::current());

namespace detail {

/// A function of one tensor as one of several.
template <std::invocable<const Tensor&> F> TensorFunction of_list(const F& f) {
  return [&f](const std::vector<Tensor>& x) -> Tensor { return f(x[0]); };
}

}  // namespace detail

// The same for a function of one tensor:  Tensor h = hessian([](const Tensor& x) { return sum(exp(x)); }, x);

template <std::invocable<const Tensor&> F>
std::pair<Tensor, Tensor> vjp(const F& f, const Tensor& x, const Tensor& v = {}, FunctionalOptions options = {},
                              SourceLocation where = SourceLocation::current()) {
  auto [y, gradients] = vjp(detail::of_list(f), std::vector<Tensor>{x}, v, options, where);
  return {std::move(y), std::move(gradients[0])};
}
template <std::invocable<const Tensor&> F>
std::pair<Tensor, Tensor> jvp(const F& f, const Tensor& x, const Tensor& v, FunctionalOptions options = {},
                              SourceLocation where = SourceLocation::current()) {
  return jvp(detail::of_list(f), std::vector<Tensor>{x}, std::vector<Tensor>{v}, options, where);
}
template <std::invocable<const Tensor&> F>
Tensor jacobian(const F& f, const Tensor& x, FunctionalOptions options = {},
                SourceLocation where = SourceLocation::current()) {
  return jacobian(detail::of_list(f), std::vector<Tensor>{x}, options, where)[0];
}
template <std::invocable<const Tensor&> F>
Tensor hessian(const F& f, const Tensor& x, FunctionalOptions options = {},
               SourceLocation where = SourceLocation::current()) {
  return hessian(detail::of_list(f), std::vector<Tensor>{x}, options, where)[0][0];
}
template <std::invocable<const Tensor&> F>
std::pair<Tensor, Tensor> hvp(const F& f, const Tensor& x, const Tensor& v, FunctionalOptions options = {},
                              SourceLocation where = SourceLocation::current()) {
  auto [y, product] = hvp(detail::of_list(f), std::vector<Tensor>{x}, std::vector<Tensor>{v}, options, where);
  return {std::move(y), std::move(product[0])};
}

}  // namespace minnow
