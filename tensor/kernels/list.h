#pragma once

#include <type_traits>
#include <utility>

namespace minnow::detail::kernels {

/// A list of functor types.  The index of a functor in its list is the operation's number in every backend.
template <class... Ops> struct List { static constexpr int kSize = static_cast<int>(sizeof...(Ops)); };

namespace detail {

template <class Op, class... Ops> constexpr int index_in(List<Ops...>) {
  int index = 0;
  const bool found = ((std::is_same_v<Op, Ops> || (++index, false)) || ...);
  return found ? index : -1;
}

}  // namespace detail

/// The index of Op in a list; -1 if it is not there.
template <class L, class Op> inline constexpr int kIndexOf = detail::index_in<Op>(L{});

/// Calls f.template operator()<Op, index>() for every functor of the list, in order.
template <class... Ops, class F> constexpr void for_each(List<Ops...>, F&& f) {
  int unused[] = {0, (f.template operator()<Ops, kIndexOf<List<Ops...>, Ops>>(), 0)...};
  static_cast<void>(unused);
}

/// Calls f.template operator()<Op>() for the functor at an index that is known only at run time; does nothing if it is
/// out of range.
template <class... Ops, class F> constexpr void visit(List<Ops...>, int index, F&& f) {
  int at = 0;
  ((at++ == index ? (f.template operator()<Ops>(), 0) : 0), ...);
}

}  // namespace minnow::detail::kernels
