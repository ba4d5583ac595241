#pragma once

#include <algorithm>
#include <array>
#include <concepts>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>
#include <minnow/autograd/grad_mode.h>
#include <minnow/tensor/backend/calls.h>
#include <minnow/tensor/io/state_dict.h>
#include <minnow/tensor/kernels/rules/rule.h>

namespace minnow::optim {

class GradScaler;
class LRScheduler;

namespace detail {

class CapturedUpdate;
using minnow::detail::UpdateItem;

/// An option of a group: its name, its memory in the group's options, and its range.
struct OptionRef {
  const char* name;
  double* number;  ///< nullptr for a flag
  bool* flag;
  kernels::OptionRange range;
  const char* example;

  double value() const { return number ? *number : *flag ? 1 : 0; }
  void set(double value) const {
    if (number) *number = value;
    else *flag = value != 0;
  }
};

/// The options of a group, in the order of their rule.
class OptionList {
 public:
  static constexpr std::size_t kMaxOptions = 16;

  void operator()(const char* name, double& number, const kernels::OptionRange& range, const char* example) {
    list_[size_++] = {name, &number, nullptr, range, example};
  }
  void operator()(const char* name, bool& flag) { list_[size_++] = {name, nullptr, &flag, {}, nullptr}; }

  const OptionRef* begin() const { return list_.data(); }
  const OptionRef* end() const { return list_.data() + size_; }
  /// Whether the options of one rule have the same values.
  bool operator==(const OptionList& other) const {
    return std::equal(begin(), end(), other.begin(), other.end(),
                      [](const OptionRef& a, const OptionRef& b) { return a.value() == b.value(); });
  }

  const char* conflict = nullptr;  ///< the error of options that exclude each other, each in its range

 private:
  std::array<OptionRef, kMaxOptions> list_;
  std::size_t size_ = 0;
};

}  // namespace detail

/// Base class of the optimizers: groups of parameters, each with its own options, and the state that the rule keeps for
/// each parameter.  step() updates all parameters of a group in one fused pass, and does not allocate after the first
/// step.  Gradients are not written.  State follows a parameter that is moved by Module::to() or gets other data by
/// set_data().  Not thread-safe: the caller orders steps, and backward passes into the same parameters.
class Optimizer {
 public:
  virtual ~Optimizer() = default;
  Optimizer(const Optimizer&) = delete;
  Optimizer& operator=(const Optimizer&) = delete;

  /// Updates all parameters that have a gradient; warns, once for each line, if none has.  DeviceError, DTypeError or
  /// ShapeError for a gradient that does not fit its parameter, ValueError for options out of range; no parameter has
  /// changed then, nor when memory runs out.
  void step(SourceLocation where = SourceLocation::current());
  /// Calls closure, which computes the loss and calls backward, then steps.  Returns the loss.
  template <std::invocable F> Tensor step(F&& closure, SourceLocation where = SourceLocation::current()) {
    const AutoGradMode recording(true);
    Tensor loss = closure();
    step(where);
    return loss;
  }
  /// Drops the gradients: grad() is undefined until the next backward.
  void zero_grad();

  /// The name of its class: "Adam".
  const char* name() const { return rule_.name; }
  int num_param_groups() const { return static_cast<int>(groups_.size()); }
  /// The parameters of a group, or of all.  IndexError.
  std::vector<Tensor> parameters() const;
  std::vector<Tensor> parameters(int group, SourceLocation where = SourceLocation::current()) const;
  /// The learning rate of a group.  IndexError for the group, ValueError for a negative or non-finite rate.
  double lr(int group = 0, SourceLocation where = SourceLocation::current()) const;
  void set_lr(int group, double lr, SourceLocation where = SourceLocation::current());
  /// Sets the learning rate of all groups.
  void set_lr(double lr, SourceLocation where = SourceLocation::current());
  /// The momentum of a group, or the first of its betas.  IndexError for the group; ValueError if the optimizer has
  /// neither, and for a number out of its range.
  double momentum(int group = 0, SourceLocation where = SourceLocation::current()) const;
  void set_momentum(int group, double momentum, SourceLocation where = SourceLocation::current());

  /// Options, numbers of steps and state by name ("state.0.exp_avg", "param_groups.0.lr"; parameters are numbered over
  /// all groups), sharing memory with the optimizer.  After load_state_dict() the next step gives the same bits.
  StateDict state_dict() const;
  /// Copies values; state goes to the devices of its parameters.  ValueError, which lists all names that are missing,
  /// unexpected or of another shape or dtype; nothing has changed when it throws.
  void load_state_dict(const StateDict& values, SourceLocation where = SourceLocation::current());

 protected:
  static constexpr std::size_t kMaxConstants = 16;
  /// The constants of a rule.
  struct RuleFacts {
    const char* name;
    int number;  ///< in detail::kernels::UpdateRules; -1 if update() makes the steps
    std::span<const char* const> states;
    std::size_t num_constants;
  };

  explicit Optimizer(const RuleFacts& rule);

  void check_parameters(const std::vector<Tensor>& params, SourceLocation where) const;
  /// ValueError for values out of range, and for options that exclude each other.
  void check_options(const detail::OptionList& options, SourceLocation where) const;
  void add_parameters(const std::vector<Tensor>& params);
  std::size_t checked_group(int group, SourceLocation where) const;

  /// The step of one parameter, for update().
  struct Composed {
    const Tensor& param;
    const Tensor& grad;
    std::span<const Tensor> states;  ///< undefined where states_of_parameter() has no bit
    std::size_t group;
    std::int64_t step;  ///< from 1
  };
  /// Computes the parameter and its states by operations, which do not record, and gives them to write().
  virtual void update(const Composed& update);
  /// Writes a parameter or a state when those of all parameters are computed, so that a step that fails changes none.
  void write(const Tensor& target, const Tensor& value) { writes_.emplace_back(target, value); }
  /// Whether rows without a gradient stay as they are in a step, so that a sparse gradient updates the others alone.
  virtual bool takes_rows(std::size_t) const { return false; }
  /// Whether its steps depend on gradients, states and options alone, so that a captured step may keep them.
  virtual bool can_be_captured() const { return false; }
  virtual unsigned states_of_parameter(std::size_t group, const Tensor&) const { return states_of(group); }
  virtual Shape state_shape(const Tensor& param, std::size_t) const { return param.shape(); }

  virtual detail::OptionList options_of(std::size_t group) const = 0;
  /// The states that a group's options need: bit k for state k.
  virtual unsigned states_of(std::size_t group) const = 0;
  /// The constants of the rule for a parameter's step (from 1); `first`: the state was not updated yet.
  virtual void constants_of(std::size_t group, std::int64_t step, bool first, double* out) const = 0;

 private:
  friend class GradScaler;
  friend class LRScheduler;
  friend class detail::CapturedUpdate;
  using Constants = std::array<double, kMaxConstants>;
  /// The rows of a parameter with a sparse gradient, and of its state, which are updated in its place and written back.
  struct Rows {
    Tensor index, param;
    Tensor state[detail::UpdateItem::kMaxStates] = {};
  };
  /// A parameter, its state, and the number of its updates.
  struct Slot {
    Tensor param;
    Tensor state[detail::UpdateItem::kMaxStates] = {};
    std::int64_t steps = 0;
    bool fresh = true;             // the state was not updated yet
    Tensor grad{};                 // during a step
    Tensor reordered{};            // the gradient in the parameter's memory order, if it has another
    std::shared_ptr<Rows> rows{};  // during a step: of a sparse gradient
  };
  /// An update of a parameter, number `step`, that the running step() makes.
  struct Pending {
    Slot* slot;
    std::size_t group;
    unsigned states;
    std::int64_t step;
    bool first;
    bool done;
  };

  /// A step that changes nothing if found_inf, a number on each device of the parameters, is not 0.
  void step_unless(std::span<const Tensor> found_inf, SourceLocation where);
  const Tensor& found_inf_on(Device device) const;
  /// After a step that may have changed nothing: keeps what is needed to take back the counts.
  void note_outcome();
  /// Takes back the counts of the step before if it has changed nothing.  Waits until its gradients were checked.
  void settle() const;

  void load_slot(Slot& slot, std::size_t group, std::size_t index, const StateDict& values, std::size_t& used,
                 std::string& problems) const;
  detail::OptionRef lr_of(std::size_t group) const;
  detail::OptionRef momentum_of(std::size_t group, SourceLocation where) const;
  std::vector<double> option_values(std::size_t group) const;
  void set_option_values(std::size_t group, const std::vector<double>& values) const;
  void prepare(Slot& slot, std::size_t group, unsigned states, SourceLocation where);
  void prepare_gradient(Slot& slot, SourceLocation where) const;
  bool take_row_gradient(Slot& slot, std::size_t group, SourceLocation where) const;
  void take_rows(Slot& slot, unsigned states) const;
  static void write_rows(Slot& slot);
  void prepare_state(std::size_t k, Slot& slot, SourceLocation where);
  void run(std::size_t first);
  void run_composed(const Pending& pending);
  void write_composed();
  /// Whether two updates of one group have the same constants, so that they can be made in one pass.  `constants`:
  /// those of a.
  bool can_share_a_pass(const Pending& a, const Constants& constants, const Pending& b) const;
  bool updates(const void* tensor_id) const;
  void finish_step() noexcept;
  static void count_step(Slot& slot);

  const RuleFacts rule_;
  const std::int64_t serial_;  // no other optimizer of this process has it
  std::vector<std::vector<Slot>> groups_;
  bool has_stepped_ = false;  // or its state was loaded
  std::int64_t changes_ = 0;  // counts added groups and loaded states, after which captured steps are out of date
  // Members, so that steps do not allocate.
  std::vector<Pending> pending_;
  std::vector<detail::UpdateItem> items_;
  std::vector<std::pair<Tensor, Tensor>> writes_;  // targets and values
  std::span<const Tensor> found_inf_{};            // of the running step
  // Of the step before, until settle(): a copy of found_inf on the host, and whether the states were not updated
  // before.
  mutable Tensor outcome_;
  mutable std::vector<std::pair<Slot*, bool>> uncertain_;
};

}  // namespace minnow::optim
