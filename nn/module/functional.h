#pragma once

#include <functional>
#include <minnow/nn/module/module.h>

namespace minnow::nn {

namespace detail {

/// The type of a function's or lambda's first argument; void where it is not one type (a generic lambda).
template <class F> struct FirstArgument { using Type = void; };
template <class R, class A, class... B> struct FirstArgument<R (*)(A, B...)> { using Type = A; };
template <class C, class R, class A, class... B> struct FirstArgument<R (C::*)(A, B...)> { using Type = A; };
template <class C, class R, class A, class... B> struct FirstArgument<R (C::*)(A, B...) const> { using Type = A; };
template <class F>
requires requires { &F::operator(); }
struct FirstArgument<F> : FirstArgument<decltype(&F::operator())> {};

/// A function of a tensor, and of the arguments that follow it, that returns a tensor.
template <class F, class... A>
concept TensorFunction = !std::derived_from<F, Module> && requires(F & f, const Tensor& x, const A&... rest) {
  { std::invoke(f, x, rest...) } -> std::convertible_to<Tensor>;
};

}  // namespace detail

/// A function or lambda as a module, with the arguments that follow the tensor: Functional(softmax, 1).  Sequential
/// takes functions without this class.  Tensors that a lambda captures are shared by copies of the module, and are not
/// in parameters() and state_dict().
///
///     nn::Sequential net(nn::Linear(784, 128), relu, nn::Linear(128, 10), [](const Tensor& x) { return x * 2; });
class Functional : public Module {
 public:
  explicit Functional(Tensor (*function)(const In&)) : Functional(function, std::tuple<>()) {}
  template <class F, class... A>
  requires detail::TensorFunction<F, A...>
  explicit Functional(F function, A... rest) : Functional(std::move(function), std::tuple<A...>(std::move(rest)...)) {}

  Tensor forward(const Tensor& x) override { return function_(x, detail::Call::line()); }
  std::string describe() const override { return "Functional"; }

 private:
  template <class F, class... A>
  Functional(F function, std::tuple<A...> rest)
      : function_(
            [function = std::move(function), rest = std::move(rest)](const Tensor& x, SourceLocation where) mutable {
              return std::apply(
                  [&](const A&... r) -> Tensor {
                    using First = std::remove_cvref_t<typename detail::FirstArgument<F>::Type>;
                    if constexpr (std::is_same_v<First, In>) return std::invoke(function, In(x, where), r...);
                    else return std::invoke(function, x, r...);
                  },
                  rest);
            }) {}

  std::function<Tensor(const Tensor&, SourceLocation)> function_;
};

}  // namespace minnow::nn
