#pragma once

#include <memory>
#include <typeinfo>
#include <unordered_map>
#include <unordered_set>
#include <vector>
#include <minnow/nn/module/module.h>

namespace minnow::nn::detail {

/// Implements clone(): clones the states and tensors of a module and its descendants.  As long as it lives, a copy of a
/// Module, Parameter or Buffer on this thread refers to the clone of what it copies: a class that holds these by value
/// is copied as deeply as it is registered.
class Cloning {
 public:
  Cloning(const Module& root, const std::type_info& type, SourceLocation where);
  ~Cloning();
  Cloning(const Cloning&) = delete;
  Cloning& operator=(const Cloning&) = delete;

  void copy_children();
  /// ValueError for what the last copy, which was one of `module`, shares with it.
  void check_copy_of(const Module& module) const;
  Tensor clone_of(const Tensor& tensor);
  std::shared_ptr<State> clone_of(const std::shared_ptr<State>& state);

 private:
  void add(const std::shared_ptr<State>& state);
  Tensor add(const Tensor& tensor);
  void check_seen(const State& state, const std::string& owner) const;

  SourceLocation where_;
  Cloning* outer_;
  std::vector<std::shared_ptr<State>> originals_;
  // The clones of states and tensors, and of tied ones the first by identity.  That of a clone is itself.
  std::unordered_map<const State*, std::shared_ptr<State>> states_;
  std::unordered_map<const void*, Tensor> tensors_, tied_;
  std::unordered_set<const void*> seen_;  // what the last copy asked for
};

/// The state itself; inside clone() its clone.
std::shared_ptr<State> shared_or_cloned(const std::shared_ptr<State>& state);

}  // namespace minnow::nn::detail
