#include <minnow/tensor/cpu/runtime/isa.h>

#include <atomic>
#include <minnow/tensor/error.h>
#include <minnow/tensor/internal.h>

namespace minnow::cpu {

// Defined by the files in isa/, each compiled for each instruction set.
namespace baseline {
template <class Family> void install_loops(Kernels& k);
}
namespace avx2 {
template <class Family> void install_loops(Kernels& k);
}
namespace avx512 {
template <class Family> void install_loops(Kernels& k);
}

namespace {

/// Installs the loops of an instruction set over those of the narrower ones.
template <class... F> void install([[maybe_unused]] Isa isa, [[maybe_unused]] Kernels& k, kernels::List<F...>) {
#if MINNOW_ISA_BASELINE
  (baseline::install_loops<F>(k), ...);
#endif
#if MINNOW_ISA_AVX2
  if (isa != Isa::kBaseline) (avx2::install_loops<F>(k), ...);
#endif
#if MINNOW_ISA_AVX512
  if (isa == Isa::kAvx512) (avx512::install_loops<F>(k), ...);
#endif
}

/// Whether the loops were compiled and the processor has the instructions.
bool supported(Isa isa) {
#if MINNOW_ISA_AVX2
  // __builtin_cpu_supports also checks that the operating system saves the registers.
  const bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
  if (isa == Isa::kAvx2) return avx2;
#if MINNOW_ISA_AVX512
  if (isa == Isa::kAvx512) {
    return avx2 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
           __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
  }
#endif
#endif
  return MINNOW_ISA_BASELINE && isa == Isa::kBaseline;
}

struct Tables {
  Kernels of[kIsas] = {};

  /// The functions that fill a table are compiled with its instructions, so only supported ones are called.
  Tables() {
    for (int i = 0; i < kIsas; ++i) {
      const Isa isa = static_cast<Isa>(i);
      if (supported(isa)) install(isa, of[i], LoopFamilies{});
    }
  }
};

const Tables& tables() {
  static const auto* all = new Tables();  // never destroyed: destructors of globals may call operations
  return *all;
}

std::atomic<const Kernels*> current{nullptr};

const Kernels& choose() {
  for (const Isa isa : {Isa::kAvx512, Isa::kAvx2, Isa::kBaseline})
    if (use_isa(isa)) return *current.load(std::memory_order_acquire);
  throw BackendError(
      "cpu: this program's minnow was built for processors with AVX2, which this one does not have\n"
      "build it with -DMINNOW_INSTRUCTIONS=ALL, or on this machine with NATIVE");
}

}  // namespace

bool isa_supported(Isa isa) { return supported(isa); }

const Kernels& loops() {
  const Kernels* k = current.load(std::memory_order_acquire);
  return k != nullptr ? *k : choose();
}

bool use_isa(Isa isa) {
  if (!isa_supported(isa)) return false;
  current.store(&tables().of[static_cast<int>(isa)], std::memory_order_release);
  return true;
}

Isa current_isa() { return static_cast<Isa>(&loops() - tables().of); }

}  // namespace minnow::cpu
