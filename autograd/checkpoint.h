#pragma once

#include <functional>
#include <span>
#include <tuple>
#include <type_traits>
#include <vector>
#include <minnow/tensor/in.h>

namespace minnow {

namespace autograd {

using CheckpointedFunction = std::function<std::vector<Tensor>(std::span<const Tensor> inputs)>;
std::vector<Tensor> checkpoint(CheckpointedFunction f, std::vector<Tensor> inputs, SourceLocation where);
/// Whether f of checkpoint() runs again on this thread, in backward.
bool is_recomputing();

template <class R> std::vector<Tensor> listed(const R& results) {
  if constexpr (std::is_base_of_v<Tensor, R>) return {results};
  else if constexpr (requires { std::tuple_size<R>::value; })
    return std::apply([](const auto&... t) { return std::vector<Tensor>{t...}; }, results);
  else return std::vector<Tensor>(results.begin(), results.end());
}
template <class R> R unlisted(const std::vector<Tensor>& list) {
  if constexpr (std::is_base_of_v<Tensor, R>) return list[0];
  else if constexpr (requires { std::tuple_size<R>::value; }) return [&]<std::size_t... I>(std::index_sequence<I...>) {
      return R(list[I]...);
    }
  (std::make_index_sequence<std::tuple_size_v<R>>());
  else return R(list.begin(), list.end()); }

template <class F, std::size_t... I>
auto checkpoint_call(F f, std::vector<Tensor> inputs, SourceLocation where, std::index_sequence<I...>) {
  using R = std::decay_t<decltype(f(inputs[I]...))>;
  return unlisted<R>(checkpoint(
      [f = std::move(f)]([[maybe_unused]] std::span<const Tensor> x) mutable { return listed(R(f(x[I]...))); },
      std::move(inputs), where));
}

}  // namespace autograd

/// f(x...), whose intermediate results are not kept: backward calls f again and takes the gradients of that (Chen et
/// al. 2016).  Memory falls to the inputs and results of f, for one more forward.
///
///     Tensor y = checkpoint(block, x);                                            // a module
///     Tensor z = checkpoint([=](const Tensor& t) { return block(t) + t; }, x);
///
/// f is copied and lives as long as the graph.  It captures by value, [=]: modules and tensors are handles, and what it
/// has by reference must live until backward, which a variable of a loop does not.
/// f: takes the tensors x and returns a Tensor, a std::vector, std::tuple or std::pair of them, and gives the same
/// again when it is called again.  The default generator draws the same numbers (dropout).  What f captures, such as
/// the parameters of modules, gets its gradients as without checkpoint; first and higher derivatives, nested calls and
/// several backwards with retain_graph work.  BatchNorm takes its running statistics from the first call alone.
/// Without recording, it is f(x...).
/// AutogradError if f writes to x, calls backward, or makes a leaf that requires a gradient, and in backward if x, a
/// leaf or another tensor that f read was overwritten after the call, or f gives results of another shape, dtype or
/// device than before, or results that no longer depend on what they depended on (a missing gradient).
template <class F> auto checkpoint(F f, SourceLocation where = SourceLocation::current()) {
  return autograd::checkpoint_call(std::move(f), {}, where, std::index_sequence<>());
}
template <class F> auto checkpoint(F f, const In& x) {
  return autograd::checkpoint_call(std::move(f), {*x}, x.where, std::make_index_sequence<1>());
}
template <class F> auto checkpoint(F f, const In& x, const In& y) {
  return autograd::checkpoint_call(std::move(f), {*x, *y}, x.where, std::make_index_sequence<2>());
}
template <class F> auto checkpoint(F f, const In& x, const In& y, const In& z) {
  return autograd::checkpoint_call(std::move(f), {*x, *y, *z}, x.where, std::make_index_sequence<3>());
}

}  // namespace minnow
