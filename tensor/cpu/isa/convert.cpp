#include <minnow/tensor/cpu/isa/row_vectors.h>
#include <minnow/tensor/dtype.h>

namespace minnow::cpu::MINNOW_ISA {
namespace {

/// Storage types of bfloat16 and bool.
using BFloat16 = std::uint16_t;
struct Bool {
  std::uint8_t bits;
};
template <class T> constexpr bool kIsHalf = std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>;

template <class To, class From> MINNOW_HD To convert(From x) {
  if constexpr (std::is_same_v<From, To>) {
    return x;
  } else if constexpr (std::is_same_v<From, Bool>) {
    return static_cast<To>(x.bits != 0 ? 1 : 0);
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

/// Elements that are converted in two steps pass through a buffer of this length.
constexpr std::int64_t kBlock = 256;

template <class From, class To>
constexpr bool kToInteger = std::is_floating_point_v<From>&& std::is_integral_v<To> && !kIsHalf<To>;

template <class From, class To> void block(const From* __restrict x, To* __restrict y, std::int64_t n) {
  if constexpr (kIsHalf<From> || kIsHalf<To>) {
    row_map(y, n, [&](std::int64_t i, int m) { return load_some(x + i, m); });
  } else {
    if constexpr (kToInteger<From, To>) {
      // There are vectors of int32, but only AVX-512 converts to int64: numbers that int32 cannot hold are rare.
      int far = 0;
      for (std::int64_t i = 0; i < n; ++i) far |= x[i] > From(-0x1p31) && x[i] < From(0x1p31) ? 0 : 1;
      for (std::int64_t i = 0; far == 0 && i < n; ++i) y[i] = static_cast<To>(static_cast<std::int32_t>(x[i]));
      if (far == 0) return;
    }
    for (std::int64_t i = 0; i < n; ++i) y[i] = convert<To>(x[i]);
  }
}

template <class From, class To> void loop(const void* from, void* to, std::int64_t n) {
  const From* x = static_cast<const From*>(from);
  To* y = static_cast<To*>(to);
  constexpr bool kByFloat = kIsHalf<To> ? !std::is_same_v<From, float> : kIsHalf<From> && !std::is_same_v<To, float>;
  if constexpr (!kByFloat && !kToInteger<From, To>) return block(x, y, n);
  for (std::int64_t i = 0; i < n; i += kBlock) {
    const std::int64_t m = n - i < kBlock ? n - i : kBlock;
    if constexpr (kByFloat) {
      float between[kBlock];
      block(x + i, between, m);
      block(between, y + i, m);
    } else if constexpr (kToInteger<From, To>) {
      block(x + i, y + i, m);
    }
  }
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

template <class... T> struct Types {};

/// Between integers that are no compute type.
template <class From, class... To> void install_whole(Kernels& k, DType from, Types<To...>) {
  int to = kComputes;
  ((k.whole[loop_type(from)][to++] = loop<From, To>), ...);
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
  if constexpr (kWhole) {
    constexpr Types<std::int32_t, std::int16_t, std::int8_t, std::uint8_t, Bool> kOthers;
    install_whole<std::int32_t>(k, DType::int32, kOthers);
    install_whole<std::int16_t>(k, DType::int16, kOthers);
    install_whole<std::int8_t>(k, DType::int8, kOthers);
    install_whole<std::uint8_t>(k, DType::uint8, kOthers);
    install_whole<Bool>(k, DType::bool_, kOthers);
  }
}

}  // namespace minnow::cpu::MINNOW_ISA
