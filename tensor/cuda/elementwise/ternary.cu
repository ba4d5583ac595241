#include <minnow/tensor/cuda/elementwise/elementwise_kernels.h>
#include <minnow/tensor/kernels/ternary.h>

namespace minnow::cuda {
namespace {

/// Conditions, and masks in products (dropout), are not converted.
template <class Op>
inline constexpr bool kTakesMasks = std::is_same_v<Op, kernels::Where> || std::is_same_v<Op, kernels::Addcmul>;

template <class Op>
struct TernaryValue : Body<3, kTakesMasks<Op> ? Accepts::kSameFamilyAndBool : Accepts::kSameFamily> {
  template <class T> MINNOW_HD static T value(T a, T b, T c, T p) { return Op::value(a, b, c, p); }
};

}  // namespace

template <class T> const Loops<3>* ternary_table() {
  static constexpr auto table = [] {
    std::array<Loops<3>, kernels::TernaryOps::kSize> t;
    kernels::for_each(kernels::TernaryOps{}, [&]<class Op, int I>() {
      if constexpr (kernels::takes<T>(Op::kKind)) t[I] = loops_of<TernaryValue<Op>, T>();
    });
    return t;
  }();
  return table.data();
}

template const Loops<3>* ternary_table<float>();
template const Loops<3>* ternary_table<double>();
template const Loops<3>* ternary_table<std::int64_t>();

}  // namespace minnow::cuda
