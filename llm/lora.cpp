#include <minnow/llm/lora.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fmt/format.h>
#include <minnow/autograd/grad_mode.h>
#include <minnow/llm/detail/lora_config.h>
#include <minnow/llm/linear.h>
#include <minnow/nn/layers/linear.h>
#include <minnow/nn/module/init.h>
#include <minnow/ops/elementwise/arithmetic.h>
#include <minnow/ops/products/matmul.h>
#include <minnow/ops/random/dropout.h>
#include <minnow/tensor/create.h>
#include <minnow/tensor/error.h>
#include <minnow/tensor/internal.h>
#include <minnow/tensor/io/load.h>
#include <minnow/tensor/io/save.h>

namespace minnow::llm::lora {
namespace {

constexpr const char* kPrefix = "base_model.model.";

/// What a target needs of its layer.
struct Layer {
  std::int64_t in = 0, out = 0;  // 0: it is no linear layer
  nn::Parameter weight{};        // undefined if it has few bits
  Device device{};
};

Layer layer_of(nn::Module& module) {
  if (auto* own = dynamic_cast<Linear*>(&module))
    return {own->in_features(), own->out_features(), own->weight, own->device()};
  auto* plain = dynamic_cast<nn::Linear*>(&module);
  if (plain == nullptr || !plain->weight.is_floating_point()) return {};
  return {plain->weight.size(1), plain->weight.size(0), plain->weight, plain->weight.device()};
}

bool is_target(const std::string& name, const std::vector<std::string>& targets) {
  return std::any_of(targets.begin(), targets.end(),
                     [&](const std::string& t) { return name == t || name.ends_with("." + t); });
}

}  // namespace

Adapter::Pair::Pair(std::string name, Tensor w, std::int64_t in, std::int64_t out, std::int64_t rank, Device device)
    : path(std::move(name)), weight(std::move(w)) {
  const double bound = 1 / std::sqrt(static_cast<double>(in));
  lora_A = parameter("lora_A", nn::init::uniform_(empty({rank, in}, {.device = device}), -bound, bound));
  lora_B = parameter("lora_B", zeros({out, rank}, {.device = device}));
}

struct Adapter::State {
  std::vector<HookHandle> hooks;
  bool merged = false;
};

Adapter::Adapter(nn::Module& net, const Options& options, SourceLocation where)
    : options_(options), state_(std::make_shared<State>()) {
  if (options.rank < 1 || !(options.dropout >= 0 && options.dropout < 1))
    throw ValueError(fmt::format("lora::attach: rank must be positive and dropout in [0, 1), got {} and {}",
                                 options.rank, options.dropout),
                     where);
  for (const std::string& target : options.targets) {
    const auto modules = net.named_modules();
    if (std::none_of(modules.begin(), modules.end(),
                     [&](const auto& m) { return is_target(m.name, {target}) && layer_of(m.module).in > 0; }))
      throw ValueError(fmt::format("lora::attach: there is no linear layer '{}'\ntargets are the last names of layers, "
                                   "such as q_proj",
                                   target),
                       where);
  }
  net.requires_grad_(false);
  const double s = options.alpha / (options.rank_stabilized ? std::sqrt(static_cast<double>(options.rank))
                                                            : static_cast<double>(options.rank));
  for (const auto& [name, module] : net.named_modules()) {
    const Layer layer = is_target(name, options.targets) ? layer_of(module) : Layer();
    if (layer.in == 0) continue;
    std::string key = name;  // names of children have no dots
    std::replace(key.begin(), key.end(), '.', '/');
    pairs_.push_back(child(key, Pair(name, layer.weight, layer.in, layer.out, options.rank, layer.device)));
    const Pair& pair = pairs_.back();
    const std::weak_ptr<State> state = state_;  // which has the hook
    state_->hooks.push_back(
        module.register_forward_hook([A = Tensor(pair.lora_A), B = Tensor(pair.lora_B), s, p = options.dropout, state](
                                         nn::Module& m, const Tensor& x, const Tensor& y) {
          const auto alive = state.lock();
          if (!alive || alive->merged) return y;
          const Tensor from = x.to(A.dtype());
          const Tensor low = linear(p > 0 && m.is_training() ? dropout(from, {.p = p}) : from, A);
          return y + (linear(low, B) * s).to(y.dtype());
        }));
  }
}

std::vector<std::string> Adapter::layers() const {
  std::vector<std::string> names;
  for (const Pair& pair : pairs_) names.push_back(pair.path);
  return names;
}

bool Adapter::is_merged() const { return state_->merged; }

void Adapter::add_product(double factor, SourceLocation where) {
  const NoGradGuard no_grad;
  for (const Pair& pair : pairs_)
    if (!pair.weight.defined())
      throw ValueError(
          fmt::format("lora::Adapter::merge: the weight of '{}' has few bits\nkeep the adapter beside it, or "
                      "load the model in float32",
                      pair.path),
          where);
  const double s =
      factor * options_.alpha /
      (options_.rank_stabilized ? std::sqrt(static_cast<double>(options_.rank)) : static_cast<double>(options_.rank));
  for (const Pair& pair : pairs_) {
    const Tensor sum = pair.weight.to(DType::float32) + matmul(pair.lora_B, pair.lora_A) * s;
    Tensor weight = pair.weight.detach();
    copy_(weight, sum.to(weight.dtype()));
  }
}

void Adapter::merge(SourceLocation where) {
  const CallSite site("lora::Adapter::merge", where);
  if (state_->merged) throw ValueError("lora::Adapter::merge: it is merged already\nunmerge() it first", where);
  add_product(1, where);
  state_->merged = true;
}

void Adapter::unmerge(SourceLocation where) {
  const CallSite site("lora::Adapter::unmerge", where);
  if (!state_->merged) throw ValueError("lora::Adapter::unmerge: it is not merged\nmerge() it first", where);
  add_product(-1, where);
  state_->merged = false;
}

StateDict Adapter::peft_state_dict() const {
  StateDict result;
  for (const Pair& pair : pairs_) {
    result.set(kPrefix + pair.path + ".lora_A.weight", pair.lora_A.detach());
    result.set(kPrefix + pair.path + ".lora_B.weight", pair.lora_B.detach());
  }
  return result;
}

void Adapter::save(const std::string& folder, const std::string& base, SourceLocation where) const {
  const CallSite site("lora::Adapter::save", where);
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) throw IoError(fmt::format("lora::Adapter::save: cannot make '{}': {}", folder, error.message()), where);
  const std::filesystem::path path = folder;
  minnow::save(peft_state_dict(), (path / "adapter_model.safetensors").string(), {{"format", "pt"}}, where);
  detail::write_config((path / "adapter_config.json").string(), options_, base, where);
}

Adapter attach(nn::Module& net, const Options& options, SourceLocation where) {
  const CallSite site("lora::attach", where);
  return Adapter(net, options, where);
}

Adapter load(nn::Module& net, const std::string& folder, SourceLocation where) {
  const CallSite site("lora::load", where);
  const std::filesystem::path path = folder;
  const Options options = detail::read_config((path / "adapter_config.json").string(), where);
  const std::string file = (path / "adapter_model.safetensors").string();
  const StateDict values = minnow::load(file, Device(), where);
  Adapter adapter = attach(net, options, where);
  const StateDict own = adapter.peft_state_dict();
  const auto refuse = [&](const std::string& found, const std::string& expected) {
    throw FormatError(fmt::format("lora::load: '{}': found {}\n  expected  {}", file, found, expected), where);
  };
  for (const auto& [name, value] : values)
    if (!own.contains(name)) refuse("the tensor '" + name + "'", "those of the targets alone");
  for (const auto& [name, tensor] : own) {
    const Tensor* const value = values.find(name);
    if (value == nullptr) refuse("no tensor '" + name + "'", "both matrices of each target");
    if (value->shape() != tensor.shape() || !value->is_floating_point())
      refuse("'" + name + "' of " + value->shape().str(), "floating-point " + tensor.shape().str());
  }
  for (const auto& [name, tensor] : own) copy_(tensor, values.at(name).to(DType::float32));
  return adapter;
}

}  // namespace minnow::llm::lora
