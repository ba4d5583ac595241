#pragma once

#include <algorithm>
#include <memory>
#include <vector>
#include <minnow/optim/optimizer.h>

namespace minnow::optim {

/// Base of optimizers whose step is made of operations, for each parameter by itself, as Muon and Adafactor are.
/// Options has `lr`; `list(f)` names its options as the rules of the others do.
template <class Settings> class ComposedOptimizer : public Optimizer {
 public:
  using Options = Settings;

  /// Adds a group of parameters with the options that the constructor was given.  Errors as for the constructor.
  template <class = void>
  void add_param_group(const std::vector<Tensor>& params, SourceLocation where = SourceLocation::current()) {
    add_param_group(params, defaults_, where);
  }
  /// With its own options, all of them: those that are left out are the class's defaults, not the constructor's.
  void add_param_group(const std::vector<Tensor>& params, const Options& options,
                       SourceLocation where = SourceLocation::current()) {
    check_parameters(params, where);
    for (const Tensor& p : params) check_parameter(p, where);
    auto own = std::make_unique<Options>(options);
    check_options(listed(*own), where);
    settings_.push_back(std::move(own));
    add_parameters(params);
  }
  /// The options that the constructor was given.
  const Options& defaults() const { return defaults_; }
  /// A group's options, to read or to change between steps.  IndexError.
  Options& options(int group = 0, SourceLocation where = SourceLocation::current()) {
    return *settings_[checked_group(group, where)];
  }

 protected:
  ComposedOptimizer(const RuleFacts& facts, const Options& options) : Optimizer(facts), defaults_(options) {}

  virtual void check_parameter(const Tensor&, SourceLocation) const {}
  const Options& settings(std::size_t group) const { return *settings_[group]; }

 private:
  static detail::OptionList listed(Options& options) {
    detail::OptionList list;
    options.list(list);
    return list;
  }
  detail::OptionList options_of(std::size_t group) const override { return listed(*settings_[group]); }
  void constants_of(std::size_t, std::int64_t, bool, double*) const override {}

  const Options defaults_;
  std::vector<std::unique_ptr<Options>> settings_;  // pointers: references stay valid when groups are added
};

}  // namespace minnow::optim
