#include <minnow/nn/module/quantize.h>

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <typeinfo>
#include <unordered_map>
#include <minnow/autograd/grad_mode.h>
#include <minnow/autograd/node.h>
#include <minnow/nn/detail/access.h>
#include <minnow/nn/layers/linear.h>
#include <minnow/nn/recurrent/recurrent.h>
#include <minnow/ops/detail/quantized.h>
#include <minnow/ops/elementwise/unary.h>
#include <minnow/ops/reductions/reduce.h>
#include <minnow/tensor/backend/dispatch.h>
#include <minnow/tensor/error.h>

namespace minnow::nn {
namespace {

using detail::Access;
using detail::Entry;
using detail::State;
using minnow::detail::CallSite;
using minnow::detail::message;
using minnow::detail::QuantizedRows;

bool can_be_quantized(const Module& module) {
  const std::type_info& type = typeid(module);
  return type == typeid(Linear) || type == typeid(LSTM) || type == typeid(GRU);
}

bool is_weight(const Entry& entry) { return entry.tensor.dim() == 2; }

/// A layer and the new values of its weights, in their order.
struct Layer {
  std::shared_ptr<State> state;
  std::vector<QuantizedRows> weights{};
  std::vector<std::string> scale_names{};
};

void check(const Tensor& weight, bool is_shared) {
  const auto text = [&](const std::string& what, const char* hint) {
    return message(what, {{"weight", weight}}, hint);
  };
  if (weight.dtype() != DType::float32)
    throw DTypeError(text("takes layers of float32", "convert the model first: .to(float32)"));
  if (weight.device().is_cuda())
    throw BackendError(text("layers that are quantized to int8 run on the CPU only", "move the model: .to(\"cpu\")"));
  if (weight.size(1) > minnow::detail::kMaxQuantizedInputs)
    throw ValueError(text(fmt::format("a quantized layer has at most {} inputs", minnow::detail::kMaxQuantizedInputs),
                          "quantize the other layers, by modules"));
  if (is_shared)
    throw ValueError(text("several modules hold the weight", "give the layer a weight of its own, or tie it: a = b"));
  if (!std::isfinite(amax(abs(weight.detach())).item()))
    throw ValueError(text("the weight has NaN or infinity", "load or train finite weights first"));
}

/// Takes a tensor from those that are tied to it.
void untie(const Tensor& tensor) {
  auto& tied = tensor.slot()->tied;
  std::erase_if(tied, [&](const auto& weak) {
    const auto one = weak.lock();
    return !one || one == tensor.weak().lock();
  });
  if (tied.size() == 1) tied.clear();
}

/// Replaces the weights of a layer.  Does not allocate: room for the new entries is reserved.
void commit(Layer& layer) {
  State& state = *layer.state;
  std::size_t next = 0;
  for (Entry& entry : state.parameters)
    if (is_weight(entry)) {
      auto& [values, scale] = layer.weights[next];
      if (entry.tensor.slot()) untie(entry.tensor);
      entry.tensor.set_slot(nullptr);
      entry.tensor.set_data(values);
      state.buffers.push_back(std::move(entry));
      state.buffers.push_back({std::move(layer.scale_names[next++]), std::move(scale), true, false});
    }
  std::erase_if(state.parameters, [](const Entry& entry) { return !entry.tensor.defined(); });
  state.places.clear();
}

}  // namespace

namespace detail {

Tensor scale_of(const Module& module, const Tensor& weight) {
  if (weight.dtype() != DType::int8) return {};
  const std::vector<Entry>& buffers = Access::state(module).buffers;
  for (std::size_t i = 0; i + 1 < buffers.size(); ++i)
    if (buffers[i].tensor.id() == weight.id()) return buffers[i + 1].tensor;
  return {};
}

std::string quantized_layer(const Module& module) {
  for (const auto& [name, part] : module.named_modules()) {
    const auto& buffers = Access::state(part).buffers;
    if (std::any_of(buffers.begin(), buffers.end(), [](const Entry& entry) { return !entry.is_member; }))
      return name.empty() ? part.describe() : "'" + name + "'";
  }
  return "";
}

void quantize_layers(const char* op, Module& model, SourceLocation where) {
  const CallSite site(op, where);
  const NoGradGuard no_grad;
  std::unordered_map<const void*, int> uses;
  for (const auto& [name, module] : model.named_modules())
    for (const Entry& entry : Access::state(module).parameters) ++uses[entry.tensor.id()];
  std::vector<Layer> layers;
  for (const auto& [name, module] : model.named_modules()) {
    if (!can_be_quantized(module)) continue;
    const std::shared_ptr<State>& state = Access::shared(module);
    if (!state->derived.empty())
      throw ValueError(fmt::format("{}: a weight of {} is computed (weight_norm)\n  module  {}\ncall "
                                   "remove_parametrizations() on it first",
                                   op, module.describe(), name),
                       where);
    Layer layer{state};
    for (const Entry& entry : state->parameters) {
      if (!is_weight(entry)) continue;
      check(entry.tensor, uses[entry.tensor.id()] > 1);
      layer.weights.push_back(minnow::detail::quantize_rows(entry.tensor.detach()));
      layer.scale_names.push_back(entry.name + "_scale");
      layer.weights.back().scale.set_name(join(state->path, layer.scale_names.back()));
    }
    state->buffers.reserve(state->buffers.size() + 2 * layer.weights.size());
    if (!layer.weights.empty()) layers.push_back(std::move(layer));
  }
  if (layers.empty())
    throw ValueError(
        fmt::format("{}: {} has no Linear, LSTM or GRU of float32\nclasses that are derived from them, and "
                    "layers that are int8 already, are left as they are",
                    op, model.describe()),
        where);
  for (Layer& layer : layers) commit(layer);
  model.requires_grad_(false);
  model.eval();
}

}  // namespace detail
}  // namespace minnow::nn
