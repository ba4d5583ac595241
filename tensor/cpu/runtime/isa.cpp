#include <minnow/tensor/cpu/runtime/isa.h>

#include <atomic>
#include <minnow/tensor/error.h>
#include <minnow/tensor/internal.h>
#if MINNOW_ISA_AVX2
#include <cpuid.h>
#endif

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

#if MINNOW_ISA_AVX2
/// Asks the processor, and the operating system by the registers that it saves: the part of a compiler's library behind
/// __builtin_cpu_supports, which asks the same, is empty in zig's.
bool has_avx(bool avx512) {
  unsigned a = 0, b = 0, c = 0, d = 0;
  constexpr unsigned kFirst = bit_OSXSAVE | bit_AVX | bit_FMA | bit_F16C;
  if (!__get_cpuid(1, &a, &b, &c, &d) || (c & kFirst) != kFirst) return false;
  unsigned saved = 0, high = 0;
  __asm__("xgetbv" : "=a"(saved), "=d"(high) : "c"(0));
  const unsigned registers = avx512 ? 0xe6 : 0x06;
  const unsigned features = bit_AVX2 | (avx512 ? bit_AVX512F | bit_AVX512BW | bit_AVX512DQ | bit_AVX512VL : 0);
  return (saved & registers) == registers && __get_cpuid_count(7, 0, &a, &b, &c, &d) && (b & features) == features;
}
#endif

/// Whether the loops were compiled and the processor has the instructions.
bool supported(Isa isa) {
#if MINNOW_ISA_AVX2
  if (isa == Isa::kAvx2) return has_avx(false);
#if MINNOW_ISA_AVX512
  if (isa == Isa::kAvx512) return has_avx(true);
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
