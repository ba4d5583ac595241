#pragma once

namespace minnow::nn::detail {

class Call;
class Cloning;
class UnregisteredList;

/// The state of nn on a thread: the innermost of each.
struct ThreadState {
  Call* call = nullptr;                      ///< the module that runs
  UnregisteredList* unregistered = nullptr;  ///< lists modules that are not registered
  Cloning* cloning = nullptr;                ///< the clone() that runs

  static ThreadState& current() noexcept;
};

}  // namespace minnow::nn::detail
