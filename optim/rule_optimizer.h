#pragma once

#include <array>
#include <iterator>
#include <type_traits>
#include <minnow/optim/optimizer.h>

namespace minnow::optim {

/// Hyper-parameters as a kernel takes them.
using Hyper = std::array<double, 16>;

/// An optimizer of one rule.  `Rule` has the options' struct and names what its kernel takes:
/// see SgdRule (optim/sgd.h).
template <class Rule> class RuleOptimizer : public Optimizer {
 public:
  using Options = typename Rule::Options;

  /// One group.  ValueError for an empty list, an undefined or doubled parameter or options out of range,
  /// AutogradError for the result of a recorded operation, DTypeError unless floating, ShapeError unless dense.
  explicit RuleOptimizer(const std::vector<Tensor>& params, const Options& options = {},
                         SourceLocation where = SourceLocation::current())
      : Optimizer(Rule::kName) {
    add_group(params, options, where);
  }
  /// With this learning rate, and the other options as they are by default: Adam(net.parameters(), 1e-3).
  template <class Number>
  requires std::is_arithmetic_v<Number> RuleOptimizer(const std::vector<Tensor>& params, Number lr,
                                                      SourceLocation where = SourceLocation::current())
      : RuleOptimizer(params, with_lr(static_cast<double>(lr)), where) {}

  /// Adds parameters with options of their own.  Errors as for the constructor.
  void add_group(const std::vector<Tensor>& params, const Options& options = {},
                 SourceLocation where = SourceLocation::current()) {
    check_parameters(params, where);
    Rule::check(options, where);
    options_.push_back(options);
    add_parameters(params);
  }

  /// A group's options, to read or to change between steps.  IndexError.
  Options& options(int group = 0, SourceLocation where = SourceLocation::current()) {
    return options_[checked_group(group, where)];
  }

 private:
  static_assert(std::size(Rule::kStateNames) <= kMaxStates);

  int rule() const override { return Rule::number(); }
  std::span<const char* const> state_names() const override { return Rule::kStateNames; }
  int num_states(std::size_t group) const override { return Rule::num_states(options_[group]); }
  double phase(std::int64_t step, bool fresh) const override { return Rule::phase(step, fresh); }
  std::span<const double> hyper(std::size_t group, double phase) override {
    return {hyper_.data(), Rule::hyper(options_[group], phase, hyper_)};
  }
  std::vector<Field> fields(std::size_t group) const override {
    std::vector<Field> list;
    Rule::each(options_[group], [&](const char* name, auto value) {
      list.push_back({name, static_cast<double>(value), std::is_same_v<decltype(value), bool>});
    });
    return list;
  }
  void check_options(std::size_t group, SourceLocation where) const override { Rule::check(options_[group], where); }
  void check_fields(std::size_t group, const std::vector<Field>& fields, SourceLocation where) const override {
    Rule::check(with_fields(group, fields), where);
  }
  void set_fields(std::size_t group, const std::vector<Field>& fields) override {
    options_[group] = with_fields(group, fields);
  }
  double lr_of(std::size_t group) const override { return options_[group].lr; }
  void set_lr_of(std::size_t group, double lr) override { options_[group].lr = lr; }

  static Options with_lr(double lr) {
    Options options;
    options.lr = lr;
    return options;
  }
  Options with_fields(std::size_t group, const std::vector<Field>& fields) const {
    Options options = options_[group];
    std::size_t i = 0;
    Rule::each(options, [&]<class T>(const char*, T& value) { value = static_cast<T>(fields[i++].value); });
    return options;
  }

  std::vector<Options> options_;
  Hyper hyper_{};
};

}  // namespace minnow::optim
