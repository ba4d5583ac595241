#include <minnow/nn/module/functional_call.h>

#include <memory>
#include <unordered_map>
#include <minnow/autograd/node.h>
#include <minnow/nn/detail/access.h>
#include <minnow/tensor/error.h>

namespace minnow::nn::detail {

struct Substitution::Former {
  Tensor tensor;
  Tensor data;  ///< a handle of its own of what the tensor was
  std::shared_ptr<autograd::Slot> slot;
};

namespace {

/// Every parameter and buffer with each of its names.
void add_named(const State& module, const std::string& path, std::unordered_map<std::string, Tensor>& out) {
  for (const Entry& entry : module.parameters) out.emplace(join(path, entry.name), entry.tensor);
  for (const Entry& entry : module.buffers) out.emplace(join(path, entry.name), entry.tensor);
  for (const Child& child : module.children) add_named(Access::state(*child.module), join(path, child.name), out);
}

}  // namespace

Substitution::Substitution(const Module& module, const NamedWeights& weights) {
  const char* op = "functional_call";
  std::unordered_map<std::string, Tensor> own;
  add_named(Access::state(module), "", own);
  std::vector<Former> formers;
  std::vector<Former> values;  // handles of their own: a value may be another tensor of the module
  for (const auto& [name, value] : weights.items) {
    const auto found = own.find(name);
    if (found == own.end())
      throw ValueError(std::string(op) + ": there is no parameter or buffer '" + name + "'\n  module  " +
                           module.describe() + "\ngive names of named_parameters() and named_buffers()",
                       weights.where);
    if (!value.defined())
      throw ValueError(std::string(op) + ": '" + name + "' is undefined\ngive a tensor, or leave the name out",
                       weights.where);
    const auto add = [&, given = value](const Tensor& tensor) {
      formers.push_back({tensor, tensor.detach(), tensor.slot()});
      values.push_back({given, given.detach(), given.slot()});
    };
    const auto& slot = found->second.slot();
    if (!slot || slot->tied.empty()) add(found->second);
    else
      for (const auto& weak : slot->tied)
        if (const auto impl = weak.lock()) add(Tensor(impl));
  }
  formers_ = std::move(formers);  // nothing has changed so far; what follows does not throw
  for (std::size_t i = 0; i < formers_.size(); ++i) {
    formers_[i].tensor.set_data(values[i].data);
    formers_[i].tensor.set_slot(values[i].slot);
  }
}

Substitution::~Substitution() {
  for (auto former = formers_.rbegin(); former != formers_.rend(); ++former) {
    former->tensor.set_data(former->data);
    former->tensor.set_slot(former->slot);
  }
}

}  // namespace minnow::nn::detail
