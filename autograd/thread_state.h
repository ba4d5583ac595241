#pragma once

#include <functional>
#include <vector>

namespace minnow {
class AutoGradMode;
}

namespace minnow::autograd {

class Node;
class RunningNode;

/// The state of autograd on a thread.
struct ThreadState {
  bool records = true;                                           ///< is_grad_enabled()
  AutoGradMode* innermost_mode = nullptr;                        ///< of the guards
  bool in_hook = false;                                          ///< a gradient hook of the user is running
  std::vector<std::function<void()>>* after_backward = nullptr;  ///< of the backward that runs
  RunningNode* running = nullptr;                                ///< the innermost running node
  /// The function of checkpoint().
  struct Checkpoint {
    bool runs = false;
    bool again = false;  ///< in backward
  };
  Checkpoint checkpoint{};
  // While a node is destroyed: those to be destroyed after it, a list through Node::next_to_destroy_.
  Node* to_destroy = nullptr;
  bool destroying = false;

  static ThreadState& current() noexcept;
};

}  // namespace minnow::autograd
