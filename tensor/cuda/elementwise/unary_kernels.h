#pragma once

#include <minnow/tensor/cuda/elementwise/elementwise_kernels.h>
#include <minnow/tensor/internal.h>
#include <minnow/tensor/kernels/unary.h>

namespace minnow::cuda {

template <class Op>
struct UnaryValue : Body<1, Accepts::kSameFamily,
                         Op::kKind == kernels::Kind::kPredicate ? Accepts::kSameFamilyAndBool : Accepts::kSameFamily> {
  template <class T> MINNOW_HD static auto value(T x, T p0, T p1) {
    return kernels::apply<kernels::Value, Op>(x, p0, p1);
  }
};

/// grad * slope.
template <class Op> struct UnaryDerivative : Body<2> {
  template <class T> MINNOW_HD static T value(T grad, T saved, T p0, T p1) {
    return kernels::by_slope(grad, kernels::apply<kernels::Slope, Op>(saved, p0, p1));
  }
};

template <class T> const Loops<1>* unary_table() {
  static constexpr auto table = [] {
    std::array<Loops<1>, kernels::UnaryOps::kSize> t;
    kernels::for_each(kernels::UnaryOps{}, [&]<class Op, int I>() {
      if constexpr (kernels::takes<T>(Op::kKind)) t[I] = loops_of<UnaryValue<Op>, T>();
    });
    return t;
  }();
  return table.data();
}

template <class T> const Loops<2>* slope_table() {
  static constexpr auto table = [] {
    std::array<Loops<2>, kernels::UnaryOps::kSize> t;
    kernels::for_each(kernels::UnaryOps{}, [&]<class Op, int I>() {
      if constexpr (Op::kOrder >= 1) t[I] = loops_of<UnaryDerivative<Op>, T>();
    });
    return t;
  }();
  return table.data();
}

}  // namespace minnow::cuda
