#include <algorithm>
#include <iterator>
#include <span>
#include <vector>
#include <minnow/capi/detail/call.h>
#include <minnow/nn/losses/likelihood_loss.h>
#include <minnow/nn/losses/loss.h>
#include <minnow/optim/optimizers.h>
#include <minnow/tensor/io/load.h>
#include <minnow/tensor/io/save.h>

namespace minnow::capi {
namespace {

const char* name_at(const Call& call, const std::vector<std::string>& names, int index) {
  if (index < 0 || index >= std::ssize(names))
    throw IndexError(std::string(call.op) + ": there are " + std::to_string(names.size()) + " names\n  index  " +
                         std::to_string(index),
                     call.where);
  return kept(names[static_cast<std::size_t>(index)]);
}

std::vector<std::string> parameter_names(const onnx::Model& model) {
  std::vector<std::string> names;
  for (const nn::NamedTensor& p : model.named_parameters()) names.push_back(p.name);
  return names;
}

Tensor loss_of(const Call& call, std::string_view name, const Tensor& x, const Tensor& target) {
  if (name == "cross_entropy") return nn::cross_entropy(x, target);
  if (name == "nll_loss") return nn::nll_loss(x, target);
  if (name == "mse_loss") return nn::mse_loss(x, target);
  if (name == "l1_loss") return nn::l1_loss(x, target);
  if (name == "binary_cross_entropy_with_logits") return nn::binary_cross_entropy_with_logits(x, target);
  call.refuse("there is no loss '" + std::string(name) +
              "'\nit is cross_entropy, nll_loss, mse_loss, l1_loss or binary_cross_entropy_with_logits");
}

std::shared_ptr<optim::Optimizer> optimizer_of(const Call& call, std::string_view name, const onnx::Model& model,
                                               double lr, double weight_decay) {
  const std::vector<Tensor> params = model.parameters();
  const auto made = [&]<class O>(std::type_identity<O>) {
    typename O::Options options;
    options.lr = lr;
    options.weight_decay = weight_decay;
    return std::make_shared<O>(params, options, call.where);
  };
  if (name == "sgd") return made(std::type_identity<optim::SGD>());
  if (name == "adam") return made(std::type_identity<optim::Adam>());
  if (name == "adamw") return made(std::type_identity<optim::AdamW>());
  call.refuse("there is no optimizer '" + std::string(name) + "'\nit is sgd, adam or adamw");
}

}  // namespace
}  // namespace minnow::capi

using namespace minnow;
using namespace minnow::capi;

minnow_status minnow_module_load(const char* path, minnow_module** result) {
  return run(__func__, result, [&](const Call& call) {
    call.put(std::make_shared<onnx::Model>(onnx::load(call.given(path, "path"), call.where)), result);
  });
}

void minnow_module_free(minnow_module* module) { handles().modules.remove(reinterpret_cast<std::uintptr_t>(module)); }

minnow_status minnow_module_num_inputs(const minnow_module* module, int* count) {
  return run(__func__, count,
             [&](const Call& call) { *count = static_cast<int>(call.get(module)->input_names().size()); });
}

minnow_status minnow_module_num_outputs(const minnow_module* module, int* count) {
  return run(__func__, count,
             [&](const Call& call) { *count = static_cast<int>(call.get(module)->output_names().size()); });
}

minnow_status minnow_module_input_name(const minnow_module* module, int index, const char** name) {
  return run(__func__, name, [&](const Call& call) { *name = name_at(call, call.get(module)->input_names(), index); });
}

minnow_status minnow_module_output_name(const minnow_module* module, int index, const char** name) {
  return run(__func__, name, [&](const Call& call) { *name = name_at(call, call.get(module)->output_names(), index); });
}

minnow_status minnow_module_forward(const minnow_module* module, const minnow_tensor* const* inputs, int num_inputs,
                                    minnow_tensor** outputs, int num_outputs) {
  for (int i = 0; outputs && i < num_outputs; ++i) outputs[i] = nullptr;
  return run(__func__, [&](const Call& call) {
    const auto model = call.get(module);
    const auto require = [&](const char* what, int given, std::size_t least, std::size_t most) {
      if (given < 0 || static_cast<std::size_t>(given) < least || static_cast<std::size_t>(given) > most)
        call.refuse("the module has " + std::to_string(most) + " " + what + ", " + std::to_string(given) +
                    " were given");
    };
    require("inputs", num_inputs, model->input_names().size(), model->input_names().size());
    require("outputs", num_outputs, 0, model->output_names().size());
    std::vector<Tensor> x;
    x.reserve(model->input_names().size());
    for (int i = 0; i < num_inputs; ++i)
      x.push_back(*call.get(call.given(inputs, "inputs")[i], ("inputs[" + std::to_string(i) + "]").c_str()));
    if (num_outputs) call.given(outputs, "outputs");
    const std::vector<Tensor> y = (*model)(std::move(x), call.where);
    std::vector<std::shared_ptr<Tensor>> made;
    for (const Tensor& t : std::span(y).first(static_cast<std::size_t>(num_outputs)))
      made.push_back(std::make_shared<Tensor>(t));
    for (int i = 0; i < num_outputs; ++i) call.put(made[static_cast<std::size_t>(i)], &outputs[i]);
  });
}

minnow_status minnow_module_train(minnow_module* module, int on) {
  return run(__func__, [&](const Call& call) { call.get(module)->train(on != 0); });
}

minnow_status minnow_module_to(minnow_module* module, const char* device) {
  return run(__func__, [&](const Call& call) { call.get(module)->to(call.device(device), call.where); });
}

minnow_status minnow_module_num_parameters(const minnow_module* module, int* count) {
  return run(__func__, count,
             [&](const Call& call) { *count = static_cast<int>(call.get(module)->parameters().size()); });
}

minnow_status minnow_module_parameter_name(const minnow_module* module, int index, const char** name) {
  return run(__func__, name,
             [&](const Call& call) { *name = name_at(call, parameter_names(*call.get(module)), index); });
}

minnow_status minnow_module_parameter(const minnow_module* module, const char* name, minnow_tensor** result) {
  return run(__func__, result, [&](const Call& call) {
    const auto model = call.get(module);
    call.given(name, "name");
    std::string names;
    std::vector<nn::NamedTensor> named = model->named_parameters();
    std::ranges::move(model->named_buffers(), std::back_inserter(named));
    for (const auto& [own, tensor] : named) {
      if (own == name) return call.put(std::make_shared<Tensor>(tensor), result);
      names += "\n  " + own;
    }
    throw IndexError(std::string(call.op) + ": the module has no parameter '" + name + "'; it has" + names, call.where);
  });
}

minnow_status minnow_module_save(const minnow_module* module, const char* path) {
  return run(__func__, [&](const Call& call) {
    const auto model = call.get(module);
    const std::string to = call.given(path, "path");
    if (!to.ends_with(".safetensors"))
      call.refuse("weights are saved as safetensors\n  path  " + to + "\nend its name with .safetensors");
    save(model->state_dict(), to, Metadata{}, call.where);
  });
}

minnow_status minnow_module_load_weights(minnow_module* module, const char* path) {
  return run(__func__, [&](const Call& call) {
    const auto model = call.get(module);
    model->load_state_dict(load(call.given(path, "path"), Device(), call.where), {}, call.where);
  });
}

minnow_status minnow_loss(const char* name, const minnow_tensor* x, const minnow_tensor* target,
                          minnow_tensor** result) {
  return run(__func__, result, [&](const Call& call) {
    const auto output = call.get(x, "x"), wanted = call.get(target, "target");
    call.put(std::make_shared<Tensor>(loss_of(call, call.given(name, "name"), *output, *wanted)), result);
  });
}

minnow_status minnow_optimizer_new(const minnow_module* module, const char* name, double lr, double weight_decay,
                                   minnow_optimizer** result) {
  return run(__func__, result, [&](const Call& call) {
    const auto model = call.get(module);
    call.put(optimizer_of(call, call.given(name, "name"), *model, lr, weight_decay), result);
  });
}

void minnow_optimizer_free(minnow_optimizer* optimizer) {
  handles().optimizers.remove(reinterpret_cast<std::uintptr_t>(optimizer));
}

minnow_status minnow_optimizer_step(minnow_optimizer* optimizer) {
  return run(__func__, [&](const Call& call) { call.get(optimizer)->step(call.where); });
}

minnow_status minnow_optimizer_zero_grad(minnow_optimizer* optimizer) {
  return run(__func__, [&](const Call& call) { call.get(optimizer)->zero_grad(); });
}

minnow_status minnow_optimizer_set_lr(minnow_optimizer* optimizer, double lr) {
  return run(__func__, [&](const Call& call) { call.get(optimizer)->set_lr(lr, call.where); });
}

minnow_status minnow_optimizer_set_momentum(minnow_optimizer* optimizer, double momentum) {
  return run(__func__, [&](const Call& call) { call.get(optimizer)->set_momentum(0, momentum, call.where); });
}
