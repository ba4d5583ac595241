#include <minnow/ops/detail/cross_entropy.h>
#include <minnow/ops/detail/softmax.h>
#include <minnow/tensor/error.h>
#include <minnow/tensor/raw/view.h>
#include <minnow/tensor/runtime/stream.h>

#include "rows.h"

// Row lengths for every algorithm of a device, and other dimensions than the last, against the CPU in float64.

namespace minnow::test {
namespace {

class RowsSoftmax : public DeviceTest {};
INSTANTIATE_TEST_SUITE_P(Devices, RowsSoftmax, all_devices(), device_test_name);

struct SoftmaxLayout {
  Shape shape;
  int dim;
};
const std::vector<SoftmaxLayout>& softmax_layouts() {
  static const std::vector<SoftmaxLayout> all{
      {{11, 5}, 1},   {{3, 33}, 1},    {{3, 200}, 1},    {{3, 1000}, 1}, {{2, 1025}, 1}, {{2, 5000}, 1},
      {{2, 9001}, 1}, {{4, 33, 5}, 1}, {{2, 700, 3}, 1}, {{6, 400}, 0},  {{3, 40}, 1},   {{3, 1028}, 1},
      {{3, 2048}, 1}, {{2, 4000}, 1},  {{3, 8192}, 1},   {{3, 9008}, 1}, {{5, 1}, 1},    {{2, 3, 4, 5}, 1}};
  return all;
}

std::string name_of_case(const char* op, const SoftmaxLayout& l, DType dtype, bool log) {
  return std::string(log ? "log_" : "") + op + " " + std::string(name_of(dtype)) + l.shape.str() + " over " +
         std::to_string(l.dim);
}

TEST_P(RowsSoftmax, ForwardAndBackward) {
  for (const DType dtype : {DType::float32, DType::float64, DType::float16, DType::bfloat16})
    for (const SoftmaxLayout& l : softmax_layouts())
      for (const bool log : {false, true}) {
        const Tensor x = made(l.shape, dtype, [](std::int64_t i) { return 4 * mixed(i); });
        const Tensor g = made(l.shape, dtype, [](std::int64_t i) { return mixed(i + 1000000); });
        const Tensor y = raw::softmax(on(x, device()), l.dim, log);
        expect_agrees(y, raw::softmax(exact(x), l.dim, log), name_of_case("softmax", l, dtype, log));
        const Tensor saved = raw::cast(to_host(y), dtype);
        const Tensor got = raw::softmax_backward(on(g, device()), y, l.dim, log);
        expect_agrees(got, raw::softmax_backward(exact(g), exact(saved), l.dim, log),
                      name_of_case("softmax_backward", l, dtype, log), is_half(dtype) ? 100 : 1);
      }
}

Tensor targets(std::int64_t n, std::int64_t classes) {
  return made({n}, DType::int64, [&](std::int64_t i) { return i % 5 == 3 ? -100.0 : double(i * 7919 % classes); });
}

// Rows of whole vectors that begin at no multiple of 16 bytes.
TEST_P(RowsSoftmax, RowsThatAreNotAligned) {
  for (const DType dtype : {DType::float32, DType::float64, DType::float16, DType::bfloat16})
    for (const Shape& shape : {Shape{3, 64}, Shape{3, 1000}, Shape{3, 9008}}) {
      const Strides strides{shape[1], 1};
      const auto moved = [&](const Tensor& whole) { return raw::alias(whole, shape, strides, 1); };
      const Tensor x = made({shape.numel() + 1}, dtype, [](std::int64_t i) { return 4 * mixed(i); });
      const Tensor g = made({shape.numel() + 1}, dtype, [](std::int64_t i) { return mixed(i + 1000000); });
      const Tensor there = on(x, device()), grad = on(g, device());
      const std::string name = std::string(name_of(dtype)) + shape.str();
      const Tensor y = raw::softmax(moved(there), 1, false);
      expect_agrees(y, raw::softmax(exact(moved(x)), 1, false), "softmax " + name);
      expect_agrees(raw::softmax_backward(moved(grad), y, 1, false),
                    raw::softmax_backward(exact(moved(g)), exact(to_host(y)), 1, false), "softmax_backward " + name,
                    is_half(dtype) ? 100 : 1);
      const Tensor target = targets(3, shape[1]);
      expect_agrees(raw::cross_entropy(moved(there), on(target, device())).losses,
                    raw::cross_entropy(exact(moved(x)), target).losses, "cross_entropy " + name);
    }
}

TEST_P(RowsSoftmax, InfinitiesAndNan) {
  const double infinity = HUGE_VAL;
  for (const SoftmaxLayout& l : {SoftmaxLayout{{4, 40}, 1}, SoftmaxLayout{{4, 9001}, 1}, SoftmaxLayout{{4, 40, 3}, 1}})
    for (const bool log : {false, true}) {
      const std::int64_t row = l.shape.numel() / 4;
      const Tensor x = made(l.shape, DType::float32, [&](std::int64_t i) {
        if (i / row == 0) return -infinity;
        if (i / row == 1) return i % row < row / 2 ? -infinity : mixed(i);
        if (i / row == 2) return i % row == row - 1 ? infinity : mixed(i);
        return i % row == 7 ? std::nan("") : mixed(i);
      });
      expect_agrees(raw::softmax(on(x, device()), l.dim, log), raw::softmax(exact(x), l.dim, log),
                    name_of_case("softmax", l, DType::float32, log));
    }
}

TEST_P(RowsSoftmax, CrossEntropy) {
  for (const DType dtype : {DType::float32, DType::float64, DType::float16, DType::bfloat16})
    for (const std::int64_t classes : {1, 10, 1000, 1500, 20000, 20003}) {
      const std::int64_t n = classes > 2000 ? 4 : 20;
      const std::string name = "cross_entropy " + std::string(name_of(dtype)) + " of " + std::to_string(classes);
      const Tensor x = made({n, classes}, dtype, [](std::int64_t i) { return 4 * mixed(i); });
      const Tensor target = targets(n, classes), there = on(target, device());
      const auto want = raw::cross_entropy(exact(x), target);
      const auto got = raw::cross_entropy(on(x, device()), there);
      expect_agrees(got.losses, want.losses, name);
      expect_agrees(got.exp_sums, want.exp_sums, name);
      const Tensor g = made({n}, got.losses.dtype(), [](std::int64_t i) { return mixed(i + 99); });
      const Tensor sums = to_host(got.exp_sums);
      expect_agrees(raw::cross_entropy_backward(on(g, device()), on(x, device()), there, got.exp_sums),
                    raw::cross_entropy_backward(exact(g), exact(x), target, exact(sums)), name + " backward",
                    is_half(dtype) ? 100 : 1);
    }
}

std::vector<double> doubles_of(const Tensor& t) { return to_host(t).to_vector<double>(); }

// Totals of few rows and of more than one block, or item of work, combines.
TEST_P(RowsSoftmax, CrossEntropyTotals) {
  for (const DType dtype : {DType::float32, DType::float64, DType::float16, DType::bfloat16})
    for (const Shape& shape : {Shape{1, 10}, Shape{20, 10}, Shape{300, 3}, Shape{1301, 2}, Shape{7, 1500}})
      for (const auto reduction : {RowReduction::sum, RowReduction::mean}) {
        const bool mean = reduction == RowReduction::mean;
        const std::string name = (mean ? "mean " : "sum ") + std::string(name_of(dtype)) + shape.str();
        const Tensor x = made(shape, dtype, [](std::int64_t i) { return 4 * mixed(i); });
        const Tensor target = targets(shape[0], shape[1]), there = on(target, device());
        double sum = 0, rows = 0;
        const std::vector<double> losses = doubles_of(raw::cross_entropy(exact(x), target).losses);
        for (const double loss : losses) sum += loss;
        for (const double t : doubles_of(target)) rows += t < 0 ? 0 : 1;
        const auto got = raw::cross_entropy(on(x, device()), there, -100, reduction);
        EXPECT_EQ(got.losses.shape(), Shape()) << name;
        EXPECT_EQ(got.losses.dtype(), dtype) << name;
        const Tensor want = made({}, DType::float64, [&](std::int64_t) { return mean ? sum / rows : sum; });
        expect_agrees(got.losses, want, name);
        EXPECT_EQ(doubles_of(got.losses),
                  doubles_of(raw::cross_entropy(on(x, device()), there, -100, reduction).losses));

        const Tensor g = made({}, dtype, [](std::int64_t) { return 0.75; });
        const Tensor each = made({shape[0]}, DType::float64, [&](std::int64_t) { return mean ? 0.75 / rows : 0.75; });
        const auto rows_only = raw::cross_entropy(exact(x), target);
        expect_agrees(
            raw::cross_entropy_backward(on(g, device()), on(x, device()), there, got.exp_sums, -100, reduction),
            raw::cross_entropy_backward(each, exact(x), target, rows_only.exp_sums), name + " backward",
            is_half(dtype) ? 100 : 10);
      }
}

TEST_P(RowsSoftmax, CrossEntropyTotalsOfNothing) {
  const Tensor x = on(made({300, 4}, DType::float32, mixed), device());
  const Tensor ignored = on(made({300}, DType::int64, [](std::int64_t) { return -100.0; }), device());
  const Tensor none = on(made({0, 4}, DType::float32, mixed), device());
  const Tensor no_targets = on(made({0}, DType::int64, mixed), device());
  EXPECT_EQ(doubles_of(raw::cross_entropy(x, ignored, -100, RowReduction::sum).losses), std::vector<double>{0});
  EXPECT_EQ(doubles_of(raw::cross_entropy(none, no_targets, -100, RowReduction::sum).losses), std::vector<double>{0});
  const auto mean = raw::cross_entropy(x, ignored, -100, RowReduction::mean);
  EXPECT_TRUE(std::isnan(doubles_of(mean.losses)[0]));
  EXPECT_TRUE(std::isnan(doubles_of(raw::cross_entropy(none, no_targets, -100, RowReduction::mean).losses)[0]));
  const Tensor g = on(made({}, DType::float32, [](std::int64_t) { return 1.0; }), device());
  const Tensor slope = raw::cross_entropy_backward(g, x, ignored, mean.exp_sums, -100, RowReduction::mean);
  for (const double v : doubles_of(slope)) ASSERT_EQ(v, 0);
}

TEST_P(RowsSoftmax, CrossEntropyOfExtremeLogits) {
  const Tensor x = made({3, 300}, DType::float32, [](std::int64_t i) {
    if (i / 300 == 0) return 1000 * mixed(i);
    if (i / 300 == 1) return i % 300 == 5 ? 3.0 : -HUGE_VAL;
    return i % 300 == 7 ? std::nan("") : mixed(i);
  });
  const Tensor target = made({3}, DType::int64, [](std::int64_t) { return 5.0; });
  const auto got = raw::cross_entropy(on(x, device()), on(target, device()));
  expect_agrees(got.losses, raw::cross_entropy(exact(x), target).losses, "losses");
}

TEST_P(RowsSoftmax, TargetOutOfRangeIsAnError) {
  const Tensor x = on(made({4, 10}, DType::float32, mixed), device());
  for (const double bad : {10.0, -1.0}) {
    const Tensor target = on(made({4}, DType::int64, [&](std::int64_t i) { return i == 2 ? bad : 3.0; }), device());
    EXPECT_THROW(
        {
          (void)raw::cross_entropy(x, target);
          synchronize(device());
        },
        IndexError);
  }
  synchronize(device());
}

}  // namespace
}  // namespace minnow::test
