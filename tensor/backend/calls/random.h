#pragma once

#include <minnow/tensor/backend/calls/call.h>

namespace minnow::detail::calls {

// Random numbers: element i (row-major) depends on (state, i) only.  out: contiguous.

struct Uniform {
  static constexpr const char* kName = "uniform";
  PhiloxState state;
  const View& out;
  double low, high;
};

struct Normal {
  static constexpr const char* kName = "normal";
  PhiloxState state;
  const View& out;
  double mean, std;
};

/// Integers in [low, high).
struct Randint {
  static constexpr const char* kName = "randint";
  PhiloxState state;
  const View& out;
  std::int64_t low, high;
};

/// Bool: true with probability p.
struct Bernoulli {
  static constexpr const char* kName = "bernoulli";
  PhiloxState state;
  const View& out;
  double p;
};

/// Exponentially distributed: -log(u) / rate, above 0.
struct Exponential {
  static constexpr const char* kName = "exponential";
  PhiloxState state;
  const View& out;
  double rate;
};

}  // namespace minnow::detail::calls
