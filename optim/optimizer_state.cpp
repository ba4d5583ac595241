// Optimizer::state_dict and load_state_dict.
#include <algorithm>
#include <cmath>
#include <minnow/optim/optimizer.h>
#include <minnow/tensor/create.h>
#include <minnow/tensor/error.h>
#include <minnow/tensor/raw/copy.h>

namespace minnow::optim {
namespace {

Tensor number(double value) { return full({}, value, {.dtype = DType::float64}); }

std::string state_key(std::size_t index, const char* name) { return "state." + std::to_string(index) + "." + name; }
std::string group_key(std::size_t group, const char* name) {
  return "param_groups." + std::to_string(group) + "." + name;
}

/// Calls undo at the end of the scope, unless keep() was called.
template <class F> class Rollback {
 public:
  explicit Rollback(F undo) : undo_(std::move(undo)) {}
  ~Rollback() {
    if (!kept_) undo_();
  }
  Rollback(const Rollback&) = delete;
  Rollback& operator=(const Rollback&) = delete;
  void keep() { kept_ = true; }

 private:
  F undo_;
  bool kept_ = false;
};

/// The number with this name; appends a line to `problems` if there is none.
double read_number(const StateDict& values, const std::string& key, std::size_t& used, std::string& problems) {
  const Tensor* value = values.find(key);
  if (!value) {
    problems += "\n  '" + key + "' is missing";
    return 0;
  }
  ++used;
  if (value->defined() && value->numel() == 1) return value->item<double>();
  problems += "\n  '" + key + "' is not one number";
  return 0;
}

}  // namespace

StateDict Optimizer::state_dict() const {
  settle();
  StateDict dict;
  std::size_t index = 0;
  const auto names = rule_.states;
  for (std::size_t g = 0; g < groups_.size(); ++g) {
    for (const Slot& slot : groups_[g]) {
      dict.set(state_key(index, "step"), number(static_cast<double>(slot.steps)));
      for (std::size_t i = 0; i < names.size(); ++i)
        if (!slot.fresh && slot.state[i].defined()) dict.set(state_key(index, names[i]), slot.state[i].detach());
      ++index;
    }
    for (const detail::OptionRef& option : options_of(g)) dict.set(group_key(g, option.name), number(option.value()));
  }
  return dict;
}

std::vector<double> Optimizer::option_values(std::size_t group) const {
  std::vector<double> values;
  for (const detail::OptionRef& option : options_of(group)) values.push_back(option.value());
  return values;
}

void Optimizer::set_option_values(std::size_t group, const std::vector<double>& values) const {
  std::size_t i = 0;
  for (const detail::OptionRef& option : options_of(group)) option.set(values[i++]);
}

void Optimizer::load_slot(Slot& slot, std::size_t group, std::size_t index, const StateDict& values, std::size_t& used,
                          std::string& problems) const {
  const auto names = rule_.states;
  const double steps = read_number(values, state_key(index, "step"), used, problems);
  if (!(steps >= 0 && steps < 0x1p53) || steps != std::floor(steps))
    problems += "\n  '" + state_key(index, "step") + "' must be a whole number of at least 0";
  else slot.steps = static_cast<std::int64_t>(steps);
  slot.fresh = true;
  for (std::size_t i = 0; i < names.size(); ++i) {
    slot.state[i] = Tensor();
    const std::string key = state_key(index, names[i]);
    const Tensor* value = values.find(key);
    if (!value) continue;
    ++used;
    if (value->defined() && value->shape() == state_shape(slot.param, i) && value->dtype() == slot.param.dtype()) {
      slot.state[i] = *value;
      slot.fresh = false;
    } else {
      problems += "\n  '" + key + "' is " + describe(*value) + ", the parameter is " + describe(slot.param);
    }
  }
  const unsigned needed = slot.fresh ? 0 : states_of_parameter(group, slot.param);
  for (std::size_t i = 0; i < names.size(); ++i)
    if ((needed >> i & 1U) && !slot.state[i].defined())
      problems += "\n  '" + state_key(index, names[i]) + "' is missing";
}

void Optimizer::load_state_dict(const StateDict& values, SourceLocation where) {
  const auto refuse = [&](const std::string& problems) {
    throw ValueError(std::string(rule_.name) + "::load_state_dict: the values do not fit" + problems +
                         "\nload into an optimizer of the same kind over the same parameters",
                     where);
  };
  settle();
  std::string problems;
  std::size_t used = 0;
  std::vector<std::vector<double>> before, after;
  for (std::size_t g = 0; g < groups_.size(); ++g) {
    before.push_back(option_values(g));
    after.emplace_back();
    for (const detail::OptionRef& option : options_of(g)) {
      const double value = read_number(values, group_key(g, option.name), used, problems);
      if (option.flag != nullptr && value != 0 && value != 1)
        problems += "\n  '" + group_key(g, option.name) + "' must be 0 or 1";
      after.back().push_back(value);
    }
  }
  if (!problems.empty()) refuse(problems);

  // The options decide which states are needed.
  const auto set_all = [&](const std::vector<std::vector<double>>& list) {
    for (std::size_t g = 0; g < groups_.size(); ++g) set_option_values(g, list[g]);
  };
  Rollback rollback([&] { set_all(before); });
  set_all(after);
  for (std::size_t g = 0; g < groups_.size(); ++g) check_options(options_of(g), where);
  std::vector<std::vector<Slot>> loaded = groups_;
  std::size_t index = 0;
  for (std::size_t g = 0; g < loaded.size(); ++g)
    for (Slot& slot : loaded[g]) load_slot(slot, g, index++, values, used, problems);
  if (used < values.size())
    problems += "\n  only " + std::to_string(used) + " of the " + std::to_string(values.size()) +
                " names belong to these groups, parameters and options";
  if (!problems.empty()) refuse(problems);
  for (auto& group : loaded)
    for (Slot& slot : group)
      for (Tensor& state : slot.state)
        if (state.defined()) state = state.detach().to(slot.param.device(), {.copy = true}, where);
  // From here on nothing allocates or fails.  The slots keep their addresses, which captured steps use.
  for (std::size_t g = 0; g < groups_.size(); ++g) std::move(loaded[g].begin(), loaded[g].end(), groups_[g].begin());
  ++changes_;
  has_stepped_ = true;
  rollback.keep();
}

}  // namespace minnow::optim
