// Results do not depend on settings of OpenMP by the environment or the host program.

#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <limits>
#include <omp.h>
#include <string>
#include <vector>
#include <minnow/tensor/internal.h>
#include "cpu_support.h"

namespace minnow::test {
namespace {

/// Memory for a result, filled so that elements that are not written are found.
Tensor nan_filled(const Shape& shape, DType dtype) {
  const Tensor t = blank(shape, dtype);
  for (std::int64_t i = 0; i < t.numel(); ++i) set(t, i, is_floating_point(dtype) ? std::nan("") : 99);
  return t;
}

Tensor product(DType dtype, const Shape& a, const Shape& b, bool transposed = false) {
  const Lay lay = transposed ? Lay::kReversed : Lay::kContiguous;
  const Tensor x = is_floating_point(dtype) ? reals(a, dtype) : numbers(a, dtype),
               y = is_floating_point(dtype) ? reals(b, dtype, lay) : numbers(b, dtype, lay);
  const Tensor out = nan_filled({a[0], a[1], b[2]}, dtype);
  const Tensor bias = is_floating_point(dtype) ? reals({b[2]}, dtype) : Tensor();
  backend().run(calls::Matmul{x, y, bias, out});
  return out;
}

/// Forward, gradient of the input, gradient of the weights and of the bias.
std::vector<Tensor> convolution(DType dtype, const Shape& x_shape, const Shape& w_shape, const Conv2dParams& p) {
  const auto out_size = [&](int d) {
    return (x_shape[2 + d] + 2 * p.padding[d] - p.dilation[d] * (w_shape[2 + d] - 1) - 1) / p.stride[d] + 1;
  };
  const Shape y_shape{x_shape[0], w_shape[0], out_size(0), out_size(1)};
  const Tensor x = reals(x_shape, dtype), w = reals(w_shape, dtype), bias = reals({w_shape[0]}, dtype),
               grad = reals(y_shape, dtype), y = nan_filled(y_shape, dtype), grad_x = nan_filled(x_shape, dtype),
               grad_w = nan_filled(w_shape, dtype), grad_bias = nan_filled({w_shape[0]}, dtype);
  backend().run(calls::Conv2d{x, w, bias, y, p});
  backend().run(calls::Conv2dBackwardInput{grad, w, grad_x, p});
  backend().run(calls::Conv2dBackwardWeight{grad, x, grad_w, grad_bias, p});
  return {y, grad_x, grad_w, grad_bias};
}

/// Every kind of operation that several threads compute.
std::vector<Tensor> results() {
  std::vector<Tensor> all;
  for (const DType dtype : {DType::float32, DType::bfloat16, DType::float16, DType::float64, DType::int64}) {
    all.push_back(product(dtype, {1, 200, 150}, {1, 150, 90}));
    all.push_back(product(dtype, {1, 70, 300}, {1, 300, 128}, true));
    all.push_back(product(dtype, {6, 40, 30}, {6, 30, 50}));
  }
  all.push_back(product(DType::float32, {1, 2, 1100}, {1, 1100, 1000}, true));
  all.push_back(product(DType::float32, {1, 500, 784}, {1, 784, 128}, true));
  const Tensor grad = reals({300, 64}), x = reals({300, 200}), grad_w = nan_filled({64, 200}, DType::float32),
               grad_bias = nan_filled({64}, DType::float32);
  backend().run(calls::LinearBackwardWeight{grad, x, grad_w, grad_bias});
  all.insert(all.end(), {grad_w, grad_bias});
  const auto add = [&](const std::vector<Tensor>& list) { all.insert(all.end(), list.begin(), list.end()); };
  add(convolution(DType::float32, {9, 16, 20, 20}, {16, 16, 3, 3}, {.padding = {1, 1}}));
  add(convolution(DType::float32, {9, 6, 30, 30}, {20, 6, 5, 5}, {.stride = {2, 2}}));
  add(convolution(DType::bfloat16, {5, 8, 20, 20}, {12, 8, 3, 3}, {.padding = {1, 1}}));
  add(convolution(DType::float64, {3, 3, 12, 12}, {4, 3, 3, 3}, {}));
  const Tensor big = reals({300, 700}), flipped = nan_filled({700, 300}, DType::float32);
  backend().run(calls::Copy{Tensor(big.storage(), big.dtype(), {700, 300}, {1, 700}), flipped});
  all.push_back(flipped);
  return all;
}

/// Whether four threads give the result of one.
bool all_right() {
  std::vector<Tensor> want;
  {
    const SerialRegion serial;
    want = results();
  }
  const int before = num_threads();
  set_num_threads(4);
  const std::vector<Tensor> have = results();
  set_num_threads(before);
  bool right = true;
  for (std::size_t i = 0; i < want.size(); ++i) right = right && same_bits(want[i], have[i]);
  return right;
}

class OpenMp : public ::testing::Test {
 protected:
  void TearDown() override {
    omp_set_dynamic(dynamic_);
    omp_set_max_active_levels(levels_);
    omp_set_num_threads(threads_);
  }

 private:
  int dynamic_ = omp_get_dynamic(), levels_ = omp_get_max_active_levels(), threads_ = omp_get_max_threads();
};

TEST_F(OpenMp, Usual) { EXPECT_TRUE(all_right()); }

TEST_F(OpenMp, DynamicTeams) {
  omp_set_dynamic(1);
  EXPECT_TRUE(all_right());
  omp_set_dynamic(0);
  EXPECT_TRUE(all_right());
  omp_set_dynamic(1);
  EXPECT_TRUE(all_right());
}

TEST_F(OpenMp, NoActiveLevels) {
  omp_set_max_active_levels(0);
  EXPECT_TRUE(all_right());
}

TEST_F(OpenMp, ThreadsOfTheHostProgram) {
  for (const int threads : {1, 2, 7}) {
    omp_set_num_threads(threads);
    EXPECT_TRUE(all_right()) << threads;
    EXPECT_EQ(omp_get_max_threads(), threads);
  }
}

TEST_F(OpenMp, InsideOfAParallelRegion) {
  std::vector<Tensor> want;
  {
    const SerialRegion serial;
    want = results();
  }
  const int before = num_threads();
  set_num_threads(4);
  for (const int levels : {1, 2}) {
    omp_set_max_active_levels(levels);
    int right = 0;
#pragma omp parallel num_threads(2) reduction(+ : right)
    {
      const std::vector<Tensor> have = results();
      for (std::size_t i = 0; i < want.size(); ++i) right += same_bits(want[i], have[i]) ? 1 : 0;
      if (omp_get_num_threads() == 1) right *= 2;
    }
    EXPECT_EQ(right, 2 * static_cast<int>(want.size())) << levels;
  }
  set_num_threads(before);
}

/// In a new process, where OpenMP reads the environment.
class OpenMpDeathTest : public ::testing::TestWithParam<std::pair<const char*, const char*>> {};

TEST_P(OpenMpDeathTest, Environment) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const auto& [name, value] = GetParam();
  const char* before = std::getenv(name);
  const std::string kept = before ? before : "";
  ::setenv(name, value, 1);
  EXPECT_EXIT(std::exit(all_right() ? 0 : 1), ::testing::ExitedWithCode(0), "");
  before ? ::setenv(name, kept.c_str(), 1) : ::unsetenv(name);
}

using Setting = std::pair<const char*, const char*>;
INSTANTIATE_TEST_SUITE_P(All, OpenMpDeathTest,
                         ::testing::Values(Setting("OMP_THREAD_LIMIT", "1"), Setting("OMP_THREAD_LIMIT", "3"),
                                           Setting("OMP_DYNAMIC", "true"), Setting("OMP_MAX_ACTIVE_LEVELS", "0"),
                                           Setting("OMP_NUM_THREADS", "2,1"), Setting("OMP_NUM_THREADS", "7"),
                                           Setting("OMP_WAIT_POLICY", "passive"), Setting("GOMP_SPINCOUNT", "0")),
                         [](const auto& setting) {
                           return setting.param.first + std::string("_") + std::to_string(setting.index);
                         });

}  // namespace
}  // namespace minnow::test
