#pragma once

#include <functional>
#include <vector>
#include <minnow/nn/module/module.h>

namespace minnow::nn::detail {

/// Runs `call`, which calls the model, in eval mode and recording gradients; modes are restored.  `begin` and `end`
/// hear of each call of the model and its descendants, nested.  Gives the modules that were called and are not
/// registered.
std::vector<Unregistered> observe_calls(const Module& model, const std::function<void()>& call,
                                        const std::function<void(const ForwardPreCall&)>& begin,
                                        const std::function<void(const ForwardCall&)>& end);

}  // namespace minnow::nn::detail
