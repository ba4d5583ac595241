#pragma once

#include <memory>
#include <minnow/autograd/node.h>

namespace minnow::autograd {

enum class GradientUse { read, replaced };

/// Notes in this thread's capture, if there is one, that the step uses the gradient of a leaf.  After a replay the leaf
/// has the gradient tensor that the capture gave it.  If the step read the gradient before it replaced it, a replay
/// needs the leaf to have the gradient tensor that was read; otherwise the step is captured again.
void watch_gradient(const std::shared_ptr<Slot>& slot, GradientUse use);

}  // namespace minnow::autograd
