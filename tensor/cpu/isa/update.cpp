#include <minnow/tensor/cpu/isa/variant.h>

namespace minnow::cpu::MINNOW_ISA {
namespace {

using kernels::AdamRule;
using kernels::Sgd;

template <class T> void sgd(void* param, const void* grad, void* const* state, std::int64_t n, const double* hyper) {
  const auto c = Sgd::constants<T>(*reinterpret_cast<const Sgd::Hyper*>(hyper));
  T* __restrict p = static_cast<T*>(param);
  const T* __restrict g = static_cast<const T*>(grad);
  T* __restrict v = static_cast<T*>(state[0]);
  if (v == nullptr) {
    for (std::int64_t i = 0; i < n; ++i) Sgd::step(c, p[i], g[i]);
  } else {
    for (std::int64_t i = 0; i < n; ++i) Sgd::step(c, p[i], g[i], v[i]);
  }
}

template <class Rule, class T>
void adam(void* param, const void* grad, void* const* state, std::int64_t n, const double* hyper) {
  const auto c = Rule::template constants<T>(*reinterpret_cast<const typename Rule::Hyper*>(hyper));
  T* __restrict p = static_cast<T*>(param);
  const T* __restrict g = static_cast<const T*>(grad);
  T* __restrict m = static_cast<T*>(state[0]);
  T* __restrict v = static_cast<T*>(state[1]);
  T* __restrict w = static_cast<T*>(state[2]);
  if (w == nullptr) {
    for (std::int64_t i = 0; i < n; ++i) Rule::step(c, p[i], g[i], m[i], v[i]);
  } else {
    for (std::int64_t i = 0; i < n; ++i) Rule::amsgrad_step(c, p[i], g[i], m[i], v[i], w[i]);
  }
}

template <class T> void install(UpdateLoop* table) {
  kernels::for_each(kernels::UpdateRules{}, [&]<class Rule, int I>() {
    if constexpr (std::is_same_v<Rule, Sgd>) table[I] = sgd<T>;
    else table[I] = adam<Rule, T>;
  });
}

}  // namespace

template <> void install_loops<family::Update>(Kernels& k) {
  install<float>(k.update[static_cast<int>(Compute::kFloat)]);
  if constexpr (kWhole) install<double>(k.update[static_cast<int>(Compute::kDouble)]);
}

}  // namespace minnow::cpu::MINNOW_ISA
