#pragma once

namespace minnow::autograd {

class Node;
class RunningNode;

/// What autograd knows of a thread.
struct ThreadState {
  bool records = true;             ///< is_grad_enabled()
  bool in_hook = false;            ///< a gradient hook of the user's runs
  RunningNode* running = nullptr;  ///< the innermost
  // Nodes that are yet to be destroyed, a list through Node::next_doomed_, while one is.
  Node* doomed = nullptr;
  bool destroying = false;

  static ThreadState& current() noexcept;
};

}  // namespace minnow::autograd
