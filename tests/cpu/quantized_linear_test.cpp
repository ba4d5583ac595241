#include <minnow/tensor/cpu/runtime/library.h>
#include "cpu_support.h"

namespace minnow {
namespace {

using test::backend;
using test::blank;
using test::get;
using test::set;

class QuantizedLinearCpu : public test::EveryIsa {};
INSTANTIATE_TEST_SUITE_P(Isa, QuantizedLinearCpu, test::every_isa(), test::isa_name);

Tensor bytes(const Shape& shape) {
  const Tensor t = blank(shape, DType::int8);
  std::uint32_t seed = 7;
  for (std::int64_t i = 0; i < t.numel(); ++i) {
    seed = seed * 1664525u + 1013904223u;
    set(t, i, static_cast<int>(seed >> 24) - 128);
  }
  return t;
}

/// Row-major numbers of [-1, 3): 0 is not in the middle.
Tensor numbers(const Shape& shape) {
  const Tensor t = test::reals(shape, DType::float32, test::Lay::kContiguous, 2);
  for (std::int64_t i = 0; i < t.numel(); ++i) set(t, i, get(t, i) + 1);
  return t;
}

/// The definition, in whole numbers.
class Expected {
 public:
  Expected(const Tensor& x, const Tensor& w, const Tensor& scale) : w_(w), scale_(scale), in_(x.size(1)) {
    for (std::int64_t row = 0; row < x.size(0); ++row) round_row(x, row * in_);
  }
  double operator()(std::int64_t row, std::int64_t out) const {
    double sum = 0;
    const auto* const w = static_cast<const std::int8_t*>(w_.raw_data()) + out * in_;
    for (std::int64_t k = 0; k < in_; ++k) sum += steps_[static_cast<std::size_t>(row * in_ + k)] * w[k];
    return sum * by_[static_cast<std::size_t>(row)] * get(scale_, out);
  }

 private:
  void round_row(const Tensor& x, std::int64_t first) {
    float least = 0, most = 0;
    for (std::int64_t i = first; i < first + in_; ++i) {
      least = std::min(least, static_cast<float>(get(x, i)));
      most = std::max(most, static_cast<float>(get(x, i)));
    }
    const int highest = cpu::library::adds_bytes_exactly() ? 255 : 127;
    const auto by = static_cast<float>((static_cast<double>(most) - static_cast<double>(least)) / highest);
    const double from_least = -static_cast<double>(least) / by, from_most = highest - static_cast<double>(most) / by;
    const double zero = std::nearbyint(from_least < highest - static_cast<double>(most) / by ? from_least : from_most);
    const float factor = 1.0f / by;
    for (std::int64_t i = first; i < first + in_; ++i) {
      const float scaled = static_cast<float>(get(x, i)) * factor;
      steps_.push_back(std::clamp(std::nearbyint(static_cast<double>(scaled)) + zero, 0.0, double(highest)) - zero);
    }
    by_.push_back(static_cast<double>(by));
  }

  Tensor w_, scale_;
  std::int64_t in_;
  std::vector<double> by_, steps_;
};

struct Case {
  std::int64_t rows, in, out;
  bool bias = true, add = false;
  Activation activation = Activation::none;
};

Tensor run(const Case& c, const Tensor& x, const Tensor& w, const Tensor& scale, const Tensor& bias) {
  const Tensor y = blank({c.rows, c.out});
  for (std::int64_t i = 0; i < y.numel(); ++i) set(y, i, 0.5);
  const int before = num_threads();
  backend().run(calls::QuantizedLinear{x, w, scale, bias, y, c.add, c.activation});
  set_num_threads(before);
  return y;
}

void check(const Case& c) {
  const Tensor x = numbers({c.rows, c.in}), w = bytes({c.out, c.in}), scale = blank({c.out});
  for (std::int64_t j = 0; j < c.out; ++j) set(scale, j, 0.001 * static_cast<double>(1 + j % 5));
  const Tensor bias = c.bias ? numbers({c.out}) : Tensor();
  const Tensor y = run(c, x, w, scale, bias);
  const Expected expected(x, w, scale);
  const std::int64_t step = c.rows * c.out > 20000 ? 37 : 1;
  for (std::int64_t i = 0; i < y.numel(); i += step) {
    double want = expected(i / c.out, i % c.out) + (c.bias ? get(bias, i % c.out) : 0) + (c.add ? 0.5 : 0);
    if (c.activation == Activation::relu) want = std::max(want, 0.0);
    if (c.activation == Activation::gelu_tanh)
      want *= 0.5 * (1 + std::tanh(0.7978845608028654 * (want + 0.044715 * want * want * want)));
    ASSERT_TRUE(test::close(get(y, i), want, 2e-6, 2e-5))
        << c.rows << " " << c.in << " " << c.out << ", element " << i << ": " << get(y, i) << ", expected " << want;
  }
  const int before = num_threads();
  for (const int threads : {1, 3, 8}) {
    set_num_threads(threads);
    EXPECT_TRUE(test::same_bits(y, run(c, x, w, scale, bias))) << threads << " threads";
  }
  set_num_threads(before);
}

TEST_P(QuantizedLinearCpu, IsTheSumOfWholeNumbers) {
  check({1, 1, 1});
  check({3, 5, 2, false});
  check({2, 64, 256, true, true});
  check({33, 100, 300, false, true});
  check({65, 257, 513});
  check({130, 70, 40, true, false, Activation::relu});
  check({7, 40, 600, true, false, Activation::gelu_tanh});
  check({5, 40, 600, false, false, Activation::relu});
}

TEST_P(QuantizedLinearCpu, LargeSumsAreExact) {
  const Tensor x = blank({2, 65536}), w = blank({3, 65536}, DType::int8), scale = blank({3}), y = blank({2, 3});
  for (std::int64_t i = 0; i < x.numel(); ++i) set(x, i, i < 65536 ? 1 : -1);
  for (std::int64_t i = 0; i < w.numel(); ++i) set(w, i, i < 65536 ? -128 : 127);
  for (std::int64_t j = 0; j < 3; ++j) set(scale, j, 1);
  backend().run(calls::QuantizedLinear{x, w, scale, View(), y});
  // 127.5 steps on each side of 0: the bytes of 1 and -1 are 127 or 128 from it.
  EXPECT_NEAR(get(y, 0), -128.0 * 65536, 128 * 65536 / 100.0);
  EXPECT_NEAR(get(y, 4), -127.0 * 65536, 128 * 65536 / 100.0);
}

// An outlier or a NaN in one row of a batch changed the others.
TEST_P(QuantizedLinearCpu, RowsDoNotDependOnEachOther) {
  const Tensor x = numbers({70, 200}), w = bytes({300, 200}), scale = numbers({300}), all = blank({70, 300}),
               again = blank({70, 300});
  backend().run(calls::QuantizedLinear{x, w, scale, View(), all});
  for (const double odd : {1e6, -1e30, std::nan(""), HUGE_VAL}) {
    set(x, 3 * 200 + 7, odd);
    backend().run(calls::QuantizedLinear{x, w, scale, View(), again});
    for (std::int64_t row = 0; row < 70; ++row)
      if (row != 3) { ASSERT_TRUE(test::same_bits(all.narrow(0, row, 1), again.narrow(0, row, 1))) << odd << row; }
  }
}

TEST_P(QuantizedLinearCpu, NotFiniteInputsAreSeen) {
  const Tensor w = bytes({4, 200}), scale = numbers({4}), y = blank({3, 4});
  for (const double bad : {std::nan(""), HUGE_VAL, -HUGE_VAL})
    for (const std::int64_t at : {0, 63, 64, 599}) {
      const Tensor x = numbers({3, 200});
      set(x, at, bad);
      backend().run(calls::QuantizedLinear{x, w, scale, View(), y});
      for (std::int64_t i = 0; i < y.numel(); ++i)
        ASSERT_EQ(std::isnan(get(y, i)), i / 4 == at / 200) << bad << " at " << at;
    }
  const Tensor zeros = blank({3, 200});
  backend().run(calls::QuantizedLinear{zeros, w, scale, View(), y});
  for (std::int64_t i = 0; i < y.numel(); ++i) EXPECT_EQ(get(y, i), 0);
  const Tensor huge = blank({3, 200});
  set(huge, 0, 3e38), set(huge, 1, -3e38);
  backend().run(calls::QuantizedLinear{huge, w, blank({4}), View(), y});
  for (std::int64_t i = 0; i < y.numel(); ++i) EXPECT_EQ(get(y, i), 0);
}

TEST_P(QuantizedLinearCpu, WrittenWeightsAreTakenAnew) {
  const Tensor x = numbers({2, 3}), w = bytes({4, 3}), scale = numbers({4}), y = blank({2, 4}), again = blank({2, 4});
  backend().run(calls::QuantizedLinear{x, w, scale, View(), y});
  for (std::int64_t i = 0; i < w.numel(); ++i) set(w, i, -1 - get(w, i));
  w.storage()->bump_version();
  backend().run(calls::QuantizedLinear{x, w, scale, View(), again});
  const Expected expected(x, w, scale);
  for (std::int64_t i = 0; i < y.numel(); ++i)
    EXPECT_TRUE(test::close(get(again, i), expected(i / 4, i % 4), 2e-6, 2e-5));
}

}  // namespace
}  // namespace minnow
