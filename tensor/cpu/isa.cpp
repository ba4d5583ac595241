#include <minnow/tensor/cpu/isa.h>

#include <atomic>

namespace minnow::cpu {

// Defined by the files in isa/, each compiled for each instruction set.
namespace baseline {
void install_unary(Kernels& k);
void install_slope(Kernels& k);
void install_binary(Kernels& k);
void install_reduce(Kernels& k);
void install_softmax(Kernels& k);
void install_convert(Kernels& k);
void install_pool(Kernels& k);
void install_update(Kernels& k);
void install_random(Kernels& k);
void install_gemm(Kernels& k);
void install_transpose(Kernels& k);
}  // namespace baseline
namespace avx2 {
void install_unary(Kernels& k);
void install_slope(Kernels& k);
void install_binary(Kernels& k);
void install_reduce(Kernels& k);
void install_softmax(Kernels& k);
void install_convert(Kernels& k);
void install_pool(Kernels& k);
void install_update(Kernels& k);
void install_random(Kernels& k);
void install_gemm(Kernels& k);
void install_transpose(Kernels& k);
}  // namespace avx2
namespace avx512 {
void install_unary(Kernels& k);
void install_slope(Kernels& k);
void install_binary(Kernels& k);
void install_reduce(Kernels& k);
void install_softmax(Kernels& k);
void install_convert(Kernels& k);
void install_pool(Kernels& k);
void install_update(Kernels& k);
void install_random(Kernels& k);
void install_gemm(Kernels& k);
void install_transpose(Kernels& k);
}  // namespace avx512

namespace {

void install_baseline(Kernels& k) {
  baseline::install_unary(k);
  baseline::install_slope(k);
  baseline::install_binary(k);
  baseline::install_reduce(k);
  baseline::install_softmax(k);
  baseline::install_convert(k);
  baseline::install_pool(k);
  baseline::install_update(k);
  baseline::install_random(k);
  baseline::install_gemm(k);
  baseline::install_transpose(k);
}

/// Over the baseline.  Discarded where the processor is no x86-64, so that nothing refers to what is not
/// there.
template <bool X86> void install_avx2(Kernels& k) {
  if constexpr (X86) {
    avx2::install_unary(k);
    avx2::install_slope(k);
    avx2::install_binary(k);
    avx2::install_reduce(k);
    avx2::install_softmax(k);
    avx2::install_convert(k);
    avx2::install_pool(k);
    avx2::install_update(k);
    avx2::install_random(k);
    avx2::install_gemm(k);
    avx2::install_transpose(k);
  }
}
template <bool X86> void install_avx512(Kernels& k) {
  if constexpr (X86) {
    avx512::install_unary(k);
    avx512::install_slope(k);
    avx512::install_binary(k);
    avx512::install_reduce(k);
    avx512::install_softmax(k);
    avx512::install_convert(k);
    avx512::install_pool(k);
    avx512::install_update(k);
    avx512::install_random(k);
    avx512::install_gemm(k);
    avx512::install_transpose(k);
  }
}

template <bool X86> bool supported(Isa isa) {
  if constexpr (X86) {
    // These ask the operating system too: a register that it does not save counts as missing.
    const bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
    if (isa == Isa::kAvx2) return avx2;
    if (isa == Isa::kAvx512) {
      return avx2 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
             __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
    }
  }
  return isa == Isa::kBaseline;
}

constexpr bool kX86 = MINNOW_ISA_X86 != 0;

struct Tables {
  Kernels of[kIsas] = {};

  /// The functions that fill a table are themselves compiled with its instructions: only those that can run
  /// are called.
  Tables() {
    for (int i = 0; i < kIsas; ++i) {
      const Isa isa = static_cast<Isa>(i);
      if (!supported<kX86>(isa)) continue;
      install_baseline(of[i]);
      if (isa == Isa::kAvx2) install_avx2<kX86>(of[i]);
      if (isa == Isa::kAvx512) install_avx512<kX86>(of[i]);
    }
  }
};

const Tables& tables() {
  static const auto* all = new Tables();  // never destroyed: a global tensor's operation may come last
  return *all;
}

std::atomic<const Kernels*> current{nullptr};

const Kernels& choose() {
  for (const Isa isa : {Isa::kAvx512, Isa::kAvx2, Isa::kBaseline}) {
    if (use_isa(isa)) break;
  }
  return *current.load(std::memory_order_acquire);
}

}  // namespace

bool isa_supported(Isa isa) { return supported<kX86>(isa); }

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
