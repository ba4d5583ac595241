/// The first thing to run on a GPU: a line for each dtype, direction and format of what libraries compute, and for what
/// a program is made of, each in a process of its own.  Prints errors beside the CPU, fallbacks and NaN.
///     minnow_smoke          all; exit status 1 if one fails
///     minnow_smoke NAME     one, in this process
#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <map>
#include <string>
#include <thread>
#include <vector>
#include <minnow/minnow.h>
#include <minnow/ops/detail/conv.h>

using namespace minnow;

namespace {

const Device kGpu("cuda");

/// Runs on the device that it is given; what it returns is compared.
struct Case {
  std::function<Tensor(Device)> f;
  double tolerance;
};
using Cases = std::map<std::string, Case>;

Tensor operand(const Shape& shape, DType dtype, Device device, std::uint64_t seed) {
  manual_seed(seed);
  return randn(shape).to(dtype).to(device);
}

double tolerance_of(DType dtype) { return is_half(dtype) ? 5e-2 : dtype == DType::float64 ? 1e-9 : 2e-2; }  // TF32

void add_products(Cases& cases, DType dtype) {
  constexpr std::int64_t kSize = 264;  // so large that a fallback warns
  const auto add = [&](const std::string& name, const std::function<Tensor(Tensor, Tensor, Tensor)>& f) {
    cases["matmul." + std::string(name_of(dtype)) + "." + name] = {[=](Device d) {
                                                                     return f(operand({kSize, kSize}, dtype, d, 1),
                                                                              operand({kSize, kSize}, dtype, d, 2),
                                                                              operand({kSize}, dtype, d, 3));
                                                                   },
                                                                   tolerance_of(dtype)};
  };
  add("plain", [](const Tensor& a, const Tensor& b, const Tensor&) { return matmul(a, b); });
  add("transposed", [](const Tensor& a, const Tensor& b, const Tensor&) { return matmul(a.t(), b.t()); });
  add("bias", [](const Tensor& a, const Tensor& b, const Tensor& c) { return linear(a, b, c); });
  add("relu", [](const Tensor& a, const Tensor& b, const Tensor& c) { return linear(a, b, c, Activation::relu); });
  add("gelu", [](const Tensor& a, const Tensor& b, const Tensor& c) { return linear(a, b, c, Activation::gelu_tanh); });
  add("weight_gradient", [](const Tensor& a, Tensor b, Tensor c) {
    linear(a, b.requires_grad_(), c.requires_grad_()).backward(ones_like(a));
    return cat({b.grad(), c.grad().unsqueeze(0)});
  });
}

void add_convolutions(Cases& cases, DType dtype, MemoryFormat format, std::int64_t groups) {
  const std::string name = "conv." + std::string(name_of(dtype)) +
                           (format == MemoryFormat::contiguous ? ".nchw" : ".nhwc") + (groups > 1 ? ".groups" : "");
  const auto add = [&](const char* direction, const std::function<Tensor(Tensor, Tensor, Tensor)>& f) {
    cases[name + "." + direction] = {[=](Device d) {
                                       return f(operand({8, 32, 28, 28}, dtype, d, 1).contiguous(format),
                                                operand({64, 32 / groups, 3, 3}, dtype, d, 2).contiguous(format),
                                                operand({8, 64, 26, 26}, dtype, d, 3).contiguous(format));
                                     },
                                     tolerance_of(dtype)};
  };
  const Conv2dParams params{.groups = groups};
  add("forward", [=](const Tensor& x, const Tensor& w, const Tensor&) { return raw::conv2d(x, w, {}, params); });
  add("input", [=](const Tensor& x, const Tensor& w, const Tensor& g) {
    return raw::conv2d_backward_input(g, w, x.shape(), params);
  });
  add("weight", [=](const Tensor& x, const Tensor& w, const Tensor& g) {
    return raw::conv2d_backward_weight(g, x, w.shape(), false, params).weight;
  });
}

/// f(), and f() again in a captured step without a warm-up, where there is a GPU.
Case captured(const std::function<Tensor(Tensor)>& f, double tolerance) {
  return {[=](Device d) {
            const Tensor x = operand({8, 16, 12, 12}, DType::float32, d, 1);
            if (!d.is_cuda()) return f(x);
            CapturedStep step(f, {.device = d, .warm_up = 0});
            step(x);
            return step(x);
          },
          tolerance};
}

void add_others(Cases& cases) {
  const auto add = [&](const char* name, const std::function<Tensor(Tensor)>& f, double tolerance = 1e-4) {
    cases[name] = {[=](Device d) { return f(operand({64, 300}, DType::float32, d, 1)); }, tolerance};
  };
  add("add", [](const Tensor& x) { return x + x.flip({0}); });
  add("reduce", [](const Tensor& x) { return cat({sum(x, {1}), amax(x, {1}), mean(x, {1})}); });
  add("softmax", [](const Tensor& x) { return softmax(x, 1); });
  add("layer_norm", [](const Tensor& x) { return layer_norm(x, {300}); });
  add("batch_norm", [](const Tensor& x) { return batch_norm(x, {}, {}, {}, {}, {.training = true}); });
  add("sort", [](const Tensor& x) { return sort(x, 1).values; });
  add("index_add",
      [](const Tensor& x) { return index_add(zeros_like(x), 0, randint(0, 5, {64}).to(x.device()) * 0 + 3, x); });
  add("rfft", [](const Tensor& x) { return rfft(x); });
  for (const DType dtype : {DType::float32, DType::float16, DType::bfloat16})
    for (const std::int64_t size : {64, 128}) {
      const std::string name = "attention." + std::string(name_of(dtype)) + "." + std::to_string(size);
      cases[name] = {[=](Device d) {
                       Tensor x = operand({2, 3, 100, size}, dtype, d, 1).requires_grad_();
                       const Tensor y = scaled_dot_product_attention(x, x, x, {}, {.is_causal = true});
                       y.backward(operand({2, 3, 100, size}, dtype, d, 2));
                       return cat({y.detach(), x.grad()});
                     },
                     is_half(dtype) ? 0.3 : 2e-2};  // of sums, beside their mean
    }
  add("clip_grad_norm", [](const Tensor& x) {
    Tensor p = zeros_like(x).requires_grad_();
    p.set_grad(x.clone());
    optim::clip_grad_norm_({p}, 1);
    return p.grad();
  });
  add("streams", [](const Tensor& x) {
    if (!x.device().is_cuda()) return x * 3;
    const Stream side(x.device());
    side.wait(current_stream(x.device()).record(EventUse::ordering));
    Tensor y;
    {
      const StreamGuard guard(side);
      y = x * 3;
    }
    current_stream(x.device()).wait(side.record(EventUse::ordering));
    return y + 0;
  });
  add("pinned copies", [](const Tensor& x) {
    const Tensor host = x.cpu();
    return (x.device().is_cuda() ? host.pin_memory() : host).to(x.device(), {.non_blocking = true}) * 2;
  });
  const auto recurrent = [](Device d) {
    manual_seed(1);
    nn::LSTM lstm(16, 32);
    lstm.to(d);
    Tensor x = operand({20, 4, 16}, DType::float32, d, 2).requires_grad_();
    std::get<0>(lstm(x)).sum().backward();
    return x.grad();
  };
  cases["lstm"] = {recurrent, 2e-2};
  const auto weight = [](const Tensor& x, const Shape& shape) { return full(shape, 0.01, {.device = x.device()}); };
  cases["captured.add"] = captured([](const Tensor& x) { return x + 1; }, 1e-6);
  cases["captured.matmul"] = captured([=](const Tensor& x) { return matmul(x, weight(x, {12, 12})); }, 2e-2);
  cases["captured.conv"] = captured([=](const Tensor& x) { return conv2d(x, weight(x, {8, 16, 3, 3})); }, 2e-2);
  cases["captured.sort"] = captured([](const Tensor& x) { return sort(x, -1).values; }, 1e-6);
}

Cases all_cases() {
  Cases cases;
  for (const DType dtype : {DType::float32, DType::float64, DType::float16, DType::bfloat16}) {
    add_products(cases, dtype);
    for (const MemoryFormat format : {MemoryFormat::contiguous, MemoryFormat::channels_last})
      for (const std::int64_t groups : {1, 4}) add_convolutions(cases, dtype, format, groups);
  }
  add_others(cases);
  return cases;
}

int run(const std::string& name, const Case& test) {
  std::string notes;
  set_warning_handler([&](const std::string& text) { notes += "  " + text.substr(0, text.find('\n')); });
  try {
    const Tensor want = test.f(Device()).to(DType::float64), got = test.f(kGpu).cpu().to(DType::float64);
    const double size = std::max(1e-6, mean(abs(want)).item<double>()),
                 error = amax(abs(got - want)).item<double>() / size;
    const bool nan = any(isnan(got)).item<bool>(), good = !nan && error <= test.tolerance;
    std::printf("%-40s %s  error %.2g%s%s\n", name.c_str(), good ? "ok    " : "FAILED", error, nan ? "  NaN" : "",
                notes.c_str());
    return good ? 0 : 1;
  } catch (const std::exception& error) {
    std::printf("%-40s FAILED  %s%s\n", name.c_str(), error.what(), notes.c_str());
  }
  return 1;
}

}  // namespace

int main(int argc, char** argv) {
  const Cases cases = all_cases();
  if (argc > 1) {
    const auto found = cases.find(argv[1]);
    if (found != cases.end()) return run(found->first, found->second);
    std::fprintf(stderr, "there is no case '%s'\n", argv[1]);
    return 2;
  }
  std::vector<std::string> names;
  for (const auto& [name, test] : cases) names.push_back(name);
  std::atomic<std::size_t> next = 0;
  std::atomic<int> failed = 0;
  const auto work = [&] {
    for (std::size_t i = next++; i < names.size(); i = next++) {
      const std::string command = "timeout 60 '" + std::string(argv[0]) + "' '" + names[i] + "' 2>&1";
      const int status = std::system(command.c_str());
      if (status == 0) continue;
      ++failed;
      if (status != 256) std::printf("%-40s FAILED  exit status %d\n", names[i].c_str(), status / 256);
      std::fflush(stdout);
    }
  };
  std::vector<std::thread> threads;
  for (int i = 0; i < 6; ++i) threads.emplace_back(work);
  for (std::thread& thread : threads) thread.join();
  std::printf("%d of %zu failed\n", failed.load(), cases.size());
  return failed.load() == 0 ? 0 : 1;
}
