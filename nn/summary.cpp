#include <minnow/nn/summary.h>

#include <algorithm>
#include <fmt/format.h>
#include <unordered_map>
#include <minnow/autograd/grad_mode.h>
#include <minnow/nn/detail/access.h>
#include <minnow/tensor/create.h>
#include <minnow/tensor/error.h>
#include <minnow/tensor/internal.h>

namespace minnow::nn {
namespace {

/// Eval mode for a scope; restores the mode of each module.
class EvalScope {
 public:
  explicit EvalScope(const std::vector<NamedModule>& modules) {
    for (const auto& [name, module] : modules)
      modes_.emplace_back(detail::Access::shared(module), module.is_training());
    for (const auto& [state, training] : modes_) state->training = false;
  }
  ~EvalScope() {
    for (const auto& [state, training] : modes_) state->training = training;
  }
  EvalScope(const EvalScope&) = delete;
  EvalScope& operator=(const EvalScope&) = delete;

 private:
  std::vector<std::pair<std::shared_ptr<detail::State>, bool>> modes_;
};

struct Row {
  std::string layer, shape, count;
};

std::string grouped(std::int64_t n) {
  std::string text = std::to_string(n);
  for (auto i = static_cast<std::ptrdiff_t>(text.size()) - 3; i > 0; i -= 3)
    text.insert(static_cast<std::size_t>(i), 1, ',');
  return text;
}

std::string table(const std::vector<Row>& rows, std::int64_t total, std::int64_t trainable) {
  std::size_t layer = 0, shape = 0, count = 0;
  for (const Row& row : rows) {
    layer = std::max(layer, row.layer.size());
    shape = std::max(shape, row.shape.size());
    count = std::max(count, row.count.size());
  }
  std::string text;
  for (const Row& row : rows) {
    text += fmt::format("{:<{}}  {:<{}}  {:>{}}\n", row.layer, layer, row.shape, shape, row.count, count);
    if (&row == &rows.front()) text += std::string(layer + shape + count + 4, '-') + "\n";
  }
  text += std::string(layer + shape + count + 4, '-') + "\n";
  return text + fmt::format("parameters: {}, trainable: {}\n", grouped(total), grouped(trainable));
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
  std::unordered_map<const State*, std::string> shapes;
  std::vector<HookHandle> hooks;
  hooks.reserve(modules.size());
  for (const auto& [name, module] : modules)
    hooks.push_back(module.register_forward_hook(
        [&](const ForwardCall& done) { shapes.emplace(&Access::state(done.module), shapes_of(done.outputs)); }));
  const UnregisteredList unregistered;
  {
    const EvalScope eval(modules);
    const NoGradGuard guard;
    call();
  }

  std::vector<Row> rows{{"layer", "output", "parameters"}};
  for (const auto& [name, module] : modules) {
    const auto& state = detail::Access::state(module);
    std::int64_t own = 0;
    for (const auto& entry : state.parameters) own += entry.tensor.numel();
    const auto depth = static_cast<std::size_t>(name.empty() ? 0 : 1 + std::count(name.begin(), name.end(), '.'));
    const std::string last = name.substr(name.find_last_of('.') + 1);
    const auto found = shapes.find(&state);
    rows.push_back({std::string(2 * depth, ' ') + (last.empty() ? "" : last + ": ") + module.describe(),
                    found == shapes.end() ? "-" : found->second, own ? grouped(own) : "-"});
  }
  std::int64_t total = 0, trainable = 0;
  for (const Tensor& p : parameters) {
    total += p.numel();
    if (p.requires_grad()) trainable += p.numel();
  }
  return table(rows, total, trainable) + list_of(unregistered.modules());
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
