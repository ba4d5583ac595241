#pragma once

#include <memory>
#include <typeinfo>
#include <unordered_map>
#include <unordered_set>
#include <minnow/nn/module.h>

namespace minnow::nn::detail {

/// The work of clone(): makes twins of all states and tensors below a module; while it is active on this thread,
/// copying a Module, Parameter or Buffer gives the twin.  finish() ends that, and checks that the copy holds no
/// tensor of the original.
class Cloning {
 public:
  Cloning(const Module& root, const std::type_info& type, SourceLocation where);
  ~Cloning() { deactivate(); }
  Cloning(const Cloning&) = delete;
  Cloning& operator=(const Cloning&) = delete;

  void finish();

 private:
  friend std::shared_ptr<State> twin_of(const std::shared_ptr<State>& state);
  friend class Held;

  void add_twins(const std::shared_ptr<State>& state);
  void copy_children(const State& state);
  void check_seen(const State& state, const std::string& root) const;
  Tensor twin_of(const Tensor& tensor);
  void deactivate();

  const Module& root_;
  SourceLocation where_;
  Cloning* outer_ = nullptr;
  bool active_ = false;
  std::unordered_map<const State*, std::shared_ptr<State>> states_;
  std::unordered_map<const void*, Tensor> tensors_;
  std::unordered_set<const void*> twins_;  // what came out, which copies as itself
  std::unordered_set<const void*> seen_;   // originals that the present copy asked for
};

/// The state itself, or its twin inside clone().
std::shared_ptr<State> twin_of(const std::shared_ptr<State>& state);

}  // namespace minnow::nn::detail
