// Short rows, channels and tables: the operations of normalization, attention and embeddings besides products.

#include <memory>
#include <minnow/ops/elementwise/arithmetic.h>
#include <minnow/ops/indexing/index.h>
#include <minnow/ops/indexing/sort.h>
#include <minnow/ops/norms/batch_norm.h>
#include <minnow/ops/norms/layer_norm.h>
#include <minnow/ops/norms/softmax.h>
#include <minnow/ops/products/attention.h>
#include <minnow/ops/reductions/reduce.h>
#include <minnow/tensor/raw/view.h>
#include "workloads/workloads.h"

namespace bench {
namespace {

using namespace minnow;

using Unary = Tensor (*)(const Tensor& x);

/// f(x) alone, or the gradients of `inputs` under f(), whose results are checked.
template <class F> Ready gradients(const Settings& s, const std::vector<Tensor>& inputs, F f) {
  for (Tensor t : inputs) t.requires_grad_();
  const Tensor y = f();
  const Tensor g =
      formula(s, 3, y.shape()).contiguous(y.is_contiguous() ? MemoryFormat::contiguous : MemoryFormat::channels_last);
  const auto step = [inputs, f, g] {
    for (const Tensor& t : inputs) t.set_grad({});
    f().backward(g);
  };
  step();
  Ready ready{{{"", step}}, {}};
  for (const Tensor& t : inputs)
    for (const double v : digest(t.grad())) ready.values.push_back(v);
  return ready;
}

constexpr std::int64_t kElements = 1 << 18;  // of a tensor of rows

void add_rows(std::vector<Workload>& list, const std::string& name, std::int64_t n, Unary f, bool backward) {
  const auto rows = [n](const Settings& s) { return formula(s, 1, {(s.quick ? 4096 : kElements) / n, n}, 4); };
  list.push_back({name, [=](const Settings& s) { return forward_only([x = rows(s), f] { return f(x); }); }, For::kCpu});
  if (!backward) return;
  list.push_back({name + "_backward",
                  [=](const Settings& s) {
                    const Tensor x = rows(s);
                    return gradients(s, {x}, [x, f] { return f(x); });
                  },
                  For::kCpu});
}

/// A batch of images and a number for each of their channels.
struct Channels {
  Tensor x, each;
  Channels(const Settings& s, MemoryFormat format)
      : x(formula(s, 1, {s.quick ? 2 : 64, 16, 28, 28}).contiguous(format)), each(formula(s, 2, {1, 16, 1, 1})) {}
};

void add_channels(std::vector<Workload>& list, const std::string& order, MemoryFormat format) {
  const auto add = [&](const std::string& name, auto f) {
    list.push_back({name + "_" + order,
                    [=](const Settings& s) { return forward_only([c = Channels(s, format), f] { return f(c); }); },
                    For::kCpu});
  };
  add("sub_channels", [](const Channels& c) { return c.x - c.each; });
  add("mul_channels", [](const Channels& c) { return c.x * c.each; });
  add("mean_channels", [](const Channels& c) { return mean(c.x, {0, 2, 3}); });
  add("var_channels", [](const Channels& c) { return var(c.x, {0, 2, 3}); });
  list.push_back({"mul_channels_backward_" + order,
                  [=](const Settings& s) {
                    const Channels c(s, format);
                    return gradients(s, {c.x, c.each}, [c] { return c.x * c.each; });
                  },
                  For::kCpu});
}

using Tensors = std::vector<Tensor>;

/// n indices below `end`.
Tensor scattered(std::int64_t end, std::int64_t n) {
  std::vector<std::int64_t> places;
  for (std::int64_t i = 0; i < n; ++i) places.push_back(i * i * 7919 % end);
  return tensor(places);
}

/// f of some operands, and with the gradients of all of them.
template <class Operands, class F>
void add_layer(std::vector<Workload>& list, const std::string& name, const Operands& operands, const F& f) {
  list.push_back(
      {name, [=](const Settings& s) { return forward_only([t = operands(s), f] { return f(t); }); }, For::kCpu});
  list.push_back({name + "_backward",
                  [=](const Settings& s) {
                    const Tensors t = operands(s);
                    return gradients(s, t, [t, f] { return f(t); });
                  },
                  For::kCpu});
}

}  // namespace

std::vector<Workload> row_workloads() {
  std::vector<Workload> list;
  for (const std::int64_t n : {10, 64, 256, 1024}) {
    const std::string size = "_" + std::to_string(n);
    add_rows(
        list, "softmax" + size, n, [](const Tensor& x) { return softmax(x, 1); }, true);
    add_rows(
        list, "log_softmax" + size, n, [](const Tensor& x) { return log_softmax(x, 1); }, true);
    add_rows(
        list, "sum" + size, n, [](const Tensor& x) { return sum(x, {1}); }, false);
    add_rows(
        list, "mean" + size, n, [](const Tensor& x) { return mean(x, {1}); }, false);
    add_rows(
        list, "amax" + size, n, [](const Tensor& x) { return amax(x, {1}); }, false);
    add_rows(
        list, "max" + size, n, [](const Tensor& x) { return max(x, 1).values; }, false);
  }
  add_channels(list, "NCHW", MemoryFormat::contiguous);
  add_channels(list, "NHWC", MemoryFormat::channels_last);
  for (const auto& [count, n] : {std::pair<std::int64_t, std::int64_t>{32, 128}, {8192, 768}}) {
    const auto operands = [count = count, n = n](const Settings& s) {
      return Tensors{formula(s, 1, {s.quick ? 4 : count, n}, 4), formula(s, 2, {n}), formula(s, 4, {n})};
    };
    add_layer(list, "layer_norm_" + std::to_string(n), operands,
              [n = n](const Tensors& t) { return layer_norm(t[0], n, t[1], t[2]); });
  }
  for (const auto& [channels, side] : {std::pair<std::int64_t, std::int64_t>{64, 56}, {512, 7}}) {
    const auto operands = [channels = channels, side = side](const Settings& s) {
      return Tensors{formula(s, 1, {s.quick ? 2 : 16, channels, side, side}, 4), formula(s, 2, {channels}),
                     formula(s, 4, {channels})};
    };
    add_layer(list, "batch_norm_" + std::to_string(channels), operands,
              [](const Tensors& t) { return batch_norm(t[0], {}, {}, t[1], t[2], {.training = true}); });
  }
  for (const std::int64_t length : {1024, 4096}) {
    const auto operands = [length](const Settings& s) {
      const std::int64_t n = s.quick ? length / 64 : length;
      return Tensors{formula(s, 1, {1, 8, n, 64}), formula(s, 2, {1, 8, n, 64}), formula(s, 4, {1, 8, n, 64})};
    };
    add_layer(list, "attention_" + std::to_string(length), operands,
              [](const Tensors& t) { return scaled_dot_product_attention(t[0], t[1], t[2]); });
  }
  const auto million = [](const Settings& s) { return formula(s, 1, {s.quick ? 1000 : 1 << 20}); };
  list.push_back({"sort_1M",
                  [=](const Settings& s) { return forward_only([x = million(s)] { return sort(x).values; }); },
                  For::kCpu});
  list.push_back({"topk_1M",
                  [=](const Settings& s) { return forward_only([x = million(s)] { return topk(x, 100).values; }); },
                  For::kCpu});
  const auto vocabulary = [](const Settings& s) { return Tensors{formula(s, 1, {s.quick ? 50 : 30000, 256})}; };
  add_layer(list, "embedding", vocabulary, [index = std::make_shared<Tensor>()](const Tensors& t) {
    if (!index->defined()) *index = scattered(t[0].size(0), 4096);  // made once, as in PyTorch's workload
    return embedding(*index, t[0]);
  });
  const auto table = [](const Settings& s) {
    return std::pair{formula(s, 1, {s.quick ? 16 : 1024, 128}), formula(s, 2, {128})};
  };
  list.push_back({"mul_row_128",
                  [=](const Settings& s) { return forward_only([t = table(s)] { return t.first * t.second; }); },
                  For::kCpu});
  list.push_back({"mul_row_128_backward",
                  [=](const Settings& s) {
                    const auto [x, row] = table(s);
                    return gradients(s, {x, row}, [x = x, row = row] { return x * row; });
                  },
                  For::kCpu});
  list.push_back({"index_select_backward",
                  [](const Settings& s) {
                    const std::int64_t words = s.quick ? 50 : 50000, n = s.quick ? 16 : 2048;
                    const Tensor x = formula(s, 1, {words, 128});
                    const Tensor index = scattered(words, n);
                    return gradients(s, {x}, [x, index] { return index_select(x, 0, index); });
                  },
                  For::kCpu});
  return list;
}

}  // namespace bench
