#include <minnow/tensor/cpu/onednn/onednn.h>
#include <minnow/tensor/cpu/runtime/library.h>

namespace minnow::cpu::library {
namespace {

/// Whether oneDNN uses all the instructions that `wanted` stands for.
bool has_isa(dnnl::cpu_isa wanted) {
  const auto all = static_cast<unsigned>(wanted);
  return (static_cast<unsigned>(dnnl::get_effective_cpu_isa()) & all) == all;
}

}  // namespace

bool has_tiles() {
  static const bool there = has_isa(dnnl::cpu_isa::avx512_core_amx);
  return there;
}

bool has_half(DType dtype) {
  if (dtype == DType::bfloat16) return has_isa(dnnl::cpu_isa::avx512_core_bf16);
#if DNNL_VERSION_MAJOR >= 3
  if (dtype == DType::float16) return has_isa(dnnl::cpu_isa::avx512_core_fp16);
#endif
  return false;
}

bool adds_bytes_exactly() {
#if defined(__x86_64__)
  static const bool exact = has_isa(dnnl::cpu_isa::avx512_core_vnni) || has_isa(dnnl::cpu_isa::avx2_vnni);
  return exact;
#else
  return true;
#endif
}

}  // namespace minnow::cpu::library
