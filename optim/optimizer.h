#pragma once

#include <concepts>
#include <cstdint>
#include <span>
#include <string>
#include <vector>
#include <minnow/autograd/grad_mode.h>
#include <minnow/tensor/backend/calls.h>
#include <minnow/tensor/io/state_dict.h>

namespace minnow {
class StepRecording;
}

namespace minnow::optim {

/// Base of the optimizers: groups of parameters, each with its own options, and the state that a rule keeps for each
/// parameter.  step() updates all parameters of a group in one fused pass and does not allocate once the state exists.
/// Gradients are read only.  State follows a parameter that was moved (Module::to) or set_data().
/// Not thread-safe: steps, and backward passes into the same parameters, need the caller's order.
class Optimizer {
 public:
  virtual ~Optimizer() = default;
  Optimizer(const Optimizer&) = delete;
  Optimizer& operator=(const Optimizer&) = delete;

  /// Updates all parameters that have a gradient.  DeviceError, DTypeError or ShapeError for a gradient that does not
  /// fit its parameter, ValueError for options out of range; nothing has changed then.
  void step(SourceLocation where = SourceLocation::current());
  /// Computes the loss and its gradients by closure (which calls backward), then steps.  Returns the loss.
  template <std::invocable F> Tensor step(F&& closure, SourceLocation where = SourceLocation::current()) {
    const GradMode recording(true);
    Tensor loss = closure();
    step(where);
    return loss;
  }
  /// Drops the gradients: grad() is undefined until the next backward.
  void zero_grad();

  int num_groups() const { return static_cast<int>(groups_.size()); }
  /// The parameters of a group, or of all.  IndexError.
  std::vector<Tensor> parameters() const;
  std::vector<Tensor> parameters(int group, SourceLocation where = SourceLocation::current()) const;
  /// The learning rate of a group.  IndexError for the group, ValueError for a negative or non-finite rate.
  double lr(int group = 0, SourceLocation where = SourceLocation::current()) const;
  void set_lr(int group, double lr, SourceLocation where = SourceLocation::current());
  /// Sets the learning rate of all groups.
  void set_lr(double lr, SourceLocation where = SourceLocation::current());

  /// Options, step counts and state by name ("state.0.exp_avg", "param_groups.0.lr"; parameters are numbered over all
  /// groups), sharing memory with the optimizer.  After load_state_dict() the next step gives the same bits.
  StateDict state_dict() const;
  /// Copies; state goes to the parameters' devices.  One ValueError lists all that is missing, unexpected or of another
  /// shape or dtype; nothing has changed when it throws.
  void load_state_dict(const StateDict& values, SourceLocation where = SourceLocation::current());

 protected:
  static constexpr int kMaxStates = 3;
  /// An option by name; flags are 0 or 1.
  struct Field {
    const char* name;
    double value;
    bool is_flag;
  };

  explicit Optimizer(const char* name) : name_(name) {}

  void check_parameters(const std::vector<Tensor>& params, SourceLocation where) const;
  void add_parameters(const std::vector<Tensor>& params);
  std::size_t checked_group(int group, SourceLocation where) const;
  const char* name() const { return name_; }

  // What a rule says of itself.
  virtual int rule() const = 0;
  /// Names of the rule's state tensors, and how many of them a group's options need.
  virtual std::span<const char* const> state_names() const = 0;
  virtual int num_states(std::size_t group) const = 0;
  /// What the hyper-parameters depend on besides the options; parameters of one phase share a pass.
  virtual double phase(std::int64_t step, bool fresh) const = 0;
  /// Valid until the next call.
  virtual std::span<const double> hyper(std::size_t group, double phase) = 0;
  virtual std::vector<Field> fields(std::size_t group) const = 0;
  /// ValueError for values out of range.
  virtual void check_options(std::size_t group, SourceLocation where) const = 0;
  virtual void check_fields(std::size_t group, const std::vector<Field>& fields, SourceLocation where) const = 0;
  virtual void set_fields(std::size_t group, const std::vector<Field>& fields) = 0;
  virtual double lr_of(std::size_t group) const = 0;
  virtual void set_lr_of(std::size_t group, double lr) = 0;

 private:
  /// A parameter, the rule's tensors for it, and how often it was updated.
  struct Slot {
    Tensor param;
    Tensor state[kMaxStates] = {};
    std::int64_t steps = 0;
    bool fresh = true;  // the state was never updated
    Tensor grad{};      // during a step
    Tensor relaid{};    // the gradient in the parameter's order of dimensions, where it came in another
  };
  struct Pending {
    Slot* slot;
    std::size_t group;
    double phase;
    int num_states;
    bool done;
  };

  void load_slot(Slot& slot, std::size_t group, std::size_t index, const StateDict& values, std::size_t& used,
                 std::string& problems) const;
  void prepare(Slot& slot, std::size_t group, SourceLocation where);
  void prepare_gradient(Slot& slot, SourceLocation where) const;
  void prepare_state(Tensor& state, Slot& slot, SourceLocation where) const;
  void run(std::size_t first);
  bool updates(const void* tensor_id) const;
  void finish_step() noexcept;
  static void count_step(Slot& slot);
  /// Lets a step that is being recorded read the hyper-parameters of the pass at hand anew in each replay.
  const double* record(StepRecording& recording, const Pending& key, std::size_t count);
  /// Whether a pass over these slots is still the one that was recorded.
  bool is_as_recorded(const Pending& key, const std::vector<Slot*>& slots) const;

  const char* name_;
  std::vector<std::vector<Slot>> groups_;
  std::int64_t changes_ = 0;  // groups that were added and states that were loaded: what was recorded is out of date
  // Kept between steps so that these do not allocate.
  std::vector<Pending> pending_;
  std::vector<UpdateItem> items_;
};

}  // namespace minnow::optim
