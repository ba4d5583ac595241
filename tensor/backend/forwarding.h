#pragma once

#include <minnow/tensor/backend/backend.h>

namespace minnow::detail {

template <class Self, class List> class Forwards;
template <class Self> class Forwards<Self, CallList<>> : public Backend {};
template <class Self, class C, class... More>
class Forwards<Self, CallList<C, More...>> : public Forwards<Self, CallList<More...>> {
 public:
  using Forwards<Self, CallList<More...>>::run;
  ResultOf<C> run(const C& call) final { return static_cast<Self&>(*this).pass(call); }
};
template <class Self, class C, class D, class E, class F, class... More>
class Forwards<Self, CallList<C, D, E, F, More...>> : public Forwards<Self, CallList<More...>> {
 public:
  using Forwards<Self, CallList<More...>>::run;
  ResultOf<C> run(const C& call) final { return static_cast<Self&>(*this).pass(call); }
  ResultOf<D> run(const D& call) final { return static_cast<Self&>(*this).pass(call); }
  ResultOf<E> run(const E& call) final { return static_cast<Self&>(*this).pass(call); }
  ResultOf<F> run(const F& call) final { return static_cast<Self&>(*this).pass(call); }
};

/// A backend whose run() passes each call to `template <class C> ResultOf<C> Self::pass(const C& call)`.
template <class Self> using Forwarding = detail::Forwards<Self, Calls>;

}  // namespace minnow::detail
