#pragma once

namespace minnow::nn::detail {

class Call;
class Cloning;
class StrayList;

/// What nn knows of a thread: the innermost of each.
struct ThreadState {
  Call* call = nullptr;         ///< a module that runs
  StrayList* strays = nullptr;  ///< where those that are not registered are listed
  Cloning* cloning = nullptr;   ///< clone(), in which a copy is a twin

  static ThreadState& current() noexcept;
};

}  // namespace minnow::nn::detail
