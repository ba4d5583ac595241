#pragma once

#include <concepts>
#include <cstddef>
#include <utility>
#include <vector>
#include <minnow/optim/optimizer.h>

namespace minnow::dist {

/// Which rank updates which parameters: whole ones, the largest first, each to the rank that has least so far.
class Shards {
 public:
  Shards(std::vector<Tensor> parameters, SourceLocation where);

  const std::vector<Tensor>& parameters() const { return parameters_; }
  /// Those of this rank.
  const std::vector<Tensor>& own() const { return own_; }
  /// Sends each parameter from its rank to the others.
  void share() const;
  /// The state of all parameters from those of the ranks' own; all ranks call it.
  StateDict gathered(const StateDict& own, SourceLocation where) const;
  /// The part of the state of all parameters that is this rank's.
  StateDict own_part(const StateDict& all) const;

 private:
  std::vector<Tensor> parameters_, own_;
  std::vector<int> owners_;           // of each parameter
  std::vector<std::size_t> numbers_;  // of each parameter among its owner's
};

/// An optimizer whose state is divided among the ranks: each keeps the state of 1/size of the parameters, updates
/// these, and sends them to the others.  Steps give the bits of the optimizer itself.  For training with DataParallel,
/// which makes gradients equal on all ranks.  Reference: Rajbhandari et al. 2020, ZeRO (stage 1).
///
///     dist::Sharded<optim::Adam> adam(net.parameters(), {.lr = 1e-3});
///     optim::CosineAnnealingLR schedule(adam.optimizer(), 10);
///
/// One group of parameters.  All ranks make it, and call step(), state_dict() and load_state_dict(), together; so a
/// checkpoint that rank 0 writes gets a state that all have made, not the optimizer:
///
///     StateDict state;
///     checkpoint.add("model", net).add("adam", state);
///     if (checkpoint.resume()) adam.load_state_dict(state);
///     ...
///     state = adam.state_dict();
///     if (process.rank() == 0) checkpoint.save();
template <std::derived_from<optim::Optimizer> O> class Sharded {
 public:
  using Options = typename O::Options;

  /// ValueError if there are more ranks than parameters; otherwise the errors of O.
  explicit Sharded(std::vector<Tensor> parameters, const Options& options = {},
                   SourceLocation where = SourceLocation::current())
      : shards_(std::move(parameters), where), own_(shards_.own(), options, where) {}

  /// Updates all parameters that have a gradient.  Errors of O's step, on the ranks that they concern.
  void step(SourceLocation where = SourceLocation::current()) {
    own_.step(where);
    shards_.share();
  }
  /// Drops the gradients of all parameters.
  void zero_grad() {
    for (const Tensor& p : shards_.parameters()) p.set_grad(Tensor());
  }

  /// That of this rank's parameters, for schedules.
  O& optimizer() { return own_; }

  /// The state of all parameters, as O gives it: a run goes on with another number of ranks, or without.
  StateDict state_dict(SourceLocation where = SourceLocation::current()) const {
    return shards_.gathered(own_.state_dict(), where);
  }
  void load_state_dict(const StateDict& values, SourceLocation where = SourceLocation::current()) {
    own_.load_state_dict(shards_.own_part(values), where);
  }

 private:
  Shards shards_;
  O own_;
};

}  // namespace minnow::dist
