// benchmarks/workloads/rows.cpp on LibTorch.

#include "workloads.h"

namespace bench {
namespace {

using torch::MemoryFormat;
using torch::Tensor;

using Unary = Tensor (*)(const Tensor& x);

template <class F> Ready gradients(const std::vector<Tensor>& inputs, F f) {
  for (const Tensor& t : inputs) t.requires_grad_();
  const Tensor y = f();
  const Tensor g =
      formula(3, y.sizes()).contiguous(y.is_contiguous() ? MemoryFormat::Contiguous : MemoryFormat::ChannelsLast);
  const auto step = [inputs, f, g] {
    for (const Tensor& t : inputs) t.mutable_grad().reset();
    f().backward(g);
  };
  step();
  Ready ready{{{"", step}}, {}};
  for (const Tensor& t : inputs)
    for (const double v : digest(t.grad())) ready.values.push_back(v);
  return ready;
}

constexpr std::int64_t kElements = 1 << 18;

void add_rows(std::vector<Workload>& list, const std::string& name, std::int64_t n, Unary f, bool backward) {
  const auto rows = [n](const Settings& s) { return formula(1, {(s.quick ? 4096 : kElements) / n, n}, 4); };
  list.push_back({name, [=](const Settings& s) { return forward_only([x = rows(s), f] { return f(x); }); }});
  if (!backward) return;
  list.push_back({name + "_backward", [=](const Settings& s) {
                    const Tensor x = rows(s);
                    return gradients({x}, [x, f] { return f(x); });
                  }});
}

struct Channels {
  Tensor x, each;
  Channels(const Settings& s, MemoryFormat format)
      : x(formula(1, {s.quick ? 2 : 64, 16, 28, 28}).contiguous(format)), each(formula(2, {1, 16, 1, 1})) {}
};

void add_channels(std::vector<Workload>& list, const std::string& order, MemoryFormat format) {
  const auto add = [&](const std::string& name, auto f) {
    list.push_back({name + "_" + order,
                    [=](const Settings& s) { return forward_only([c = Channels(s, format), f] { return f(c); }); }});
  };
  add("sub_channels", [](const Channels& c) { return c.x - c.each; });
  add("mul_channels", [](const Channels& c) { return c.x * c.each; });
  add("mean_channels", [](const Channels& c) { return c.x.mean({0, 2, 3}); });
  add("var_channels", [](const Channels& c) { return c.x.var({0, 2, 3}, true); });
  list.push_back({"mul_channels_backward_" + order, [=](const Settings& s) {
                    const Channels c(s, format);
                    return gradients({c.x, c.each}, [c] { return c.x * c.each; });
                  }});
}

using Tensors = std::vector<Tensor>;

/// n indices below `end`.
Tensor scattered(std::int64_t end, std::int64_t n) {
  const Tensor i = torch::arange(n);
  return (i * i * 7919).remainder(end);
}

/// f of some operands, and with the gradients of all of them.
template <class Operands, class F>
void add_layer(std::vector<Workload>& list, const std::string& name, const Operands& operands, const F& f) {
  list.push_back({name, [=](const Settings& s) { return forward_only([t = operands(s), f] { return f(t); }); }});
  list.push_back({name + "_backward", [=](const Settings& s) {
                    const Tensors t = operands(s);
                    return gradients(t, [t, f] { return f(t); });
                  }});
}

}  // namespace

std::vector<Workload> row_workloads() {
  std::vector<Workload> list;
  for (const std::int64_t n : {10, 64, 256, 1024}) {
    const std::string size = "_" + std::to_string(n);
    add_rows(
        list, "softmax" + size, n, [](const Tensor& x) { return torch::softmax(x, 1); }, true);
    add_rows(
        list, "log_softmax" + size, n, [](const Tensor& x) { return torch::log_softmax(x, 1); }, true);
    add_rows(
        list, "sum" + size, n, [](const Tensor& x) { return x.sum(1); }, false);
    add_rows(
        list, "mean" + size, n, [](const Tensor& x) { return x.mean(1); }, false);
    add_rows(
        list, "amax" + size, n, [](const Tensor& x) { return x.amax(1); }, false);
    add_rows(
        list, "max" + size, n, [](const Tensor& x) { return std::get<0>(x.max(1)); }, false);
  }
  add_channels(list, "NCHW", MemoryFormat::Contiguous);
  add_channels(list, "NHWC", MemoryFormat::ChannelsLast);
  for (const auto& [count, n] : {std::pair<std::int64_t, std::int64_t>{32, 128}, {8192, 768}}) {
    const auto operands = [count = count, n = n](const Settings& s) {
      return Tensors{formula(1, {s.quick ? 4 : count, n}, 4), formula(2, {n}), formula(4, {n})};
    };
    add_layer(list, "layer_norm_" + std::to_string(n), operands,
              [n = n](const Tensors& t) { return torch::layer_norm(t[0], {n}, t[1], t[2]); });
  }
  for (const auto& [channels, side] : {std::pair<std::int64_t, std::int64_t>{64, 56}, {512, 7}}) {
    const auto operands = [channels = channels, side = side](const Settings& s) {
      return Tensors{formula(1, {s.quick ? 2 : 16, channels, side, side}, 4), formula(2, {channels}),
                     formula(4, {channels})};
    };
    add_layer(list, "batch_norm_" + std::to_string(channels), operands,
              [](const Tensors& t) { return torch::batch_norm(t[0], t[1], t[2], {}, {}, true, 0.1, 1e-5, false); });
  }
  for (const std::int64_t length : {1024, 4096}) {
    const auto operands = [length](const Settings& s) {
      const std::int64_t n = s.quick ? length / 64 : length;
      return Tensors{formula(1, {1, 8, n, 64}), formula(2, {1, 8, n, 64}), formula(4, {1, 8, n, 64})};
    };
    add_layer(list, "attention_" + std::to_string(length), operands,
              [](const Tensors& t) { return torch::scaled_dot_product_attention(t[0], t[1], t[2]); });
  }
  const auto million = [](const Settings& s) { return formula(1, {s.quick ? 1000 : 1 << 20}); };
  list.push_back(
      {"sort_1M", [=](const Settings& s) { return forward_only([x = million(s)] { return std::get<0>(x.sort()); }); }});
  list.push_back({"topk_1M", [=](const Settings& s) {
                    return forward_only([x = million(s)] { return std::get<0>(x.topk(100)); });
                  }});
  const auto vocabulary = [](const Settings& s) { return Tensors{formula(1, {s.quick ? 50 : 30000, 256})}; };
  add_layer(list, "embedding", vocabulary, [index = std::make_shared<torch::Tensor>()](const Tensors& t) {
    if (!index->defined()) *index = scattered(t[0].size(0), 4096);
    return torch::embedding(t[0], *index);
  });
  const auto table = [](const Settings& s) {
    return std::pair{formula(1, {s.quick ? 16 : 1024, 128}), formula(2, {128})};
  };
  list.push_back(
      {"mul_row_128", [=](const Settings& s) { return forward_only([t = table(s)] { return t.first * t.second; }); }});
  list.push_back({"mul_row_128_backward", [=](const Settings& s) {
                    const auto [x, row] = table(s);
                    return gradients({x, row}, [x = x, row = row] { return x * row; });
                  }});
  list.push_back({"index_select_backward", [](const Settings& s) {
                    const std::int64_t words = s.quick ? 50 : 50000, n = s.quick ? 16 : 2048;
                    const Tensor x = formula(1, {words, 128});
                    const Tensor index = scattered(words, n);
                    return gradients({x}, [x, index] { return x.index_select(0, index); });
                  }});
  return list;
}

}  // namespace bench
