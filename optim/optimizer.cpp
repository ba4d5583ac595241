#include <minnow/optim/optimizer.h>

#include <algorithm>
#include <atomic>
#include <minnow/autograd/row_gradient.h>
#include <minnow/ops/indexing/index.h>
#include <minnow/ops/indexing/scatter.h>
#include <minnow/optim/detail/captured_update.h>
#include <minnow/tensor/backend/dispatch.h>
#include <minnow/tensor/create.h>
#include <minnow/tensor/error.h>
#include <minnow/tensor/profile/profile.h>
#include <minnow/tensor/raw/copy.h>
#include <minnow/tensor/raw/elementwise.h>
#include <minnow/tensor/raw/transfer.h>
#include <minnow/tensor/runtime/warning.h>

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

std::atomic<std::int64_t> last_serial{0};

}  // namespace

Optimizer::Optimizer(const RuleFacts& rule) : rule_(rule), serial_(++last_serial) {}

void Optimizer::zero_grad() {
  for (const auto& group : groups_)
    for (const Slot& slot : group) slot.param.set_grad(Tensor());
}

void Optimizer::step(SourceLocation where) { step_unless({}, where); }

void Optimizer::step_unless(std::span<const Tensor> found_inf, SourceLocation where) {
  const profile::Range range("step", minnow::detail::ScopeKind::step);
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
    if (pending_.empty())
      minnow::detail::warn_once(
          op + ": none of the optimizer's parameters has a gradient, so that nothing changes: call "
               "backward() before, of a loss that depends on them",
          CallSite::where());
    items_.reserve(pending_.size());  // the last allocation: from here on parameters change
    for (std::size_t i = 0; i < pending_.size(); ++i)
      if (!pending_[i].done) run(i);
    write_composed();
    if (!found_inf.empty()) note_outcome();
  } catch (...) {
    finish_step();
    throw;
  }
  finish_step();
  has_stepped_ = true;
}

const Tensor& Optimizer::found_inf_on(Device device) const {
  static const auto* none = new Tensor();
  for (const Tensor& found : found_inf_)
    if (found.device() == device) return found;
  return *none;
}

void Optimizer::note_outcome() {
  outcome_ = raw::to_device(found_inf_[0], Device(), true);
  uncertain_.clear();
  for (const Pending& p : pending_) uncertain_.emplace_back(p.slot, p.first);
  if (found_inf_[0].device().is_cpu()) settle();  // it is known
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
  for (const Pending& p : pending_) p.slot->grad = Tensor(), p.slot->rows.reset();
  pending_.clear();
  writes_.clear();
  found_inf_ = {};
}

void Optimizer::prepare(Slot& slot, std::size_t group, unsigned states, SourceLocation where) {
  const bool sparse = take_row_gradient(slot, group, where);
  if (!sparse) slot.grad = slot.param.grad();
  if (!slot.grad.defined() || !slot.param.numel()) {
    slot.grad = Tensor();
    return;
  }
  pending_.push_back({&slot, group, states, slot.steps + 1, false, false});
  slot.param.storage()->wait_ready();
  slot.grad.storage()->wait_ready();
  if (!sparse) prepare_gradient(slot, where);
  for (std::size_t k = 0; k < rule_.states.size(); ++k)
    if (states >> k & 1U) prepare_state(k, slot, where);
  if (sparse) take_rows(slot, states);
  pending_.back().first = slot.fresh;
}

bool Optimizer::take_row_gradient(Slot& slot, std::size_t group, SourceLocation where) const {
  const RowGradient found = row_grad(slot.param, where);
  if (!found.defined()) return false;
  const std::string op = std::string(rule_.name) + "::step: ";
  if (!takes_rows(group))
    throw ValueError(
        op + "a gradient is sparse, of " + std::to_string(found.index.numel()) +
            " rows, and the step changes the others too\n  parameter  " + describe(slot.param) +
            "\nuse SparseAdam, Adagrad without weight_decay and initial_accumulator_value, or SGD without momentum "
            "and weight_decay, or leave .sparse out of the layer",
        where);
  if (!(found.values.device() == slot.param.device() && found.values.dtype() == slot.param.dtype()))
    throw DeviceError(op + "the parameter was moved after its sparse gradient was computed\n  parameter  " +
                          describe(slot.param) + "\n  gradient   " + describe(found.values) + "\ncall zero_grad()",
                      where);
  slot.rows = std::make_shared<Rows>();
  slot.rows->index = found.index;
  slot.grad = found.values;
  return true;
}

void Optimizer::take_rows(Slot& slot, unsigned states) const {
  const NoGradGuard guard;
  Rows& rows = *slot.rows;
  rows.param = index_select(slot.param, 0, rows.index);
  for (std::size_t k = 0; k < rule_.states.size(); ++k)
    if (states >> k & 1U) rows.state[k] = index_select(slot.state[k], 0, rows.index);
}

void Optimizer::write_rows(Slot& slot) {
  const NoGradGuard guard;
  const Rows& rows = *slot.rows;
  index_copy_(slot.param.detach(), 0, rows.index, rows.param);
  for (std::size_t k = 0; k < detail::UpdateItem::kMaxStates; ++k)
    if (rows.state[k].defined()) index_copy_(slot.state[k], 0, rows.index, rows.state[k]);
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

void Optimizer::prepare_state(std::size_t k, Slot& slot, SourceLocation where) {
  Tensor& state = slot.state[k];
  const Tensor& p = slot.param;
  const Shape shape = state_shape(p, k);
  const bool like_param = shape == p.shape();
  if (state.defined() &&
      (like_param ? same_layout(state, p)
                  : state.shape() == shape && state.dtype() == p.dtype() && state.device() == p.device()))
    return;
  detail::CapturedUpdate(*this).require_may_allocate(p, where);
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
  detail::CapturedUpdate(*this).note_composed(pending);
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
    const Rows* rows = p.slot->rows.get();
    const Tensor* state = rows ? rows->state : p.slot->state;
    UpdateItem& item =
        items_.emplace_back(UpdateItem{&(rows ? rows->param : param).layout(), &p.slot->grad.layout(), {}});
    for (std::size_t k = 0; k < rule_.states.size(); ++k)
      if (p.states >> k & 1U) item.state[k] = &state[k].layout();
    p.done = true;
  }
  const double* replayed = detail::CapturedUpdate(*this).note_pass(key);
  const auto numbers = std::span(constants).first(rule_.num_constants);
  const Tensor& found = found_inf_on(like.device());
  backend_of(like.device()).run(calls::Update{{rule_.number, numbers, replayed}, items_, found});
  for (std::size_t i = first; i < end; ++i) {
    Slot& slot = *pending_[i].slot;
    if (!pending_[i].done || !slot.grad.defined()) continue;
    if (slot.rows) write_rows(slot);
    count_step(slot);
    slot.grad = Tensor();
  }
}

void Optimizer::count_step(Slot& slot) {
  slot.param.storage()->bump_version();
  ++slot.steps;
  slot.fresh = false;
}

}  // namespace minnow::optim
