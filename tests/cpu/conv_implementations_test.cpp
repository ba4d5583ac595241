#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <map>
#include <random>
#include <sstream>
#include <minnow/minnow.h>
#include <minnow/tensor/cpu/convolution/conv_parts.h>
#include <minnow/tensor/cpu/runtime/isa.h>
#include <minnow/tensor/cpu/runtime/library.h>

#include "../support/sanitizer.h"

// oneDNN answers some sizes and layouts with plain loops ("ref:any"), which take hundreds of times as long as its
// kernels. What computes a convolution is looked at by name: times say less, and take longer.

namespace minnow {
namespace {

constexpr cpu::ConvDirection kDirections[] = {cpu::ConvDirection::forward, cpu::ConvDirection::backward_input,
                                              cpu::ConvDirection::backward_weight};

/// Which implementations were met, and what is wrong.
struct Walk {
  std::map<std::string, std::int64_t> names;
  std::int64_t convolutions = 0, unfolded = 0;
  std::string faults;

  void visit(const Conv2dParams& p, const Shape& x, const Shape& w, DType dtype, const std::string& what) {
    Shape y{x[0], w[0], 0, 0};
    for (int d = 0; d < 2; ++d)
      y[2 + d] = (x[2 + d] + 2 * p.padding[d] - p.dilation[d] * (w[2 + d] - 1) - 1) / p.stride[d] + 1;
    for (const auto direction : kDirections) {
      const auto found = cpu::conv_implementations(direction, dtype, p, x, w, y);
      ++convolutions;
      bool is_fast = !found.empty();
      for (const std::string& name : found) {
        ++names[name];
        unfolded += name == "unfolded";
        is_fast = is_fast && name.find("ref") == std::string::npos;
      }
      if (!is_fast && faults.size() < 2000) {
        std::ostringstream fault;
        fault << what << ": direction " << static_cast<int>(direction) << ", " << name_of(dtype) << x << w << '\n';
        faults += fault.str();
      }
    }
  }
};

Walk models() {
  Walk walk;
  std::ifstream file(MINNOW_TEST_DIR "/cpu/model_convolutions.txt");
  std::int64_t c = 0, h = 0, w = 0, out = 0, kh = 0, kw = 0, stride = 0, ph = 0, pw = 0, dilation = 0, groups = 0,
               lines = 0;
  for (std::string names; file >> c >> h >> w >> out >> kh >> kw >> stride >> ph >> pw >> dilation >> groups >> names;
       ++lines)
    for (const std::int64_t batch : {1, 2, 4, 8, 16, 32})
      for (const DType dtype : {float32, bfloat16})
        walk.visit({{stride, stride}, {ph, pw}, {dilation, dilation}, groups}, {batch, c, h, w},
                   {out, c / groups, kh, kw}, dtype, names);
  EXPECT_EQ(lines, 432);
  return walk;
}

// What the library chooses is the same with sanitizers, which look into memory: fewer do there.
constexpr int kRandom = test::kSpeedCounts ? 10000 : 1500;

Walk random_sizes(int count) {
  std::mt19937_64 bits(5);
  const auto one_of = [&](std::initializer_list<std::int64_t> numbers) {
    return *(numbers.begin() + bits() % numbers.size());
  };
  Walk walk;
  while (count > 0) {
    const bool is_flat = one_of({0, 0, 1}) == 1, is_depthwise = one_of({0, 0, 0, 0, 0, 1}) == 1;
    const std::int64_t groups = is_depthwise ? one_of({8, 16, 17, 32, 72, 144}) : one_of({1, 1, 1, 2, 3, 4, 8, 32});
    const std::int64_t in = is_depthwise ? 1 : one_of({1, 2, 3, 4, 5, 8, 12, 16, 24, 32, 40, 64, 96, 130, 160, 256}),
                       out = is_depthwise ? one_of({1, 1, 2})
                                          : one_of({1, 2, 3, 4, 5, 8, 12, 16, 24, 32, 40, 64, 96, 130, 192});
    Conv2dParams p;
    p.groups = groups;
    Shape x{one_of({1, 2, 3, 4, 5, 8, 9, 16, 32}), groups * in, 1, 1}, w{groups * out, in, 1, 1};
    for (int d = is_flat ? 1 : 0; d < 2; ++d) {
      x[2 + d] = one_of({1, 2, 5, 7, 8, 9, 13, 14, 17, 28, 31, 33, 56, 64, 100});
      w[2 + d] = one_of({1, 1, 2, 3, 3, 3, 5, 7, 11});
      p.stride[d] = one_of({1, 1, 1, 2, 3, 4});
      p.padding[d] = one_of({0, 1, 2, 3, 5});
      p.dilation[d] = one_of({1, 1, 1, 2, 3});
    }
    const auto fits = [&](int d) { return x[2 + d] + 2 * p.padding[d] >= p.dilation[d] * (w[2 + d] - 1) + 1; };
    if (!fits(0) || !fits(1)) continue;
    walk.visit(p, x, w, one_of({0, 1}) == 1 ? bfloat16 : float32, "random");
    --count;
  }
  return walk;
}

void expect_fast(const Walk& walk) {
  EXPECT_EQ(walk.faults, "");
  EXPECT_LE(walk.unfolded * 50, walk.convolutions);
  std::cout << walk.convolutions << " convolutions:";
  for (const auto& [name, count] : walk.names) std::cout << "  " << name << ' ' << count;
  std::cout << '\n';
}

/// Products of all kinds and recurrent layers of a few sizes: what has no kernel is counted.
std::string slow_products() {
  const NoGradGuard no_grad;
  for (const std::int64_t m : {1, 3, 17, 64, 130})
    for (const std::int64_t n : {1, 2, 31, 64, 257})
      for (const std::int64_t k : {1, 5, 33, 128}) {
        for (const DType dtype : {float32, bfloat16, float16}) {
          const Tensor a = ones({2, m, k}, {.dtype = dtype}), b = ones({2, k, n}, {.dtype = dtype});
          (void)matmul(a, b);
          (void)matmul(a.transpose(1, 2).contiguous().transpose(1, 2), b.transpose(1, 2).contiguous().transpose(1, 2));
          (void)linear(a, b(0).transpose(0, 1).contiguous(), ones({n}, {.dtype = dtype}));
        }
        nn::Sequential net(nn::Linear(k, n));
        nn::quantize_dynamic_(net);
        (void)net(ones({m, k}));
      }
  for (const DType dtype : {float32, bfloat16}) {
    nn::LSTM lstm(24, 40);
    lstm.to(dtype);
    (void)lstm(ones({5, 3, 24}, {.dtype = dtype}));
  }
  std::string slow;
  for (const profile::SlowPath& path : profile::slow_paths()) slow += path.op + ": " + path.why + "\n";
  return slow;
}

TEST(ConvImplementations, ConvolutionsOfModelsRunInKernels) { expect_fast(models()); }

TEST(ConvImplementations, RandomConvolutionsRunInKernels) { expect_fast(random_sizes(kRandom)); }

TEST(ConvImplementations, ProductsRunInKernels) { EXPECT_EQ(slow_products(), ""); }

/// Without AVX-512, as on most desktops, in minnow and oneDNN.
TEST(ConvImplementationsDeathTest, RunInKernelsWithAvx2) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");  // a new process, in which oneDNN reads the environment
  if (!cpu::isa_supported(cpu::Isa::kAvx2)) GTEST_SKIP() << "this processor has no AVX2";
  ::setenv("ONEDNN_MAX_CPU_ISA", "AVX2", 1);
  EXPECT_EXIT(
      {
        cpu::use_isa(cpu::Isa::kAvx2);
        expect_fast(models());
        expect_fast(random_sizes(kRandom));
        EXPECT_EQ(slow_products(), "");
        std::exit(::testing::Test::HasFailure() || cpu::library::has_half(DType::bfloat16) ? 1 : 0);
      },
      ::testing::ExitedWithCode(0), "");
  ::unsetenv("ONEDNN_MAX_CPU_ISA");
}

TEST(ConvImplementations, SlowPathsAreCountedAndToldOnce) {
  const auto before = profile::slow_paths().size();
  for (int i = 0; i < 3; ++i) profile::detail::note_slow_path("some_operation", "there is no kernel for it");
  const auto paths = profile::slow_paths();
  ASSERT_EQ(paths.size(), before + 1);
  EXPECT_EQ(paths.back().op, "some_operation");
  EXPECT_EQ(paths.back().count, 3);
}

TEST(ConvImplementationsDeathTest, SlowPathsAreWarnedAboutWithTheirLine) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  ::setenv("MINNOW_WARN_SLOW", "1", 1);
  EXPECT_EXIT(
      {
        const detail::CallSite site("matmul", {"train.cpp", 42});
        for (int i = 0; i < 2; ++i) profile::detail::note_slow_path("product", "there is no kernel for it");
        std::exit(0);
      },
      ::testing::ExitedWithCode(0), "matmul is slow: there is no kernel for it  .train.cpp:42.\n$");
  ::unsetenv("MINNOW_WARN_SLOW");
}

}  // namespace
}  // namespace minnow
