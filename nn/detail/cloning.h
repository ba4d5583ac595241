#pragma once

#include <memory>
#include <typeinfo>
#include <unordered_map>
#include <unordered_set>
#include <minnow/nn/module.h>

namespace minnow::nn::detail {

/// Implements clone(): clones the states and tensors of a module and its descendants.  While it is active on this
/// thread, a copy of a Module, Parameter or Buffer refers to the clone.  finish() ends that, and checks that the copy
/// shares no tensor with the original.
class Cloning {
 public:
  Cloning(const Module& root, const std::type_info& type, SourceLocation where);
  ~Cloning() { deactivate(); }
  Cloning(const Cloning&) = delete;
  Cloning& operator=(const Cloning&) = delete;

  void finish();

 private:
  friend std::shared_ptr<State> shared_or_cloned(const std::shared_ptr<State>& state);
  friend class RegisteredTensor;

  void add_clones(const std::shared_ptr<State>& state);
  void copy_children(const State& state);
  void check_seen(const State& state, const std::string& owner) const;
  Tensor cloned(const Tensor& tensor);
  Tensor copy_of(const Tensor& tensor);
  void deactivate();

  const Module& root_;
  SourceLocation where_;
  Cloning* outer_ = nullptr;
  bool active_ = false;
  std::unordered_map<const State*, std::shared_ptr<State>> states_;
  std::unordered_map<const void*, Tensor> tensors_;
  std::unordered_map<const void*, Tensor> tied_;  // by identity: the first clone of tied tensors
  std::unordered_set<const void*> clones_;        // states and tensors of the clone: their copies share
  std::unordered_set<const void*> seen_;          // originals that the running copy asked for
};

/// The state itself; inside clone() its clone.
std::shared_ptr<State> shared_or_cloned(const std::shared_ptr<State>& state);

}  // namespace minnow::nn::detail
