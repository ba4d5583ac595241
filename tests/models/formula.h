#pragma once

#include <cmath>
#include <cstdint>
#include <string>
#include <string_view>
#include <minnow/tensor/create.h>

/// The weights and inputs of tests/golden/make_models.py: a formula of their names.
namespace minnow::test {

inline std::uint32_t fnv1a(std::string_view text) {
  std::uint32_t h = 2166136261;
  for (const char c : text) h = (h ^ static_cast<unsigned char>(c)) * 16777619;
  return h;
}

/// Element i: a multiple of 2^-24 in [0, 1).
inline double uniform(std::uint32_t hash_of_name, std::int64_t i) {
  std::uint32_t h = static_cast<std::uint32_t>(i) * 0x9E3779B9 + hash_of_name;
  h = (h ^ h >> 16) * 0x7FEB352D;
  h = (h ^ h >> 15) * 0x846CA68B;
  h ^= h >> 16;
  return (h >> 8) * 0x1p-24;
}

/// Element i is f(uniform(i)).
template <class T, class F> Tensor filled(const std::string& name, const Shape& shape, const F& f) {
  Tensor t = empty(shape, {.dtype = dtype_of<T>()});
  const std::uint32_t hash = fnv1a(name);
  T* const data = t.data<T>();
  for (std::int64_t i = 0; i < t.numel(); ++i) data[i] = static_cast<T>(f(uniform(hash, i)));
  return t;
}

inline Tensor symmetric(const std::string& name, const Shape& shape) {
  return filled<float>(name, shape, [](double u) { return 2 * u - 1; });
}

inline Tensor integers(const std::string& name, double most, const Shape& shape) {
  return filled<std::int64_t>(name, shape, [&](double u) { return u * most; });
}

/// gain: of the weights of convolutions.
inline Tensor weight(const std::string& name, const Shape& shape, double gain) {
  if (shape.rank() > 1) {
    double fan_in = 1;
    for (int d = 1; d < shape.rank(); ++d) fan_in *= static_cast<double>(shape[d]);
    const double bound = std::sqrt((shape.rank() == 4 ? gain : 3) / fan_in);
    return filled<float>(name, shape, [&](double u) { return (2 * u - 1) * bound; });
  }
  if (name.ends_with("weight") || name.ends_with("running_var"))
    return filled<float>(name, shape, [](double u) { return 0.5 + u; });
  return filled<float>(name, shape, [](double u) { return 0.1 * (2 * u - 1); });
}

}  // namespace minnow::test
