#include <minnow/nn/module/summary.h>

#include <algorithm>
#include <fmt/format.h>
#include <unordered_map>
#include <minnow/nn/detail/access.h>
#include <minnow/nn/detail/observed_call.h>
#include <minnow/ops/detail/work_count.h>
#include <minnow/tensor/create.h>
#include <minnow/tensor/error.h>
#include <minnow/tensor/internal.h>
#include <minnow/tensor/runtime/memory.h>

namespace minnow::nn {
namespace {

struct Row {
  std::string layer, shape, count, work;
};

/// What a module did.
struct Measured {
  std::string shapes;
  std::int64_t multiply_adds;  // without those of modules that it called
};

std::string grouped(std::int64_t n) {
  std::string text = std::to_string(n);
  for (auto i = static_cast<std::ptrdiff_t>(text.size()) - 3; i > 0; i -= 3)
    text.insert(static_cast<std::size_t>(i), 1, ',');
  return text;
}

std::string table(const std::vector<Row>& rows) {
  std::size_t layer = 0, shape = 0, count = 0, work = 0;
  for (const Row& row : rows) {
    layer = std::max(layer, row.layer.size());
    shape = std::max(shape, row.shape.size());
    count = std::max(count, row.count.size());
    work = std::max(work, row.work.size());
  }
  const std::string line = std::string(layer + shape + count + work + 6, '-') + "\n";
  std::string text;
  for (const Row& row : rows) {
    text += fmt::format("{:<{}}  {:<{}}  {:>{}}  {:>{}}\n", row.layer, layer, row.shape, shape, row.count, count,
                        row.work, work);
    if (&row == &rows.front()) text += line;
  }
  return text + line;
}

/// "1.5 MB"
std::string bytes_text(std::int64_t bytes) {
  const auto n = static_cast<double>(bytes);
  return n < 1e6   ? fmt::format("{:.1f} KB", n / 1e3)
         : n < 1e9 ? fmt::format("{:.1f} MB", n / 1e6)
                   : fmt::format("{:.1f} GB", n / 1e9);
}

std::string shapes_of(std::span<const Tensor> tensors) {
  std::string text;
  for (const Tensor& t : tensors) text += (text.empty() ? "" : ", ") + (t.defined() ? t.shape().str() : "-");
  return text.empty() ? "-" : text;
}

std::string list_of(const std::vector<detail::Unregistered>& modules) {
  std::string text;
  for (const auto& [state, module, caller] : modules)
    text += "not registered: " + module + ", which " + caller +
            " calls; it is not trained, saved or moved: register it by child(\"name\", ...)\n";
  return text;
}

}  // namespace

Tensor detail::summary_input(const Module& model, const Shape& shape, SourceLocation where) {
  const auto parameters = model.parameters();
  const CallSite site("summary", where);
  if (parameters.empty()) return zeros(shape, {}, where);
  return zeros(shape, {parameters[0].dtype(), parameters[0].device()}, where);
}

std::string detail::summary_of(const Module& model, const std::function<void()>& call) {
  const auto modules = model.named_modules();
  const auto parameters = model.parameters();
  std::unordered_map<const State*, Measured> measured;
  struct Open {
    std::int64_t before, of_children;
  };
  std::vector<Open> open;
  const minnow::detail::WorkCount work;
  const Device device = parameters.empty() ? Device() : parameters[0].device();
  std::int64_t activations = 0;
  const auto unregistered = observe_calls(
      model, call,
      [&](const ForwardPreCall&) {
        if (open.empty()) activations -= memory_stats(device).allocated;
        open.push_back({work.multiply_adds(), 0});
      },
      [&](const ForwardCall& done) {
        const std::int64_t all = work.multiply_adds() - open.back().before;
        measured.emplace(&Access::state(done.module), Measured{shapes_of(done.outputs), all - open.back().of_children});
        open.pop_back();
        if (!open.empty()) open.back().of_children += all;
        else activations += memory_stats(device).allocated;
      });

  std::vector<Row> rows{{"layer", "output", "parameters", "multiply-adds"}};
  for (const auto& [name, module] : modules) {
    const auto& state = detail::Access::state(module);
    std::int64_t own = 0;
    for (const auto& entry : state.parameters) own += entry.tensor.numel();
    const auto depth = static_cast<std::size_t>(name.empty() ? 0 : 1 + std::count(name.begin(), name.end(), '.'));
    const std::string last = name.substr(name.find_last_of('.') + 1);
    const auto found = measured.find(&state);
    const bool called = found != measured.end();
    rows.push_back({std::string(2 * depth, ' ') + (last.empty() ? "" : last + ": ") + module.describe(),
                    called ? found->second.shapes : "-", own ? grouped(own) : "-",
                    called && found->second.multiply_adds ? grouped(found->second.multiply_adds) : "-"});
  }
  std::int64_t total = 0, trainable = 0;
  for (const Tensor& p : parameters) {
    total += p.numel();
    if (p.requires_grad()) trainable += p.numel();
  }
  return table(rows) +
         fmt::format("parameters: {}, trainable: {}\nmultiply-adds: {}, activations: {}\n", grouped(total),
                     grouped(trainable), grouped(work.multiply_adds()), bytes_text(activations)) +
         list_of(unregistered);
}

std::string summary(const Module& model, const Shape& input, SourceLocation where) {
  return detail::summary_of(model, [&] { model({detail::summary_input(model, input, where), where}); });
}
std::string summary(const Module& model, const In& x) {
  return detail::summary_of(model, [&] { model({*x, x.where}); });
}
std::string summary(const Module& model, const In& x, const In& y) {
  return detail::summary_of(model, [&] { model({*x, x.where}, y); });
}
std::string summary(const Module& model, const In& x, const In& y, const In& z) {
  return detail::summary_of(model, [&] { model({*x, x.where}, y, z); });
}
std::string summary(const Module& model, const In& x, const In& y, const In& z, const In& w) {
  return detail::summary_of(model, [&] { model({*x, x.where}, y, z, w); });
}

}  // namespace minnow::nn
