#pragma once

#include <functional>
#include <string>
#include <tuple>
#include <minnow/nn/module/module.h>

namespace minnow::nn {

namespace detail {

/// A ModuleOf with this many arguments.
template <class M, std::size_t N>
concept OfArity = std::tuple_size_v<typename M::Arguments>
== N;
template <class M, std::size_t I> using Argument = std::tuple_element_t<I, typename M::Arguments>;

/// The summary of a model; `call` calls it.
std::string summary_of(const Module& model, const std::function<void()>& call);
/// Zeros of the dtype and device of the model's parameters.
Tensor summary_input(const Module& model, const Shape& shape, SourceLocation where);

}  // namespace detail

/// A table of the model's layers, their output shapes for an input of this shape, their parameters, and the
/// multiply-adds of products and convolutions in their own code; below it the sums, and the memory that forward keeps
/// for backward:
///
///     std::cout << nn::summary(net, {1, 1, 28, 28});
///
/// Runs forward once with zeros of the parameters' dtype and device, in eval mode; modes are restored.  Layers that
/// forward() does not call show "-"; modules that it calls and that are not registered are listed below the table.
/// ShapeError for a negative size; else what forward() throws.
[[nodiscard]] std::string summary(const Module& model, const Shape& input,
                                  SourceLocation where = SourceLocation::current());

/// The same with these inputs: summary(net, tokens, mask).
[[nodiscard]] std::string summary(const Module& model, const In& x);
[[nodiscard]] std::string summary(const Module& model, const In& x, const In& y);
[[nodiscard]] std::string summary(const Module& model, const In& x, const In& y, const In& z);
[[nodiscard]] std::string summary(const Module& model, const In& x, const In& y, const In& z, const In& w);

// The same for a ModuleOf, with its own arguments.
template <detail::OfArity<1> M>
[[nodiscard]] std::string summary(const M& model, detail::Argument<M, 0> a,
                                  SourceLocation where = SourceLocation::current()) {
  return detail::summary_of(model, [&] { (void)model(a, where); });
}
template <detail::OfArity<2> M>
[[nodiscard]] std::string summary(const M& model, detail::Argument<M, 0> a, detail::Argument<M, 1> b,
                                  SourceLocation where = SourceLocation::current()) {
  return detail::summary_of(model, [&] { (void)model(a, b, where); });
}
template <detail::OfArity<3> M>
[[nodiscard]] std::string summary(const M& model, detail::Argument<M, 0> a, detail::Argument<M, 1> b,
                                  detail::Argument<M, 2> c, SourceLocation where = SourceLocation::current()) {
  return detail::summary_of(model, [&] { (void)model(a, b, c, where); });
}
template <detail::OfArity<4> M>
[[nodiscard]] std::string summary(const M& model, detail::Argument<M, 0> a, detail::Argument<M, 1> b,
                                  detail::Argument<M, 2> c, detail::Argument<M, 3> d,
                                  SourceLocation where = SourceLocation::current()) {
  return detail::summary_of(model, [&] { (void)model(a, b, c, d, where); });
}
/// The same for a ModuleOf that takes one tensor, and an input of this shape.
template <detail::OfArity<1> M>
requires std::same_as<detail::Argument<M, 0>, Tensor>
[[nodiscard]] std::string summary(const M& model, const Shape& input,
                                  SourceLocation where = SourceLocation::current()) {
  return detail::summary_of(model, [&] { (void)model(detail::summary_input(model, input, where), where); });
}

}  // namespace minnow::nn
