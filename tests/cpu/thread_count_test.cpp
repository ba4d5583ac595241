// Products and convolutions have the same bits for any number of threads.

#include <gtest/gtest.h>

#include <cstdlib>
#include <random>
#include <string>
#include <minnow/tensor/internal.h>
#include "cpu_support.h"

namespace minnow::test {
namespace {

constexpr int kCounts[] = {2, 3, 4, 6, 8, 17};

struct Differences {
  int cases = 0;
  std::string first;

  /// Calls f with one thread and with each of kCounts.
  void compare(const std::string& name, const std::function<std::vector<Tensor>()>& f) {
    ++cases;
    const int before = num_threads();
    set_num_threads(1);
    const std::vector<Tensor> one = f();
    for (const int threads : kCounts) {
      set_num_threads(threads);
      const std::vector<Tensor> many = f();
      for (std::size_t i = 0; i < one.size() && first.empty(); ++i)
        if (!same_bits(one[i], many[i]))
          first = name + ", result " + std::to_string(i) + ", " + std::to_string(threads) + " threads";
    }
    set_num_threads(before);
  }
};

struct Product {
  DType dtype;
  std::int64_t batch, m, k, n;
  bool flip_a, flip_b;
};

Tensor matrices(DType dtype, std::int64_t batch, std::int64_t rows, std::int64_t cols, bool flip) {
  if (!flip) return reals({batch, rows, cols}, dtype);
  const Tensor t = reals({batch, cols, rows}, dtype);
  return Tensor(t.storage(), dtype, {batch, rows, cols}, {rows * cols, 1, rows});
}

void run(Differences& differences, const Product& p) {
  const Tensor a = matrices(p.dtype, p.batch, p.m, p.k, p.flip_a), b = matrices(p.dtype, p.batch, p.k, p.n, p.flip_b);
  const Tensor bias = reals({p.n}, p.dtype);
  differences.compare(std::string(name_of(p.dtype)) + " " + a.shape().str() + a.strides().str() + " " +
                          b.shape().str() + b.strides().str(),
                      [&] {
                        const Tensor out = blank({p.batch, p.m, p.n}, p.dtype);
                        backend().run(calls::Matmul{a, b, bias, out});
                        return std::vector<Tensor>{out};
                      });
}

struct Convolution {
  DType dtype;
  Shape x, w;
  Conv2dParams params;
};

void run(Differences& differences, const Convolution& c) {
  const Conv2dParams& p = c.params;
  const auto out = [&](int d) {
    return (c.x[2 + d] + 2 * p.padding[d] - p.dilation[d] * (c.w[2 + d] - 1) - 1) / p.stride[d] + 1;
  };
  const Shape y_shape{c.x[0], c.w[0], out(0), out(1)};
  const Tensor x = reals(c.x, c.dtype), w = reals(c.w, c.dtype), bias = reals({c.w[0]}, c.dtype),
               grad = reals(y_shape, c.dtype);
  const std::string name = std::string(name_of(c.dtype)) + " x " + c.x.str() + " w " + c.w.str() + " stride " +
                           std::to_string(p.stride[0]) + " " + std::to_string(p.stride[1]) + " padding " +
                           std::to_string(p.padding[0]) + " " + std::to_string(p.padding[1]) + " dilation " +
                           std::to_string(p.dilation[0]) + " groups " + std::to_string(p.groups);
  differences.compare(name, [&] {
    std::vector<Tensor> r{blank(y_shape, c.dtype), blank(c.x, c.dtype), blank(c.w, c.dtype), blank({c.w[0]}, c.dtype)};
    backend().run(calls::Conv2d{x, w, bias, r[0], p});
    backend().run(calls::Conv2dBackwardInput{grad, w, r[1], p});
    backend().run(calls::Conv2dBackwardWeight{grad, x, r[2], r[3], p});
    return r;
  });
}

class Draw {
 public:
  explicit Draw(unsigned seed) : random_(seed) {}
  std::int64_t operator()(std::int64_t low, std::int64_t high) {  // by hand: distributions differ between libraries
    return low + static_cast<std::int64_t>(random_() % static_cast<unsigned>(high - low + 1));
  }
  DType dtype() {
    const auto i = (*this)(0, 5);
    return i == 0 ? DType::float16 : i == 1 ? DType::bfloat16 : i == 2 ? DType::float64 : DType::float32;
  }

 private:
  std::mt19937 random_;
};

Differences products(int count, unsigned seed) {
  Differences d;
  for (const DType dtype : {DType::float32, DType::float64, DType::bfloat16})
    for (const bool flip : {false, true}) {
      run(d, Product{dtype, 1, 64, 2000, 64, flip, false});
      run(d, Product{dtype, 1, 3, 4099, 129, flip, true});
      run(d, Product{dtype, 1, 1, 3000, 1000, false, flip});
      run(d, Product{dtype, 1, 300, 1100, 17, flip, true});
    }
  Draw draw(seed);
  for (int i = 0; i < count; ++i) {
    const bool wide = draw(0, 3) == 0;
    const Product p{draw.dtype(),
                    draw(0, 4) == 0 ? draw(2, 20) : 1,
                    draw(1, wide ? 400 : 90),
                    draw(1, wide ? 300 : 3000),
                    draw(1, wide ? 500 : 90),
                    draw(0, 1) == 1,
                    draw(0, 1) == 1};
    if (p.batch * p.m * p.n * p.k < (1 << 23)) run(d, p);
  }
  return d;
}

Differences convolutions(int count, unsigned seed) {
  Differences d;
  run(d, Convolution{DType::float32, {1, 23, 2, 21}, {11, 23, 2, 3}, {.padding = {2, 2}}});
  run(d, Convolution{DType::float32, {1, 3, 1, 4}, {3, 3, 1, 3}, {.stride = {1, 2}, .padding = {0, 2}}});
  run(d, Convolution{DType::float32, {1, 16, 60, 50}, {32, 16, 3, 3}, {.padding = {1, 1}}});
  run(d, Convolution{DType::float32, {2, 16, 61, 50}, {32, 16, 5, 3}, {.stride = {2, 2}, .padding = {2, 1}}});
  run(d, Convolution{DType::float32, {1, 8, 60, 50}, {32, 8, 2, 2}, {.stride = {3, 3}, .dilation = {2, 2}}});
  run(d, Convolution{DType::float64, {1, 70, 40, 50}, {12, 70, 3, 3}, {.padding = {1, 1}}});
  run(d, Convolution{DType::float64, {1, 600, 7, 7}, {300, 600, 1, 1}, {}});
  Draw draw(seed);
  for (int i = 0; i < count; ++i) {
    const std::int64_t groups = draw(0, 3) == 0 ? draw(2, 3) : 1;
    Convolution c{draw.dtype(), {}, {}, {.groups = groups}};
    c.x = {draw(1, 12), groups * draw(1, 24), draw(1, 24), draw(1, 24)};
    c.w = {groups * draw(1, 24), c.x[1] / groups, draw(1, 4), draw(1, 4)};
    for (int k = 0; k < 2; ++k) {
      c.params.stride[k] = draw(1, 3);
      c.params.padding[k] = draw(0, c.w[2 + k]);
      c.params.dilation[k] = draw(0, 3) == 0 ? 2 : 1;
    }
    const auto fits = [&](int k) {
      return c.x[2 + k] + 2 * c.params.padding[k] >= c.params.dilation[k] * (c.w[2 + k] - 1) + 1;
    };
    if (fits(0) && fits(1)) run(d, c);
  }
  return d;
}

TEST(ThreadCount, ProductsHaveTheSameBits) {
  const Differences d = products(60, 1);
  EXPECT_GT(d.cases, 40);
  EXPECT_EQ(d.first, "");
}

TEST(ThreadCount, ConvolutionsHaveTheSameBits) {
  const Differences d = convolutions(50, 2);
  EXPECT_GT(d.cases, 30);
  EXPECT_EQ(d.first, "");
}

/// Without AVX-512, as on most desktops, in minnow and oneDNN.
TEST(ThreadCountDeathTest, SameBitsWithAvx2) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");  // a new process, in which oneDNN reads the environment
  if (!cpu::isa_supported(cpu::Isa::kAvx2)) GTEST_SKIP() << "this processor has no AVX2";
  ::setenv("ONEDNN_MAX_CPU_ISA", "AVX2", 1);
  EXPECT_EXIT(
      {
        cpu::use_isa(cpu::Isa::kAvx2);
        const std::string first = products(40, 3).first + convolutions(25, 4).first;
        std::fputs(first.c_str(), stderr);
        std::exit(first.empty() ? 0 : 1);
      },
      ::testing::ExitedWithCode(0), "");
  ::unsetenv("ONEDNN_MAX_CPU_ISA");
}

}  // namespace
}  // namespace minnow::test
