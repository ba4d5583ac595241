#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>
#include <minnow/tensor/cpu/runtime/isa.h>

namespace minnow::test {

/// A test that runs with the loops of every instruction set of this machine.
class EveryIsa : public ::testing::TestWithParam<cpu::Isa> {
 protected:
  void SetUp() override {
    if (!cpu::use_isa(GetParam())) GTEST_SKIP() << "this machine has no such instruction set";
  }
  void TearDown() override { cpu::use_isa(before_); }

 private:
  cpu::Isa before_ = cpu::current_isa();
};

inline std::string isa_name(const ::testing::TestParamInfo<cpu::Isa>& info) {
  constexpr const char* kNames[cpu::kIsas] = {"baseline", "avx2", "avx512"};
  return kNames[static_cast<int>(info.param)];
}
inline auto every_isa() { return ::testing::Values(cpu::Isa::kBaseline, cpu::Isa::kAvx2, cpu::Isa::kAvx512); }

/// Equal, both NaN, or within the tolerance of a float32 kernel against float64.
inline bool close(double got, double expected, double rtol = 1.3e-6, double atol = 1e-5) {
  if (std::isnan(expected)) return std::isnan(got);
  if (std::isinf(expected) || std::isinf(got)) return got == expected;
  return std::fabs(got - expected) <= atol + rtol * std::fabs(expected);
}

/// Numbers at which numeric code often fails: limits, powers of two of either sign, and a dense range around 0.
inline std::vector<float> hard_floats() {
  constexpr float kInf = std::numeric_limits<float>::infinity();
  std::vector<float> x = {0.0f,
                          -0.0f,
                          1e-45f,
                          -1e-45f,
                          1e-40f,
                          -1e-40f,
                          1.17549435e-38f,
                          3.4e38f,
                          -3.4e38f,
                          kInf,
                          -kInf,
                          std::numeric_limits<float>::quiet_NaN(),
                          0.5f,
                          -0.5f,
                          1.0f,
                          -1.0f,
                          3.0f,
                          -3.0f,
                          6.0f,
                          2.0f,
                          1.5f,
                          2.5f,
                          -1.5f,
                          88.7f,
                          88.8f,
                          -87.4f,
                          -103.9f,
                          -104.1f,
                          127.5f,
                          128.5f};
  for (int e = -149; e < 128; e += 3) {
    x.push_back(std::ldexp(1.37f, e));
    x.push_back(-std::ldexp(1.71f, e));
  }
  for (int i = -1500; i <= 1500; ++i) x.push_back(static_cast<float>(i) * 0.0137f);
  for (int i = -300; i <= 300; ++i) x.push_back(static_cast<float>(i) * 0.71f);
  return x;
}

}  // namespace minnow::test
