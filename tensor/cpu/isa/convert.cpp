#include <minnow/tensor/cpu/isa/variant.h>
#include <minnow/tensor/dtype.h>

namespace minnow::cpu::MINNOW_ISA {
namespace {

namespace host = kernels::math::host;

/// Storage types of halves and bool.
struct Half {
  std::uint16_t bits;
};
struct BFloat16 {
  std::uint16_t bits;
};
struct Bool {
  std::uint8_t bits;
};

MINNOW_HD float widen(Half h) {
  const std::uint32_t sign = std::uint32_t{h.bits & 0x8000u} << 16;
  const std::uint32_t magnitude = h.bits & 0x7fffu;
  // Scaling by 2^112 moves the exponent's bias from 15 to 127 and normalizes subnormals.
  const float finite = host::from_bits(magnitude << 13) * host::from_bits(0x77800000u);
  const std::uint32_t special = 0x7f800000u | ((magnitude & 0x3ffu) << 13);
  return host::from_bits((magnitude >= 0x7c00u ? special : host::bits(finite)) | sign);
}
MINNOW_HD float widen(BFloat16 b) { return host::from_bits(std::uint32_t{b.bits} << 16); }

/// Rounds to nearest even, without branches: all cases are computed and one is selected.
MINNOW_HD std::uint16_t to_half(float x) {
  const std::uint32_t f = host::bits(x);
  const std::uint32_t sign = (f >> 16) & 0x8000u;
  const std::uint32_t magnitude = f & 0x7fffffffu;
  const std::uint32_t small = host::bits(host::from_bits(magnitude) + 0.5f) - 0x3f000000u;
  const std::uint32_t normal = (magnitude - 0x38000000u + 0xfffu + ((magnitude >> 13) & 1u)) >> 13;
  std::uint32_t r = magnitude < 0x38800000u ? small : normal;
  r = magnitude >= 0x47800000u ? 0x7c00u : r;
  r = magnitude > 0x7f800000u ? 0x7e00u : r;
  return static_cast<std::uint16_t>(sign | r);
}
MINNOW_HD std::uint16_t to_bfloat16(float x) {
  const std::uint32_t f = host::bits(x);
  const std::uint32_t nan = (f >> 16) | 0x40u;
  const std::uint32_t rounded = (f + 0x7fffu + ((f >> 16) & 1u)) >> 16;
  return static_cast<std::uint16_t>((f & 0x7fffffffu) > 0x7f800000u ? nan : rounded);
}

template <class To, class From> MINNOW_HD To convert(From x) {
  if constexpr (std::is_same_v<From, Half> || std::is_same_v<From, BFloat16>) {
    return convert<To>(widen(x));
  } else if constexpr (std::is_same_v<From, Bool>) {
    return static_cast<To>(x.bits != 0 ? 1 : 0);
  } else if constexpr (std::is_same_v<To, Half>) {
    return {to_half(static_cast<float>(x))};
  } else if constexpr (std::is_same_v<To, BFloat16>) {
    return {to_bfloat16(static_cast<float>(x))};
  } else if constexpr (std::is_same_v<To, Bool>) {
    return {static_cast<std::uint8_t>(x != From(0) ? 1 : 0)};
  } else if constexpr (std::is_integral_v<To> && std::is_floating_point_v<From>) {
    // Values that int64 cannot hold, and NaN, become the lowest int64, as on x86.
    constexpr From kLimit = From(0x1p63);
    const bool in_range = x >= -kLimit && x < kLimit;
    return static_cast<To>(in_range ? static_cast<std::int64_t>(x) : std::numeric_limits<std::int64_t>::min());
  } else {
    return static_cast<To>(x);
  }
}

template <class From, class To> void loop(const void* from, void* to, std::int64_t n) {
  const From* __restrict x = static_cast<const From*>(from);
  To* __restrict y = static_cast<To*>(to);
  for (std::int64_t i = 0; i < n; ++i) y[i] = convert<To>(x[i]);
}

template <class T> void install(Kernels& k, DType dtype) {
  const int d = static_cast<int>(dtype);
  k.load[d][static_cast<int>(Compute::kFloat)] = loop<T, float>;
  k.store[static_cast<int>(Compute::kFloat)][d] = loop<float, T>;
  if constexpr (kWhole) {
    k.load[d][static_cast<int>(Compute::kDouble)] = loop<T, double>;
    k.load[d][static_cast<int>(Compute::kInt64)] = loop<T, std::int64_t>;
    k.store[static_cast<int>(Compute::kDouble)][d] = loop<double, T>;
    k.store[static_cast<int>(Compute::kInt64)][d] = loop<std::int64_t, T>;
  }
}

}  // namespace

template <> void install_loops<family::Convert>(Kernels& k) {
  install<float>(k, DType::float32);
  install<Half>(k, DType::float16);
  install<BFloat16>(k, DType::bfloat16);
  install<double>(k, DType::float64);
  install<std::int64_t>(k, DType::int64);
  install<std::int32_t>(k, DType::int32);
  install<std::int16_t>(k, DType::int16);
  install<std::int8_t>(k, DType::int8);
  install<std::uint8_t>(k, DType::uint8);
  install<Bool>(k, DType::bool_);
}

}  // namespace minnow::cpu::MINNOW_ISA
