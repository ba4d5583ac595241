#include <minnow/optim/optimizer.h>

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <limits>
#include <unordered_set>
#include <minnow/autograd/node.h>
#include <minnow/tensor/backend/dispatch.h>
#include <minnow/tensor/capture_session.h>
#include <minnow/tensor/create.h>
#include <minnow/tensor/error.h>
#include <minnow/tensor/profile.h>
#include <minnow/tensor/raw/copy.h>
#include <minnow/tensor/raw/elementwise.h>
#include <minnow/tensor/raw/transfer.h>
#include <minnow/tensor/text.h>
#include <minnow/tensor/warning.h>

namespace minnow::optim {
namespace {

/// Whether a tensor has the memory order, device and dtype of a parameter, so that one index serves both.
bool same_layout(const Tensor& a, const Tensor& param) {
  if (a.dtype() != param.dtype() || a.device() != param.device() || !(a.shape() == param.shape())) return false;
  if (a.is_contiguous() && param.is_contiguous()) return true;
  for (int d = 0; d < a.dim(); ++d)
    if (a.shape()[d] != 1 && a.strides()[d] != param.strides()[d]) return false;
  return true;
}

Tensor empty_as(const Tensor& param, SourceLocation where) {
  return empty_strided_like(param.shape(), param.strides(), param.dtype(), param.device(), where);
}

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

void Optimizer::zero_grad() {
  for (const auto& group : groups_)
    for (const Slot& slot : group) slot.param.set_grad(Tensor());
}

void Optimizer::step(SourceLocation where) { step_unless({}, where); }

void Optimizer::step_unless(std::span<const Tensor> found_inf, SourceLocation where) {
  const profile::Range range("step");
  settle();
  found_inf_ = found_inf;
  const std::string op = std::string(rule_.name) + "::step";
  const CallSite site(op.c_str(), where);
  pending_.clear();
  try {
    for (std::size_t g = 0; g < groups_.size(); ++g) {
      check_options(options_of(g), where);
      for (Slot& slot : groups_[g]) prepare(slot, g, states_of_parameter(g, slot.param), where);
    }
    if (minnow::detail::has_late_warnings())
      minnow::detail::give_late_warnings([this](const void* tensor_id) { return updates(tensor_id); });
    items_.reserve(pending_.size());  // the last allocation: from here on parameters change
    for (std::size_t i = 0; i < pending_.size(); ++i)
      if (!pending_[i].done) run(i);
    write_composed();
    if (!found_inf.empty()) {
      std::vector<std::pair<Slot*, bool>> slots;
      for (const Pending& p : pending_) slots.emplace_back(p.slot, p.first);
      note_outcome(found_inf[0], slots);
    }
  } catch (...) {
    finish_step();
    throw;
  }
  finish_step();
}

const Tensor& Optimizer::found_inf_on(Device device) const {
  static const auto* none = new Tensor();
  for (const Tensor& found : found_inf_)
    if (found.device() == device) return found;
  return *none;
}

void Optimizer::note_outcome(const Tensor& found_inf, std::span<const std::pair<Slot*, bool>> slots) {
  outcome_ = raw::to_device(found_inf, Device(), true);
  uncertain_.assign(slots.begin(), slots.end());
  if (found_inf.device().is_cpu()) settle();  // it is known
}

void Optimizer::settle() const {
  if (!outcome_.defined()) return;
  const Tensor outcome = std::exchange(outcome_, Tensor());
  outcome.storage()->wait_ready();
  if (*static_cast<const float*>(outcome.raw_data()) != 0)
    for (const auto& [slot, fresh] : uncertain_) {
      --slot->steps;
      slot->fresh = fresh;
    }
  uncertain_.clear();
}

bool Optimizer::updates(const void* tensor_id) const {
  for (const auto& group : groups_)
    for (const Slot& slot : group)
      if (slot.param.id() == tensor_id) return true;
  return false;
}

void Optimizer::finish_step() noexcept {
  for (const Pending& p : pending_) p.slot->grad = Tensor();
  pending_.clear();
  writes_.clear();
  found_inf_ = {};
}

void Optimizer::prepare(Slot& slot, std::size_t group, unsigned states, SourceLocation where) {
  slot.grad = slot.param.grad();
  if (!slot.grad.defined() || !slot.param.numel()) {
    slot.grad = Tensor();
    return;
  }
  pending_.push_back({&slot, group, states, slot.steps + 1, false, false});
  slot.param.storage()->wait_ready();
  slot.grad.storage()->wait_ready();
  prepare_gradient(slot, where);
  for (std::size_t k = 0; k < rule_.states.size(); ++k)
    if (states >> k & 1U) prepare_state(k, slot, where);
  pending_.back().first = slot.fresh;
}

void Optimizer::prepare_gradient(Slot& slot, SourceLocation where) const {
  const Tensor& p = slot.param;
  const auto shown = [&] { return "\n  parameter  " + describe(p) + "\n  gradient   " + describe(slot.grad); };
  const std::string op = std::string(rule_.name) + "::step: ";
  if (slot.grad.device() != p.device())
    throw DeviceError(op + "a gradient must be on the device of its parameter" + shown() +
                          "\nmove modules by Module::to(), which moves gradients too, or call zero_grad()",
                      where);
  if (slot.grad.dtype() != p.dtype())
    throw DTypeError(op + "a gradient must have the dtype of its parameter" + shown() + "\ncall zero_grad()", where);
  if (!(slot.grad.shape() == p.shape()))
    throw ShapeError(op + "a gradient must have the shape of its parameter" + shown() + "\ncall zero_grad()", where);
  if (same_layout(slot.grad, p)) return;
  if (!is_dense(p.shape(), p.strides()))
    throw ShapeError(
        op + "the elements of the parameter must be dense in memory" + shown() + "\ngive it dense data by set_data()",
        where);
  if (!slot.reordered.defined() || !same_layout(slot.reordered, p)) slot.reordered = empty_as(p, where);
  raw::copy_to(slot.grad, slot.reordered, where);
  slot.grad = slot.reordered;
}

void Optimizer::prepare_state(std::size_t k, Slot& slot, SourceLocation where) const {
  Tensor& state = slot.state[k];
  const Tensor& p = slot.param;
  const Shape shape = state_shape(p, k);
  const bool like_param = shape == p.shape();
  if (state.defined() &&
      (like_param ? same_layout(state, p)
                  : state.shape() == shape && state.dtype() == p.dtype() && state.device() == p.device()))
    return;
  if (const CaptureRules* rules = CaptureRules::current(); rules && !rules->may_allocate)
    throw BackendError(std::string(rule_.name) +
                           "::step: the state of a parameter cannot be allocated in a captured step"
                           "\n  parameter  " +
                           describe(slot.param) + "\nrun the step directly first: {.warm_up = 1}",
                       where);
  const bool keep_values = state.defined() && state.shape() == shape;
  const Tensor allocated = like_param ? empty_as(p, where) : empty(shape, {p.dtype(), p.device()}, where);
  if (keep_values) raw::copy_to(state, allocated, where);
  else raw::fill_({allocated, where}, 0.0);
  if (!state.defined()) slot.fresh = true;
  state = allocated;
}

bool Optimizer::can_share_a_pass(const Pending& a, const Constants& constants, const Pending& b) const {
  if (a.step == b.step && a.first == b.first) return true;
  Constants other;
  constants_of(b.group, b.step, b.first, other.data());
  return std::equal(constants.begin(), constants.begin() + rule_.num_constants, other.begin());
}

void Optimizer::update(const Composed&) {}

void Optimizer::run_composed(const Pending& pending) {
  Slot& slot = *pending.slot;
  if (CaptureRules::current() && !can_be_captured())
    throw BackendError(std::string(rule_.name) + "::step: its steps cannot be captured: each has other numbers" +
                       "\n  parameter  " + describe(slot.param) + "\ncall step() outside of the captured step");
  if (CaptureSession* session = CaptureSession::current()) {
    session->on_failure([&slot] { --slot.steps; });
    session->require([this, group = pending.group, values = option_values(pending.group), changes = changes_,
                      where = CallSite::where()] {
      if (changes != changes_) return false;
      check_options(options_of(group), where);
      return values == option_values(group);
    });
    session->dynamic(1, [this, &slot](std::span<double>, bool again) {
      settle();
      if (again) count_step(slot);
    });
  }
  const NoGradGuard guard;
  update({slot.param, slot.grad, std::span(slot.state).first(rule_.states.size()), pending.group, pending.step});
}

void Optimizer::write_composed() {
  if (rule_.number >= 0) return;
  for (const auto& [target, value] : writes_) {
    const Tensor& found = found_inf_on(target.device());
    raw::copy_to(found.defined() ? raw::where(raw::cast(found, DType::bool_), target, value) : value, target);
  }
  for (const Pending& p : pending_) count_step(*p.slot);
}

void Optimizer::run(std::size_t first) {
  if (rule_.number < 0) {
    pending_[first].done = true;
    return run_composed(pending_[first]);
  }
  const Pending key = pending_[first];
  const Tensor& like = key.slot->param;
  Constants constants;
  constants_of(key.group, key.step, key.first, constants.data());
  items_.clear();
  std::size_t end = first;  // of the group
  for (; end < pending_.size() && pending_[end].group == key.group; ++end) {
    Pending& p = pending_[end];
    const Tensor& param = p.slot->param;
    if (p.done || param.dtype() != like.dtype() || param.device() != like.device() ||
        !can_share_a_pass(key, constants, p))
      continue;
    UpdateItem& item = items_.emplace_back(UpdateItem{&param.layout(), &p.slot->grad.layout(), {}});
    for (std::size_t k = 0; k < rule_.states.size(); ++k)
      if (p.states >> k & 1U) item.state[k] = &p.slot->state[k].layout();
    p.done = true;
  }
  const double* replayed = nullptr;
  if (CaptureSession* session = CaptureSession::current()) {
    for (const UpdateItem& item : items_) {
      session->use(*item.param);
      session->use(*item.grad);
      for (const View* state : item.state)
        if (state) session->use(*state);
    }
    replayed = record(*session, key);
  }
  const auto numbers = std::span(constants).first(rule_.num_constants);
  const Tensor& found = found_inf_on(like.device());
  backend_of(like.device()).run(calls::Update{{rule_.number, numbers, replayed}, items_, found});
  for (std::size_t i = first; i < end; ++i) {
    Slot& slot = *pending_[i].slot;
    if (!pending_[i].done || !slot.grad.defined()) continue;
    count_step(slot);
    slot.grad = Tensor();
  }
}

void Optimizer::count_step(Slot& slot) {
  slot.param.storage()->bump_version();
  ++slot.steps;
  slot.fresh = false;
}

const double* Optimizer::record(CaptureSession& session, const Pending& key) {
  std::vector<Slot*> slots;
  for (const Pending& p : pending_)
    if (p.done && p.slot->grad.defined()) slots.push_back(p.slot);
  session.on_failure([slots] {
    for (Slot* slot : slots) --slot->steps;
  });
  session.require([this, key, slots, changes = changes_, where = CallSite::where()] {
    if (changes != changes_) return false;
    check_options(options_of(key.group), where);
    return is_as_captured(key, slots);
  });
  return session.dynamic(rule_.num_constants, [this, key, slots](std::span<double> numbers, bool again) {
    settle();
    if (again)
      for (Slot* slot : slots) count_step(*slot);
    constants_of(key.group, again ? slots.front()->steps : key.step, !again && key.first, numbers.data());
  });
}

bool Optimizer::is_as_captured(const Pending& key, const std::vector<Slot*>& slots) const {
  if (states_of(key.group) != key.states) return false;
  const auto next = [&](Slot* slot) { return Pending{slot, key.group, key.states, slot->steps + 1, false, false}; };
  const Pending front = next(slots.front());
  Constants constants;
  constants_of(front.group, front.step, front.first, constants.data());
  return std::all_of(slots.begin(), slots.end(),
                     [&](Slot* slot) { return can_share_a_pass(front, constants, next(slot)); });
}

}  // namespace minnow::optim
