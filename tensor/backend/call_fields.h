#pragma once

#include <cstddef>
#include <tuple>
#include <type_traits>
#include <utility>
#include <minnow/tensor/backend/calls.h>

// What all calls have in common, derived from their structs.

namespace minnow::detail {

template <class C, class... All> constexpr bool is_listed(CallList<All...>) { return (std::is_same_v<C, All> || ...); }

template <class C> struct ResultType { using Type = void; };
template <class C>
requires requires { typename C::Result; }
struct ResultType<C> {
  using Type = typename C::Result;
};

/// Converts to any type, to count the fields of a struct.
struct AnyField {
  template <class T> operator T() const;
};
template <class C, std::size_t... I> constexpr bool takes_fields(std::index_sequence<I...>) {
  return requires { C{(static_cast<void>(I), AnyField{})...}; };
}
inline constexpr std::size_t kMaxFields = 11;
template <class C, std::size_t N = kMaxFields + 1> constexpr std::size_t field_count() {
  if constexpr (N == 0 || takes_fields<C>(std::make_index_sequence<N>())) return N;
  else return field_count<C, N - 1>();
}

/// A struct of the list Calls.
template <class C>
concept BackendCall = detail::is_listed<C>(Calls{});

/// Outcome for calls that can find wrong data, otherwise void.
template <class C> using ResultOf = typename detail::ResultType<C>::Type;

/// A tuple of references to all members of a call, in order.
template <class C> constexpr auto fields(const C& call) {
  constexpr std::size_t kCount = detail::field_count<C>();
  static_assert(kCount > 0 && kCount <= detail::kMaxFields, "a call has 1 to 11 members");
  if constexpr (kCount == 1) {
    const auto& [a] = call;
    return std::tie(a);
  } else if constexpr (kCount == 2) {
    const auto& [a, b] = call;
    return std::tie(a, b);
  } else if constexpr (kCount == 3) {
    const auto& [a, b, c] = call;
    return std::tie(a, b, c);
  } else if constexpr (kCount == 4) {
    const auto& [a, b, c, d] = call;
    return std::tie(a, b, c, d);
  } else if constexpr (kCount == 5) {
    const auto& [a, b, c, d, e] = call;
    return std::tie(a, b, c, d, e);
  } else if constexpr (kCount == 6) {
    const auto& [a, b, c, d, e, f] = call;
    return std::tie(a, b, c, d, e, f);
  } else if constexpr (kCount == 7) {
    const auto& [a, b, c, d, e, f, g] = call;
    return std::tie(a, b, c, d, e, f, g);
  } else if constexpr (kCount == 8) {
    const auto& [a, b, c, d, e, f, g, h] = call;
    return std::tie(a, b, c, d, e, f, g, h);
  } else if constexpr (kCount == 9) {
    const auto& [a, b, c, d, e, f, g, h, i] = call;
    return std::tie(a, b, c, d, e, f, g, h, i);
  } else if constexpr (kCount == 10) {
    const auto& [a, b, c, d, e, f, g, h, i, j] = call;
    return std::tie(a, b, c, d, e, f, g, h, i, j);
  } else {
    const auto& [a, b, c, d, e, f, g, h, i, j, k] = call;
    return std::tie(a, b, c, d, e, f, g, h, i, j, k);
  }
}

template <class F> void visit_views(const View& view, const F& f) { f(view); }
template <class F> void visit_views(std::span<const UpdateItem> items, const F& f) {
  for (const UpdateItem& item : items) {
    f(*item.param);
    f(*item.grad);
    for (const View* state : item.state)
      if (state) f(*state);
  }
}
template <class T, class F> void visit_views(const T&, const F&) {}

/// Calls f(view) for each operand of a call, also for undefined ones.
template <class C, class F> void for_each_view(const C& call, const F& f) {
  std::apply([&](const auto&... field) { (detail::visit_views(field, f), ...); }, fields(call));
}

}  // namespace minnow::detail
