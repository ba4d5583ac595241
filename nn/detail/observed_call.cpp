#include <minnow/nn/detail/observed_call.h>

#include <memory>
#include <utility>
#include <minnow/autograd/grad_mode.h>
#include <minnow/nn/detail/access.h>

namespace minnow::nn::detail {
namespace {

/// Eval mode for a scope; restores the mode of each module.
class EvalScope {
 public:
  explicit EvalScope(const std::vector<NamedModule>& modules) {
    for (const auto& [name, module] : modules) modes_.emplace_back(Access::shared(module), module.is_training());
    for (const auto& [state, training] : modes_) state->training = false;
  }
  ~EvalScope() {
    for (const auto& [state, training] : modes_) state->training = training;
  }
  EvalScope(const EvalScope&) = delete;
  EvalScope& operator=(const EvalScope&) = delete;

 private:
  std::vector<std::pair<std::shared_ptr<State>, bool>> modes_;
};

}  // namespace

std::vector<Unregistered> observe_calls(const Module& model, const std::function<void()>& call,
                                        const std::function<void(const ForwardPreCall&)>& begin,
                                        const std::function<void(const ForwardCall&)>& end) {
  const auto modules = model.named_modules();
  std::vector<HookHandle> hooks;
  hooks.reserve(2 * modules.size());
  for (const auto& [name, module] : modules) {
    hooks.push_back(module.register_forward_pre_hook([&](const ForwardPreCall& begun) { begin(begun); }));
    hooks.push_back(module.register_forward_hook([&](const ForwardCall& done) { end(done); }));
  }
  const UnregisteredList unregistered;
  const EvalScope eval(modules);
  const AutoGradMode recording(true);
  call();
  return unregistered.modules();
}

}  // namespace minnow::nn::detail
