#include <minnow/autograd/grad_mode.h>
#include <minnow/autograd/ops/arithmetic.h>
#include <minnow/autograd/ops/conv.h>
#include <minnow/autograd/ops/matmul.h>
#include <minnow/autograd/ops/softmax.h>
#include <minnow/autograd/ops/unary.h>
#include "workloads/workloads.h"

namespace bench {
namespace {

using namespace minnow;

/// Times f() without gradients; what it returns is checked.
template <class F> Ready forward_only(F f) {
  const NoGradGuard no_grad;
  return {{{"",
            [f] {
              const NoGradGuard inside;
              (void)f();
            }}},
          digest(f())};
}

Workload add_elements(const char* name, std::int64_t n) {
  return {name,
          [n](const Settings&) { return forward_only([a = formula(1, {n}), b = formula(2, {n})] { return a + b; }); }};
}

Workload add_recorded() {
  return {"add_1_recorded", [](const Settings&) {
            const Tensor a = formula(1, {1}).requires_grad_(), b = formula(2, {1}).requires_grad_();
            return Ready{{{"", [a, b] { (void)(a + b); }}}, digest((a + b).detach())};
          }};
}

Workload multiply_matrices(const char* name, std::int64_t n) {
  return {name, [n](const Settings&) {
            return forward_only([a = formula(1, {n, n}), b = formula(2, {n, n})] { return matmul(a, b); });
          }};
}

/// The user's images in both orders of memory; the weights as they are.
struct Convolution {
  Shape image, weight;
  Conv2dOptions options;
  double scale;
};

Ready convolve(const Convolution& c) {
  const Tensor x = formula(1, c.image), w = formula(2, c.weight, c.scale);
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

Ready convolve_and_back(const Convolution& c) {
  const Tensor w = formula(2, c.weight, c.scale).requires_grad_();
  Ready ready;
  for (const auto format : {MemoryFormat::contiguous, MemoryFormat::channels_last}) {
    const Tensor x = formula(1, c.image).contiguous(format).requires_grad_();
    const Tensor y = conv2d(x, w, {}, c.options);
    const Tensor g = formula(3, y.shape()).contiguous(format);
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
      {"exp_1M", [](const Settings&) { return forward_only([x = formula(1, {1 << 20}, 4)] { return exp(x); }); }});
  list.push_back({"softmax_1M", [](const Settings&) {
                    return forward_only([x = formula(1, {1024, 1024}, 4)] { return softmax(x, 1); });
                  }});
  list.push_back(multiply_matrices("matmul_256", 256));
  list.push_back(multiply_matrices("matmul_1024", 1024));
  list.push_back(multiply_matrices("matmul_2048", 2048));
  const Convolution small{{64, 32, 28, 28}, {64, 32, 3, 3}, {}, 0.1};
  list.push_back({"conv_28_forward", [small](const Settings&) { return convolve(small); }});
  list.push_back({"conv_28_forward_backward", [small](const Settings&) { return convolve_and_back(small); }});
  const Convolution wide{{128, 3, 224, 224}, {64, 3, 3, 3}, {.padding = 1}, 0.3};
  list.push_back({"conv_224_3x3_forward", [wide](const Settings&) { return convolve(wide); }});
  const Convolution strided{{128, 3, 224, 224}, {64, 3, 7, 7}, {.stride = 2}, 0.1};
  list.push_back({"conv_224_7x7_forward", [strided](const Settings&) { return convolve(strided); }});
  return list;
}

}  // namespace bench
