// The workloads of benchmarks/workloads on LibTorch.

#include "workloads.h"

namespace {

using bench::digest;
using bench::formula;
using bench::Ready;
using bench::Settings;
using bench::Workload;
using torch::MemoryFormat;
using torch::Tensor;

template <class F> Ready forward_only(F f) {
  const torch::NoGradGuard no_grad;
  return {{{"",
            [f] {
              const torch::NoGradGuard inside;
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
            return forward_only([a = formula(1, {n, n}), b = formula(2, {n, n})] { return torch::matmul(a, b); });
          }};
}

struct Convolution {
  std::vector<std::int64_t> image, weight;
  double scale;
  std::int64_t stride = 1, padding = 0;
};

Tensor apply(const Convolution& c, const Tensor& x, const Tensor& w) {
  return torch::conv2d(x, w, {}, c.stride, c.padding);
}

constexpr MemoryFormat kFormats[] = {MemoryFormat::Contiguous, MemoryFormat::ChannelsLast};
const char* name_of(MemoryFormat format) { return format == MemoryFormat::Contiguous ? "NCHW" : "NHWC"; }

Ready convolve(const Convolution& c) {
  const torch::NoGradGuard no_grad;
  Ready ready;
  for (const MemoryFormat format : kFormats) {
    const Tensor x = formula(1, c.image).contiguous(format), w = formula(2, c.weight, c.scale).contiguous(format);
    ready.variants.push_back({name_of(format), [x, w, c] {
                                const torch::NoGradGuard inside;
                                (void)apply(c, x, w);
                              }});
    if (ready.values.empty()) ready.values = digest(apply(c, x, w));
  }
  return ready;
}

Ready convolve_and_back(const Convolution& c) {
  Ready ready;
  for (const MemoryFormat format : kFormats) {
    Tensor x = formula(1, c.image).contiguous(format).requires_grad_();
    Tensor w = formula(2, c.weight, c.scale).contiguous(format).requires_grad_();
    const Tensor y = apply(c, x, w).detach();
    const Tensor g = formula(3, y.sizes()).contiguous(format);
    const auto step = [x, w, g, c]() mutable {
      x.mutable_grad().reset();
      w.mutable_grad().reset();
      apply(c, x, w).backward(g);
    };
    ready.variants.push_back({name_of(format), step});
    if (!ready.values.empty()) continue;
    ready.variants.back().step();
    for (const Tensor& t : {y, x.grad(), w.grad()})
      for (const double v : digest(t)) ready.values.push_back(v);
  }
  return ready;
}

std::vector<Workload> operation_workloads() {
  std::vector<Workload> list{add_elements("add_1", 1), add_recorded(), add_elements("add_1M", 1 << 20),
                             add_elements("add_16M", 1 << 24)};
  list.push_back({"exp_1M", [](const Settings&) {
                    return forward_only([x = formula(1, {1 << 20}, 4)] { return torch::exp(x); });
                  }});
  list.push_back({"softmax_1M", [](const Settings&) {
                    return forward_only([x = formula(1, {1024, 1024}, 4)] { return torch::softmax(x, 1); });
                  }});
  list.push_back(multiply_matrices("matmul_256", 256));
  list.push_back(multiply_matrices("matmul_1024", 1024));
  list.push_back(multiply_matrices("matmul_2048", 2048));
  const Convolution small{{64, 32, 28, 28}, {64, 32, 3, 3}, 0.1};
  list.push_back({"conv_28_forward", [small](const Settings&) { return convolve(small); }});
  list.push_back({"conv_28_forward_backward", [small](const Settings&) { return convolve_and_back(small); }});
  const Convolution wide{{128, 3, 224, 224}, {64, 3, 3, 3}, 0.3, 1, 1};
  list.push_back({"conv_224_3x3_forward", [wide](const Settings&) { return convolve(wide); }});
  const Convolution strided{{128, 3, 224, 224}, {64, 3, 7, 7}, 0.1, 2};
  list.push_back({"conv_224_7x7_forward", [strided](const Settings&) { return convolve(strided); }});
  return list;
}

}  // namespace

int main(int argc, char** argv) {
  std::vector<Workload> all = operation_workloads();
  for (const auto& family : {bench::row_workloads(), bench::training_workloads(), bench::network_workloads()})
    all.insert(all.end(), family.begin(), family.end());
  return bench::run(
      argc, argv, all, [](const Settings& s) { at::set_num_threads(s.threads); }, [](const Settings&) {});
}
