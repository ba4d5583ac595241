#include <minnow/nn/losses/loss.h>
#include <minnow/ops/convolution/conv.h>
#include <minnow/ops/convolution/pool.h>
#include <minnow/ops/elementwise/arithmetic.h>
#include <minnow/ops/norms/cross_entropy.h>
#include <minnow/ops/norms/softmax.h>
#include <minnow/ops/products/matmul.h>
#include <minnow/ops/reductions/reduce.h>
#include "workloads/workloads.h"

namespace bench {
namespace {

using namespace minnow;

/// `copies` times the same numbers, [copies * rows, ...]: quick to make, however large.
Tensor tiled(const Settings& s, std::uint32_t seed, std::int64_t copies, Shape shape, double scale = 1) {
  Shape wide = shape, whole = shape;
  wide.insert(0, copies);
  whole[0] *= copies;
  return formula(s, seed, shape, scale).expand(wide).contiguous().reshape(whole);
}

std::int64_t pick(const Settings& s, std::int64_t full, std::int64_t quick) { return s.quick ? quick : full; }

/// 256M elements, or few.
Tensor quarter_billion(const Settings& s, std::uint32_t seed) { return tiled(s, seed, pick(s, 256, 2), {1 << 20}); }

Ready add_large(const Settings& s) {
  return forward_only([a = quarter_billion(s, 1), b = quarter_billion(s, 2)] { return a + b; });
}
Ready copy_large(const Settings& s) {
  const Tensor from = quarter_billion(s, 1);
  return forward_only([from, to = empty(from.shape(), {.device = from.device()})] { return copy_(to, from); });
}
Ready sum_large(const Settings& s) {
  return forward_only([a = quarter_billion(s, 1)] { return sum(a * a); });
}

/// Rows of `n`, forward; the gradient is in cross_entropy's workloads.
Workload softmax_rows(const char* name, std::int64_t rows, std::int64_t n, DType dtype) {
  return {name,
          [=](const Settings& s) {
            const Tensor x = tiled(s, 1, pick(s, rows, 8) / 8, {8, pick(s, n, n / 100)}, 4).to(dtype);
            return forward_only([x] { return softmax(x, 1); });
          },
          For::kGpu};
}

Ready loss_and_gradient(const Tensor& logits, const Tensor& target) {
  const auto step = [logits, target] {
    logits.set_grad({});
    nn::cross_entropy(logits, target).backward();
  };
  step();
  return {{{"", step}}, digest(logits.grad() * static_cast<double>(target.numel()))};
}

Workload cross_entropy_rows(const char* name, std::int64_t rows, std::int64_t n, DType dtype) {
  return {name,
          [=](const Settings& s) {
            const std::int64_t count = pick(s, rows, 8), classes = pick(s, n, n / 100 + 1);
            const Tensor target = empty({count}, {DType::int64});
            for (std::int64_t i = 0; i < count; ++i) target.data<std::int64_t>()[i] = i * 7919 % classes;
            Tensor logits = tiled(s, 1, count / 8, {8, classes}, 4).to(dtype);
            return loss_and_gradient(logits.requires_grad_(), target.to(Device(s.device)));
          },
          For::kGpu};
}

Ready pool_and_back(const Settings& s) {
  const std::int64_t size = pick(s, 112, 8);
  const Tensor x = tiled(s, 1, pick(s, 64, 2), {1, pick(s, 64, 4), size, size}).requires_grad_();
  const Tensor g = max_pool2d(x, 2).detach().clone();
  const auto step = [x, g] {
    x.set_grad({});
    max_pool2d(x, 2).backward(g);
  };
  step();
  return {{{"", step}}, digest(x.grad())};
}

Workload multiply(const char* name, DType dtype) {
  return {name,
          [dtype](const Settings& s) {
            const std::int64_t n = pick(s, 8192, 64), rows = pick(s, 1024, 16);
            const Tensor a = tiled(s, 1, n / rows, {rows, n}).to(dtype), b = tiled(s, 2, n / rows, {rows, n}).to(dtype);
            return forward_only([a, b] { return matmul(a, b); });
          },
          For::kGpu};
}

/// A layer of a residual network in bfloat16, images in channels-last order, forward and backward.
Ready wide_convolution(const Settings& s) {
  const std::int64_t channels = pick(s, 256, 8), size = pick(s, 56, 6);
  const auto image = [&](std::uint32_t seed) {
    return tiled(s, seed, pick(s, 32, 2), {1, channels, size, size})
        .to(DType::bfloat16)
        .contiguous(MemoryFormat::channels_last);
  };
  const Tensor x = image(1).requires_grad_(), g = image(3);
  const Tensor w = formula(s, 2, {channels, channels, 3, 3}, 0.03)
                       .to(DType::bfloat16)
                       .contiguous(MemoryFormat::channels_last)
                       .requires_grad_();
  const auto step = [x, w, g] {
    x.set_grad({});
    w.set_grad({});
    conv2d(x, w, {}, {.padding = 1}).backward(g);
  };
  step();
  Ready ready{{{"NHWC", step}}, digest(conv2d(x, w, {}, {.padding = 1}))};
  for (const Tensor& t : {x.grad(), w.grad()})
    for (const double v : digest(t)) ready.values.push_back(v);
  return ready;
}

}  // namespace

std::vector<Workload> large_workloads() {
  return {{"add_256M", add_large, For::kGpu},
          {"copy_256M", copy_large, For::kGpu},
          {"square_sum_256M", sum_large, For::kGpu},
          softmax_rows("softmax_16384x1024", 16384, 1024, DType::float32),
          softmax_rows("softmax_4096x32000_bf16", 4096, 32000, DType::bfloat16),
          cross_entropy_rows("cross_entropy_8192x1000", 8192, 1000, DType::float32),
          cross_entropy_rows("cross_entropy_4096x32000_bf16", 4096, 32000, DType::bfloat16),
          {"max_pool_64x64x112x112", pool_and_back, For::kGpu},
          multiply("matmul_8192_bf16", DType::bfloat16),
          multiply("matmul_8192", DType::float32),
          {"conv_256x56x56_bf16", wide_convolution, For::kGpu}};
}

}  // namespace bench
