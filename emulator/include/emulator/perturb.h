#pragma once

#include <bit>
#include <cmath>
#include <cstdint>

namespace emulator {

/// Whether this thread runs a kernel whose mathematical functions are perturbed (MINNOW_EMULATOR_PERTURB).
extern thread_local bool perturbs;

/// The result of a mathematical function: CUDA's documentation gives errors, not bits.  If this is a kernel and it is
/// perturbed, the next number above or below, by a rule that looks like chance; but 0, 1 and -1 are kept, as the ends
/// of ranges, and what is not finite.
inline float perturbed(float x) {
  if (!perturbs || !std::isfinite(x) || x == 0 || std::fabs(x) == 1) return x;
  const auto bits = std::bit_cast<std::uint32_t>(x);
  return std::bit_cast<float>(bits * 0x9e3779b1u >> 31 ? bits + 1 : bits - 1);
}
inline double perturbed(double x) {
  if (!perturbs || !std::isfinite(x) || x == 0 || std::fabs(x) == 1) return x;
  const auto bits = std::bit_cast<std::uint64_t>(x);
  return std::bit_cast<double>(bits * 0x9e3779b97f4a7c15u >> 63 ? bits + 1 : bits - 1);
}

}  // namespace emulator
