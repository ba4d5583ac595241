#pragma once

#include <memory>
#include <minnow/autograd/node.h>

namespace minnow::autograd {

enum class GradientUse { read, replaced };

/// Tells the step that this thread records, if there is one, that it uses the gradient of a leaf.  A replay leaves the
/// gradient there that the recording left; where the step read it first, it must be the one that was read.
void watch_gradient(const std::shared_ptr<Slot>& slot, GradientUse use);

}  // namespace minnow::autograd
