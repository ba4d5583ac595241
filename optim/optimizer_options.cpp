// The groups of an optimizer: parameters and options.
#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <limits>
#include <unordered_set>
#include <minnow/autograd/node.h>
#include <minnow/optim/optimizer.h>
#include <minnow/tensor/error.h>
#include <minnow/tensor/internal.h>
#include <minnow/tensor/text.h>

namespace minnow::optim {
namespace {

std::string shown(const kernels::OptionRange& range) {
  if (range.high != std::numeric_limits<double>::infinity())
    return fmt::format("in [{}, {}{}", range.low, range.high, range.below ? ')' : ']');
  return range.low == -std::numeric_limits<double>::infinity() ? "finite"
                                                               : fmt::format("finite and at least {}", range.low);
}

bool is_in(const kernels::OptionRange& range, double value) {
  return std::isfinite(value) && value >= range.low && (range.below ? value < range.high : value <= range.high);
}

/// ValueError for a number out of the option's range.
void check_number(const char* op, const detail::OptionRef& option, double value, SourceLocation where) {
  if (!is_in(option.range, value))
    throw ValueError(fmt::format("{}: {} must be {}, got {}\ngive one, e.g. {}", op, option.name, shown(option.range),
                                 value, option.example),
                     where);
}

}  // namespace

std::size_t Optimizer::checked_group(int group, SourceLocation where) const {
  if (group < 0 || group >= num_param_groups())
    throw IndexError(std::string(rule_.name) + ": parameter group " + std::to_string(group) +
                         " is out of range, there are " + std::to_string(num_param_groups()) +
                         "\ngroups are counted from 0, in the order of add_param_group()",
                     where);
  return static_cast<std::size_t>(group);
}

void Optimizer::check_parameters(const std::vector<Tensor>& params, SourceLocation where) const {
  const std::string op = rule_.name;
  if (params.empty()) throw ValueError(op + ": the list of parameters is empty\ngive net.parameters()", where);
  std::unordered_set<const void*> known;
  for (const auto& group : groups_)
    for (const Slot& slot : group) known.insert(autograd::identity(slot.param));
  for (std::size_t i = 0; i < params.size(); ++i) {
    const Tensor& p = params[i];
    const std::string shown = "\n  parameter " + std::to_string(i) + "  " + describe(p);
    if (!p.defined())
      throw ValueError(
          op + ": a parameter is undefined" + shown +
              "\nleave it out; a layer without bias has an undefined one, which parameters() does not list",
          where);
    if (!p.is_floating_point())
      throw DTypeError(op + ": a parameter must be floating-point" + shown + "\nconvert it: .to(float32)", where);
    if (!p.is_leaf()) {
      const auto& node = *p.slot()->producer;
      std::string leaves;
      for (const Tensor& leaf : autograd::leaves_of(p, 3)) leaves += "\n  from the leaf  " + describe(leaf);
      throw AutogradError(op + ": can't optimize a non-leaf Tensor" + shown + "\n  made by '" + node.name() + "' at " +
                              file_and_line(node.where()) + leaves +
                              "\ngive the leaf that it was computed from, or .detach() it and call requires_grad_(); "
                              "Module::to() moves parameters in place",
                          where);
    }
    if (!is_dense(p.shape(), p.strides()))
      throw ShapeError(op + ": the elements of a parameter must be dense in memory" + shown + " with strides " +
                           p.strides().str() + "\ncall .contiguous() before requires_grad_()",
                       where);
    if (!known.insert(autograd::identity(p)).second)
      throw ValueError(op + ": a parameter is listed twice" + shown + "\neach may be in one group, once", where);
  }
}

void Optimizer::check_options(const detail::OptionList& options, SourceLocation where) const {
  for (const detail::OptionRef& option : options)
    if (option.number) check_number(rule_.name, option, *option.number, where);
  if (!options.conflict) return;
  std::string values;
  for (const detail::OptionRef& option : options)
    values += option.number ? fmt::format("\n  {} = {}", option.name, *option.number)
                            : fmt::format("\n  {} = {}", option.name, *option.flag);
  throw ValueError(fmt::format("{}: {}, got{}\nchange one of them", rule_.name, options.conflict, values), where);
}

void Optimizer::add_parameters(const std::vector<Tensor>& params) {
  std::vector<Slot> slots;
  slots.reserve(params.size());
  for (const Tensor& p : params) slots.push_back({p});
  groups_.push_back(std::move(slots));
  ++changes_;
}

std::vector<Tensor> Optimizer::parameters() const {
  std::vector<Tensor> list;
  for (const auto& group : groups_)
    for (const Slot& slot : group) list.push_back(slot.param);
  return list;
}

std::vector<Tensor> Optimizer::parameters(int group, SourceLocation where) const {
  std::vector<Tensor> list;
  for (const Slot& slot : groups_[checked_group(group, where)]) list.push_back(slot.param);
  return list;
}

detail::OptionRef Optimizer::lr_of(std::size_t group) const {
  const detail::OptionList options = options_of(group);
  return *std::find_if(options.begin(), options.end(),
                       [](const detail::OptionRef& o) { return std::string_view(o.name) == "lr"; });
}

double Optimizer::lr(int group, SourceLocation where) const { return lr_of(checked_group(group, where)).value(); }

void Optimizer::set_lr(int group, double lr, SourceLocation where) {
  const detail::OptionRef option = lr_of(checked_group(group, where));
  check_number(rule_.name, option, lr, where);
  option.set(lr);
}

void Optimizer::set_lr(double lr, SourceLocation where) {
  for (int group = 0; group < num_param_groups(); ++group) set_lr(group, lr, where);
}

detail::OptionRef Optimizer::momentum_of(std::size_t group, SourceLocation where) const {
  for (const detail::OptionRef& option : options_of(group))
    if (std::string_view(option.name) == "momentum" || std::string_view(option.name) == "beta1") return option;
  throw ValueError(
      std::string(rule_.name) + ": it has neither momentum nor betas" + "\nset .cycle_momentum = false in the schedule",
      where);
}

double Optimizer::momentum(int group, SourceLocation where) const {
  return momentum_of(checked_group(group, where), where).value();
}

void Optimizer::set_momentum(int group, double momentum, SourceLocation where) {
  const detail::OptionRef option = momentum_of(checked_group(group, where), where);
  check_number(rule_.name, option, momentum, where);
  option.set(momentum);
}

}  // namespace minnow::optim
