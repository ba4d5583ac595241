#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <concepts>
#include <iterator>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>
#include <minnow/optim/optimizer.h>
#include <minnow/tensor/kernels/update.h>

namespace minnow::optim {

namespace detail {

/// A module, which this part does not know.
template <class M>
concept HasParameters = !std::derived_from<M, Optimizer> && requires(const M& m) {
  { m.parameters() } -> std::same_as<std::vector<Tensor>>;
};

/// Options with another framework's name of the rate, which are none here; the others are in the order of the
/// optimizers.
struct OtherOptions {
  double learning_rate, momentum, dampening;
  std::pair<double, double> betas;
  double eps, weight_decay;
  bool nesterov, amsgrad, maximize;
};

template <class Rule> struct LoopsOf : std::type_identity<Rule> {};
template <class Rule>
requires requires { typename Rule::Loops; }
struct LoopsOf<Rule> : std::type_identity<typename Rule::Loops> {};

}  // namespace detail

/// The optimizer of a rule.  The optimizers and their options are declared beside their rules: SGD, Adam and so on are
/// in tensor/kernels/rules/.
template <class Rule> class RuleOptimizer : public Optimizer {
 public:
  using Options = typename Rule::Options;

  /// One group of parameters.  ValueError for an empty list, an undefined or repeated parameter, or options out of
  /// range; AutogradError for the result of a recorded operation, DTypeError unless floating-point, ShapeError unless
  /// dense.
  explicit RuleOptimizer(const std::vector<Tensor>& params, const Options& options = {},
                         SourceLocation where = SourceLocation::current())
      : Optimizer(facts()), defaults_(options) {
    add_param_group(params, options, where);
  }
  /// With this learning rate, and default values of the other options: Adam(net.parameters(), 1e-3).
  template <class Number>
  requires std::is_arithmetic_v<Number> RuleOptimizer(const std::vector<Tensor>& params, Number lr,
                                                      SourceLocation where = SourceLocation::current())
      : RuleOptimizer(params, with_lr(static_cast<double>(lr)), where) {}

  /// Does not compile, and says what to write.  (A template, so that options of both kinds are Options.)
  template <class O = detail::OtherOptions>
  RuleOptimizer(const std::vector<Tensor>& params, const std::type_identity_t<O>&) : RuleOptimizer(params) {
    static_assert(!sizeof(O), "the learning rate is called lr: {.lr = 1e-3}");
  }
  /// Of a module: does not compile, and says what to write.
  template <detail::HasParameters M>
  explicit RuleOptimizer(const M& net, const Options& options = {}) : RuleOptimizer(net.parameters(), options) {
    static_assert(!sizeof(M), "an optimizer takes the parameters of a module: net.parameters()");
  }
  template <detail::HasParameters M, class Number>
  requires std::is_arithmetic_v<Number> RuleOptimizer(const M& net, Number lr) : RuleOptimizer(net.parameters(), lr) {
    static_assert(!sizeof(M), "an optimizer takes the parameters of a module: net.parameters()");
  }

  /// With options by name and parameter: `options_of(name, parameter)` gives them, and parameters whose options are
  /// equal are a group, in the order of their first parameters.  No decay for biases and norms:
  ///
  ///     optim::AdamW adamw(net.named_parameters(), [](const std::string& name, const Tensor& p) {
  ///       return optim::AdamWOptions{.lr = 1e-3, .weight_decay = p.dim() < 2 ? 0 : 0.1};
  ///     });
  template <class Named, class F>
  requires std::is_invocable_r_v<Options, F&, const std::string&, const Tensor&> RuleOptimizer(
      const std::vector<Named>& named, F&& options_of, SourceLocation where = SourceLocation::current())
      : Optimizer(facts()) {
    std::vector<std::pair<Options, std::vector<Tensor>>> groups;
    for (const Named& n : named) {
      Options own = options_of(n.name, n.tensor);
      const auto group =
          std::find_if(groups.begin(), groups.end(), [&](auto& g) { return list(g.first) == list(own); });
      if (group != groups.end()) group->second.push_back(n.tensor);
      else groups.emplace_back(own, std::vector{n.tensor});
    }
    if (groups.empty()) check_parameters({}, where);
    for (const auto& [options, params] : groups) add_param_group(params, options, where);
  }

  /// Adds a group of parameters with the options that the constructor was given.  Errors as for the constructor.
  template <class = void>
  void add_param_group(const std::vector<Tensor>& params, SourceLocation where = SourceLocation::current()) {
    add_param_group(params, defaults_, where);
  }
  /// With its own options, all of them: those that are left out are the class's defaults, not the constructor's.
  void add_param_group(const std::vector<Tensor>& params, const Options& options,
                       SourceLocation where = SourceLocation::current()) {
    check_parameters(params, where);
    auto own = std::make_unique<Options>(options);
    check_options(list(*own), where);
    options_.push_back(std::move(own));
    add_parameters(params);
  }

  /// The options that the constructor was given, to change one for a group: `auto o = sgd.defaults(); o.lr = 0.01;`.
  const Options& defaults() const { return defaults_; }
  /// A group's options, to read or to change between steps.  IndexError.
  Options& options(int group = 0, SourceLocation where = SourceLocation::current()) {
    return *options_[checked_group(group, where)];
  }

 private:
  static constexpr auto kStateNames = [] {
    std::array<const char*, std::size(Rule::kStates)> names{};
    for (std::size_t k = 0; k < names.size(); ++k) names[k] = Rule::kStates[k].name;
    return names;
  }();
  static constexpr std::size_t kNumOptions = [] {
    Options options;
    std::size_t n = 0;
    Rule::options(options, [&](auto&&...) { ++n; });
    return n;
  }();
  /// The rule whose loops make the step: its own, unless it names one that differs in the constants alone.
  using Loops = typename detail::LoopsOf<Rule>::type;
  static_assert(detail::kernels::kIndexOf<detail::kernels::UpdateRules, Loops> >= 0,
                "add the rule to the list in kernels/update.h");
  static_assert(detail::kernels::kNumStates<Rule> <= detail::UpdateItem::kMaxStates, "raise UpdateItem::kMaxStates");
  static_assert(detail::kernels::kNumConstants<Loops> <= kMaxConstants, "raise Optimizer::kMaxConstants");
  static_assert(kNumOptions <= detail::OptionList::kMaxOptions, "raise OptionList::kMaxOptions");

  static RuleFacts facts() {
    return {Rule::kName, detail::kernels::kIndexOf<detail::kernels::UpdateRules, Loops>, kStateNames,
            detail::kernels::kNumConstants<Loops>};
  }
  static detail::OptionList list(Options& options) {
    detail::OptionList list;
    Rule::options(options, list);
    if constexpr (requires { Rule::conflict(options); }) list.conflict = Rule::conflict(options);
    return list;
  }
  detail::OptionList options_of(std::size_t group) const override { return list(*options_[group]); }
  unsigned states_of(std::size_t group) const override {
    unsigned used = 0;
    for (std::size_t k = 0; k < std::size(Rule::kStates); ++k)
      if (Rule::kStates[k].is_used(*options_[group])) used |= 1U << k;
    return used;
  }
  void constants_of(std::size_t group, std::int64_t step, bool first, double* out) const override {
    const auto constants = std::bit_cast<std::array<double, detail::kernels::kNumConstants<Loops>>>(
        Rule::constants(*options_[group], step, first));
    std::copy(constants.begin(), constants.end(), out);
  }

  bool takes_rows(std::size_t group) const override {
    if constexpr (requires { Rule::takes_rows(*options_[group]); }) return Rule::takes_rows(*options_[group]);
    else return false;
  }

  static Options with_lr(double lr) {
    Options options;
    options.lr = lr;
    return options;
  }

  Options defaults_{};
  std::vector<std::unique_ptr<Options>> options_;  // pointers: references stay valid when groups are added
};

}  // namespace minnow::optim
