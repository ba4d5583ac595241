#include <minnow/autograd/grad_mode.h>
#include <minnow/ops/convolution/conv.h>
#include <minnow/ops/elementwise/arithmetic.h>
#include <minnow/ops/elementwise/unary.h>
#include <minnow/ops/norms/softmax.h>
#include <minnow/ops/products/matmul.h>
#include "workloads/workloads.h"

namespace bench {
namespace {

using namespace minnow;

Workload add_elements(const char* name, std::int64_t n) {
  return {name, [n](const Settings& s) {
            return forward_only([a = formula(s, 1, {n}), b = formula(s, 2, {n})] { return a + b; });
          }};
}

Workload add_recorded() {
  return {"add_1_recorded", [](const Settings& s) {
            const Tensor a = formula(s, 1, {1}).requires_grad_(), b = formula(s, 2, {1}).requires_grad_();
            return Ready{{{"", [a, b] { (void)(a + b); }}}, digest((a + b).detach())};
          }};
}

Workload multiply_matrices(const char* name, std::int64_t n) {
  return {name, [n](const Settings& s) {
            const std::int64_t side = s.quick ? n / 8 : n;
            return forward_only(
                [a = formula(s, 1, {side, side}), b = formula(s, 2, {side, side})] { return matmul(a, b); });
          }};
}

/// The user's images in both orders of memory; the weights as they are.
struct Convolution {
  Shape image, weight;
  Conv2dFuncOptions options;
  double scale;
};

Ready convolve(const Settings& s, Convolution c) {
  if (s.quick) c.image[0] = 1;
  const Tensor x = formula(s, 1, c.image), w = formula(s, 2, c.weight, c.scale);
  const Tensor nhwc = x.contiguous(MemoryFormat::channels_last);
  Ready ready;
  for (const auto& [name, images] : {std::pair{"NCHW", x}, std::pair{"NHWC", nhwc}})
    ready.variants.push_back({name, [images = images, w, c] {
                                const NoGradGuard no_grad;
                                (void)conv2d(images, w, {}, c.options);
                              }});
  const NoGradGuard no_grad;
  ready.values = digest(conv2d(x, w, {}, c.options));
  return ready;
}

Ready convolve_and_back(const Settings& s, Convolution c) {
  if (s.quick) c.image[0] = 1;
  const Tensor w = formula(s, 2, c.weight, c.scale).requires_grad_();
  Ready ready;
  for (const auto format : {MemoryFormat::contiguous, MemoryFormat::channels_last}) {
    const Tensor x = formula(s, 1, c.image).contiguous(format).requires_grad_();
    const Tensor y = conv2d(x, w, {}, c.options);
    const Tensor g = formula(s, 3, y.shape()).contiguous(format);
    const auto step = [x, w, g, c] {
      x.set_grad({});
      w.set_grad({});
      conv2d(x, w, {}, c.options).backward(g);
    };
    ready.variants.push_back({format == MemoryFormat::contiguous ? "NCHW" : "NHWC", step});
    if (!ready.values.empty()) continue;
    step();
    for (const Tensor& t : {y.detach(), x.grad(), w.grad()})
      for (const double v : digest(t)) ready.values.push_back(v);
  }
  return ready;
}

}  // namespace

std::vector<Workload> operation_workloads() {
  std::vector<Workload> list{add_elements("add_1", 1), add_recorded(), add_elements("add_1M", 1 << 20),
                             add_elements("add_16M", 1 << 24)};
  list.push_back(
      {"exp_1M", [](const Settings& s) { return forward_only([x = formula(s, 1, {1 << 20}, 4)] { return exp(x); }); }});
  list.push_back({"softmax_1M", [](const Settings& s) {
                    return forward_only([x = formula(s, 1, {1024, 1024}, 4)] { return softmax(x, 1); });
                  }});
  list.push_back(multiply_matrices("matmul_256", 256));
  list.push_back(multiply_matrices("matmul_1024", 1024));
  list.push_back(multiply_matrices("matmul_2048", 2048));
  const Convolution small{{64, 32, 28, 28}, {64, 32, 3, 3}, {}, 0.1};
  list.push_back({"conv_28_forward", [small](const Settings& s) { return convolve(s, small); }});
  list.push_back({"conv_28_forward_backward", [small](const Settings& s) { return convolve_and_back(s, small); }});
  const Convolution wide{{128, 3, 224, 224}, {64, 3, 3, 3}, {.padding = 1}, 0.3};
  list.push_back({"conv_224_3x3_forward", [wide](const Settings& s) { return convolve(s, wide); }});
  const Convolution strided{{128, 3, 224, 224}, {64, 3, 7, 7}, {.stride = 2}, 0.1};
  list.push_back({"conv_224_7x7_forward", [strided](const Settings& s) { return convolve(s, strided); }});
  // large.cpp has larger sizes for GPUs.
  for (Workload& w : list)
    if (w.name != "add_1" && w.name != "add_1M" && w.name != "conv_28_forward_backward") w.devices = For::kCpu;
  return list;
}

}  // namespace bench
