#pragma once

// Functions of device code that involve no other thread.  Included by device.h.

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <emulator/perturb.h>
#include <type_traits>

namespace emulator {

/// The types of CUDA's atomic functions, of which there is none for int64.
template <class T>
concept Added = std::is_same_v<T, int> || std::is_same_v<T, unsigned> || std::is_same_v<T, unsigned long long> ||
    std::is_same_v<T, float> || std::is_same_v<T, double>;
template <class T>
concept Compared = std::is_same_v<T, int> || std::is_same_v<T, unsigned> || std::is_same_v<T, unsigned long long> ||
    std::is_same_v<T, long long>;
template <class T>
concept Swapped = std::is_same_v<T, int> || std::is_same_v<T, unsigned> || std::is_same_v<T, unsigned long long>;

/// What an atomic function finds: other threads may be there first.
template <class T> T value_of(T* at) {
  pause_thread();
  return *at;
}
template <class T> T replace(T* at, T value) {
  const T before = *at;
  *at = value;
  return before;
}

}  // namespace emulator

template <emulator::Added T> T atomicAdd(T* at, std::type_identity_t<T> value) {
  return emulator::replace(at, static_cast<T>(emulator::value_of(at) + value));
}
inline int atomicSub(int* at, int value) { return emulator::replace(at, emulator::value_of(at) - value); }
inline unsigned atomicSub(unsigned* at, unsigned value) {
  return emulator::replace(at, emulator::value_of(at) - value);
}
template <emulator::Compared T> T atomicMax(T* at, std::type_identity_t<T> value) {
  return emulator::replace(at, std::max(emulator::value_of(at), value));
}
template <emulator::Compared T> T atomicMin(T* at, std::type_identity_t<T> value) {
  return emulator::replace(at, std::min(emulator::value_of(at), value));
}
template <emulator::Swapped T> T atomicOr(T* at, std::type_identity_t<T> value) {
  return emulator::replace(at, emulator::value_of(at) | value);
}
template <emulator::Swapped T> T atomicAnd(T* at, std::type_identity_t<T> value) {
  return emulator::replace(at, emulator::value_of(at) & value);
}
template <emulator::Swapped T> T atomicExch(T* at, std::type_identity_t<T> value) {
  return emulator::replace(at, value);
}
inline float atomicExch(float* at, float value) { return emulator::replace(at, value); }
template <emulator::Swapped T> T atomicCAS(T* at, std::type_identity_t<T> expected, std::type_identity_t<T> value) {
  const T before = emulator::value_of(at);
  return emulator::replace(at, before == expected ? value : before);
}

template <class T> T __ldg(const T* at) { return *at; }
inline int __float_as_int(float x) { return std::bit_cast<int>(x); }
inline unsigned __float_as_uint(float x) { return std::bit_cast<unsigned>(x); }
inline float __int_as_float(int x) { return std::bit_cast<float>(x); }
inline float __uint_as_float(unsigned x) { return std::bit_cast<float>(x); }
inline long long __double_as_longlong(double x) { return std::bit_cast<long long>(x); }
inline double __longlong_as_double(long long x) { return std::bit_cast<double>(x); }
inline int __popc(unsigned x) { return std::popcount(x); }
inline int __popcll(unsigned long long x) { return std::popcount(x); }
inline int __clz(int x) { return std::countl_zero(static_cast<unsigned>(x)); }
inline int __ffs(int x) { return x ? std::countr_zero(static_cast<unsigned>(x)) + 1 : 0; }
inline unsigned __umulhi(unsigned a, unsigned b) {
  return static_cast<unsigned>((static_cast<unsigned long long>(a) * b) >> 32);
}
__extension__ using emulator_uint128 = unsigned __int128;
inline unsigned long long __umul64hi(unsigned long long a, unsigned long long b) {
  return static_cast<unsigned long long>((static_cast<emulator_uint128>(a) * b) >> 64);
}
inline float __fdividef(float a, float b) { return emulator::perturbed(a / b); }
inline float __expf(float x) { return emulator::perturbed(std::exp(x)); }
inline float __logf(float x) { return emulator::perturbed(std::log(x)); }
inline float rsqrtf(float x) { return emulator::perturbed(1 / std::sqrt(x)); }
inline double rsqrt(double x) { return emulator::perturbed(1 / std::sqrt(x)); }

// CUDA has these in the global namespace.
template <class T>
requires std::is_arithmetic_v<T> T min(T a, T b) { return b < a ? b : a; }
template <class T>
requires std::is_arithmetic_v<T> T max(T a, T b) { return a < b ? b : a; }
