#include <minnow/tensor/cpu/isa/variant.h>

namespace minnow::cpu::MINNOW_ISA {
namespace {

template <class T> MINNOW_HD T& at(T* state, std::int64_t i) { return state[i]; }
MINNOW_HD kernels::Absent at(kernels::Absent*, std::int64_t) { return {}; }

template <class Rule, class T, class... State>
void run(typename Rule::template Constants<T> c, std::int64_t n, T* __restrict p, const T* __restrict g,
         State* __restrict... state) {
  for (std::int64_t i = 0; i < n; ++i) Rule::step(c, p[i], g[i], at(state, i)...);
}

/// Updates with the states of a set.
template <class Rule, class T, unsigned States, int... K>
void run_with(void* param, const void* grad, void* const* state, std::int64_t n, const double* constants,
              std::integer_sequence<int, K...>) {
  if constexpr (kernels::allows<Rule>(States))
    run<Rule>(kernels::constants_in<Rule, T>(constants), n, static_cast<T*>(param), static_cast<const T*>(grad),
              static_cast<kernels::StateElement<T, States, K>*>(state[K])...);
}

template <class Rule, class T>
void update(void* param, const void* grad, void* const* state, std::int64_t n, const double* constants) {
  constexpr int kStates = kernels::kNumStates<Rule>;
  unsigned there = 0;
  for (int k = 0; k < kStates; ++k) there |= state[k] != nullptr ? 1U << k : 0U;
  [&]<unsigned... States>(std::integer_sequence<unsigned, States...>) {
    ((there == States
          ? run_with<Rule, T, States>(param, grad, state, n, constants, std::make_integer_sequence<int, kStates>{})
          : void()),
     ...);
  }
  (kernels::StateSets<Rule>{});
}

template <class T> void install(UpdateLoop* table) {
  kernels::for_each(kernels::UpdateRules{}, [&]<class Rule, int I>() { table[I] = update<Rule, T>; });
}

}  // namespace

template <> void install_loops<family::Update>(Kernels& k) {
  install<float>(k.update[static_cast<int>(Compute::kFloat)]);
  if constexpr (kWhole) install<double>(k.update[static_cast<int>(Compute::kDouble)]);
}

}  // namespace minnow::cpu::MINNOW_ISA
