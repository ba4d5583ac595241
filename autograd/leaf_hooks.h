#pragma once

#include <vector>
#include <minnow/autograd/node.h>

namespace minnow::autograd {

/// The hooks of a leaf, which others may add and remove meanwhile.
std::vector<LeafHook> hooks_of(Slot& leaf);
/// Whether any hook waits for the grad() of a leaf: it hears of that while the nodes behind the leaf still wait.
bool leaves_are_awaited();

}  // namespace minnow::autograd
