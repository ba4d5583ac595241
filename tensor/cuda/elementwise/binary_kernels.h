#pragma once

#include <minnow/tensor/cuda/elementwise/elementwise_kernels.h>
#include <minnow/tensor/internal.h>
#include <minnow/tensor/kernels/binary.h>

namespace minnow::cuda {

/// Products take masks without converting them.
template <class Op>
struct BinaryValue
    : Body<2, std::is_same_v<Op, kernels::Mul> ? Accepts::kSameFamilyAndBool : Accepts::kSameFamily,
           Op::kKind == kernels::Kind::kPredicate ? Accepts::kSameFamilyAndBool : Accepts::kSameFamily, Op::kDivides> {
  template <class T> MINNOW_HD static auto value(T a, T b, T, T) { return Op::value(a, b); }
};

template <class T> const Loops<2>* binary_table() {
  static constexpr auto table = [] {
    std::array<Loops<2>, kernels::BinaryOps::kSize> t;
    kernels::for_each(kernels::BinaryOps{}, [&]<class Op, int I>() {
      if constexpr (kernels::takes<T>(Op::kKind)) t[I] = loops_of<BinaryValue<Op>, T>();
    });
    return t;
  }();
  return table.data();
}

}  // namespace minnow::cuda
