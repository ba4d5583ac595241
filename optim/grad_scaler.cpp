#include <minnow/optim/grad_scaler.h>

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <limits>
#include <minnow/autograd/row_gradient.h>
#include <minnow/ops/elementwise/arithmetic.h>
#include <minnow/tensor/backend/dispatch.h>
#include <minnow/tensor/create.h>
#include <minnow/tensor/error.h>
#include <minnow/tensor/raw/copy.h>
#include <minnow/tensor/raw/elementwise.h>
#include <minnow/tensor/raw/transfer.h>
#include <minnow/tensor/runtime/capture_rules.h>

namespace minnow::optim {
namespace {

using detail::UpdateItem;
namespace calls = minnow::detail::calls;
namespace raw = minnow::detail::raw;

constexpr const char* kNames[] = {"scale", "growth_factor", "backoff_factor", "growth_interval", "_growth_tracker"};
constexpr double kMaxInterval = std::numeric_limits<std::int32_t>::max();

/// What is wrong with the options; empty if nothing is.
std::string problem_of(const GradScalerOptions& o) {
  if (!(o.init_scale > 0 && o.init_scale <= static_cast<double>(std::numeric_limits<float>::max())))
    return fmt::format("the scale must be positive and finite in float32, got {}\n65536 is usual", o.init_scale);
  if (!(o.growth_factor > 1 && std::isfinite(o.growth_factor)))
    return fmt::format("growth_factor must be above 1, got {}\n2 is usual", o.growth_factor);
  if (!(o.backoff_factor > 0 && o.backoff_factor < 1))
    return fmt::format("backoff_factor must be in (0, 1), got {}\n0.5 is usual", o.backoff_factor);
  if (o.growth_interval < 1 || static_cast<double>(o.growth_interval) > kMaxInterval)
    return fmt::format("growth_interval must be at least 1 and an int32, got {}\n2000 is usual", o.growth_interval);
  return {};
}

void check(const char* op, const GradScalerOptions& options, SourceLocation where) {
  if (const std::string problem = problem_of(options); !problem.empty())
    throw ValueError(std::string(op) + ": " + problem, where);
}

[[noreturn]] void refuse(const char* op, const char* text, SourceLocation where) {
  throw ValueError(std::string(op) + ": " + text, where);
}

Tensor number(double value) { return full({}, value, {.dtype = DType::float64}); }

/// BackendError in a captured step: the host does not learn from a replay whether a step was skipped.
void refuse_in_capture(const char* op, SourceLocation where) {
  if (minnow::detail::CaptureRules::current())
    throw BackendError(std::string(op) +
                           ": it cannot be captured, as the host does not learn from a replay that a step was skipped\n"
                           "run the step directly, or use bfloat16, which needs no scaler",
                       where);
}

/// A gradient in memory of its own elements: some of backward's are broadcast.
Tensor writable(const Tensor& param, const Tensor& grad) {
  if (is_dense(grad.shape(), grad.strides())) return grad;
  Tensor copy = raw::clone(grad);
  param.set_grad(copy);
  return copy;
}

}  // namespace

GradScaler::GradScaler(const GradScalerOptions& options, SourceLocation where)
    : options_(options), first_scale_(options.init_scale) {
  check("GradScaler", options, where);
}

void GradScaler::make_scale(Device device, SourceLocation where) {
  if (scale_.defined()) return;
  if (const CaptureRules* rules = CaptureRules::current(); rules && !rules->may_allocate)
    throw BackendError(
        "GradScaler: the scale cannot be allocated in a captured step\nrun the step directly first: "
        "{.warm_up = 1}",
        where);
  growth_tracker_ = full({}, first_tracker_, {.dtype = DType::int32, .device = device});
  scale_ = full({}, first_scale_, {.device = device});
}

Tensor GradScaler::scale(const In& outputs) {
  const CallSite site("GradScaler::scale", outputs.where);
  outputs->require_defined();
  if (!options_.enabled) return *outputs;
  if (!outputs->is_floating_point())
    throw DTypeError(message("the loss is not floating-point", {{"outputs", *outputs}}, "convert it: .to(float32)"));
  make_scale(outputs->device(), outputs.where);
  for (Use& use : uses_)  // backward makes new gradients, which nobody has divided
    if (use.stage == Stage::kFailed) use.stage = Stage::kReady;
  return *outputs * (scale_.device() == outputs->device() ? scale_ : scale_.to(outputs->device()));
}

GradScaler::Use& GradScaler::use_of(const Optimizer& optimizer) {
  const auto found =
      std::find_if(uses_.begin(), uses_.end(), [&](const Use& use) { return use.optimizer == optimizer.serial_; });
  return found != uses_.end() ? *found : uses_.emplace_back(Use{optimizer.serial_});
}

void GradScaler::unscale(Use& use, const Optimizer& optimizer, SourceLocation where) {
  std::vector<Tensor> grads;
  for (const Tensor& param : optimizer.parameters()) {
    const RowGradient sparse = row_grad(param);
    const Tensor grad = sparse.defined() ? sparse.values : param.grad();
    if (!grad.defined()) continue;
    if (grad.dtype() == DType::float16)
      throw DTypeError(message("a gradient is float16, which would overflow before it is divided",
                               {{"parameter", param}, {"gradient", grad}},
                               "keep parameters in float32: an Autocast guard converts operands"));
    grads.push_back(sparse.defined() ? grad : writable(param, grad));
  }
  std::vector<Tensor> found;
  std::vector<UpdateItem> items;
  for (const Tensor& first : grads) {
    const Device device = first.device();
    if (std::any_of(found.begin(), found.end(), [&](const Tensor& t) { return t.device() == device; })) continue;
    const auto kept =
        std::find_if(use.found_inf.begin(), use.found_inf.end(), [&](const Tensor& t) { return t.device() == device; });
    found.push_back(kept != use.found_inf.end() ? *kept : empty({}, {.device = device}, where));
    const Tensor scale = raw::to_device(scale_, device, false);
    minnow::detail::Backend& backend = dispatch({{"scale", scale}, {"found_inf", found.back()}});
    raw::fill_(found.back(), 0.0);
    items.clear();
    for (const Tensor& grad : grads) {
      if (grad.device() != device || grad.numel() == 0) continue;
      grad.storage()->wait_ready();
      items.push_back({&grad.layout(), &grad.layout(), {}});
    }
    if (!items.empty()) backend.run(calls::ScaleGradients{items, scale, found.back(), true});
    for (const UpdateItem& item : items) item.grad->storage()->bump_version();
  }
  join(found);
  use.found_inf = std::move(found);
}

/// What was found on one device counts on all.
void GradScaler::join(std::vector<Tensor>& found_inf) {
  if (found_inf.size() < 2) return;
  constexpr int kAdd = raw::kBinary<minnow::detail::kernels::Add>;
  Tensor total = found_inf[0];
  for (std::size_t i = 1; i < found_inf.size(); ++i)
    total = raw::binary(kAdd, total, raw::to_device(found_inf[i], total.device(), false));
  for (Tensor& found : found_inf) found = raw::to_device(total, found.device(), false);
}

void GradScaler::unscale_(Optimizer& optimizer, SourceLocation where) {
  if (!options_.enabled) return;
  constexpr const char* kOp = "GradScaler::unscale_";
  const CallSite site(kOp, where);
  refuse_in_capture(kOp, where);
  Use& use = use_of(optimizer);
  if (use.stage == Stage::kUnscaled || use.stage == Stage::kFailed)
    refuse(kOp, "it was called for this optimizer since the last update()\ncall it once for each step", where);
  if (use.stage == Stage::kStepped)
    refuse(kOp, "it was called after step()\ncall it before, or update() between the steps", where);
  if (!scale_.defined())
    refuse(kOp, "scale() was not called\ncall scaler.scale(loss).backward() to compute the gradients", where);
  unscale(use, optimizer, where);
  if (!use.found_inf.empty()) use.stage = Stage::kUnscaled;
}

void GradScaler::step(Optimizer& optimizer, SourceLocation where) {
  if (!options_.enabled) return optimizer.step(where);
  constexpr const char* kOp = "GradScaler::step";
  const CallSite site(kOp, where);
  refuse_in_capture(kOp, where);
  if (use_of(optimizer).stage == Stage::kStepped)
    refuse(kOp, "it was called for this optimizer since the last update()\ncall update() after the steps", where);
  if (!scale_.defined())
    refuse(kOp, "scale() was not called\ncall scaler.scale(loss).backward() to compute the gradients", where);
  Use& use = use_of(optimizer);
  if (use.stage == Stage::kReady) {
    unscale(use, optimizer, where);
    if (use.found_inf.empty())
      refuse(kOp, "no parameter of this optimizer has a gradient\ncall scaler.scale(loss).backward() before", where);
    use.stage = Stage::kUnscaled;
  }
  {
    const CallSite none = CallSite::none();
    use.stage = Stage::kFailed;
    optimizer.step_unless(use.found_inf, where);
  }
  use.stage = Stage::kStepped;
}

Tensor GradScaler::all_found() const {
  std::vector<Tensor> found;
  for (const Use& use : uses_)
    if (use.stage != Stage::kReady && !use.found_inf.empty())
      found.push_back(raw::to_device(use.found_inf[0], scale_.device(), false));
  Tensor total = found.empty() ? Tensor() : found[0];
  for (std::size_t i = 1; i < found.size(); ++i)
    total = raw::binary(raw::kBinary<minnow::detail::kernels::Add>, total, found[i]);
  return total;
}

void GradScaler::update(std::optional<double> new_scale, SourceLocation where) {
  if (!options_.enabled) return;
  constexpr const char* kOp = "GradScaler::update";
  const CallSite site(kOp, where);
  refuse_in_capture(kOp, where);
  if (!scale_.defined()) refuse(kOp, "scale() was not called\ncall it, and step(), before", where);
  if (new_scale) {
    GradScalerOptions changed = options_;
    changed.init_scale = *new_scale;
    check(kOp, changed, where);
    raw::fill_(scale_, *new_scale);
  } else {
    const Tensor found = all_found();
    if (!found.defined()) refuse(kOp, "no gradients were checked before\ncall step() for each optimizer first", where);
    minnow::detail::Backend& backend = dispatch({{"scale", scale_}, {"growth_tracker", growth_tracker_}});
    backend.run(calls::UpdateScale{scale_, growth_tracker_, found, options_.growth_factor, options_.backoff_factor,
                                   options_.growth_interval});
    scale_.storage()->bump_version();
    growth_tracker_.storage()->bump_version();
  }
  std::erase_if(uses_, [](const Use& use) { return use.stage == Stage::kReady; });  // it may be gone
  for (Use& use : uses_) use.stage = Stage::kReady;
}

double GradScaler::get_scale() const {
  if (!options_.enabled) return 1;
  return scale_.defined() ? scale_.item() : first_scale_;
}

void GradScaler::set_growth_factor(double factor, SourceLocation where) {
  GradScalerOptions changed = options_;
  changed.growth_factor = factor;
  check("GradScaler::set_growth_factor", changed, where);
  options_ = changed;
}

void GradScaler::set_backoff_factor(double factor, SourceLocation where) {
  GradScalerOptions changed = options_;
  changed.backoff_factor = factor;
  check("GradScaler::set_backoff_factor", changed, where);
  options_ = changed;
}

void GradScaler::set_growth_interval(std::int64_t interval, SourceLocation where) {
  GradScalerOptions changed = options_;
  changed.growth_interval = interval;
  check("GradScaler::set_growth_interval", changed, where);
  options_ = changed;
}

StateDict GradScaler::state_dict() const {
  StateDict dict;
  if (!options_.enabled) return dict;
  const double values[] = {get_scale(), options_.growth_factor, options_.backoff_factor,
                           static_cast<double>(options_.growth_interval),
                           growth_tracker_.defined() ? growth_tracker_.item() : first_tracker_};
  for (std::size_t i = 0; i < std::size(kNames); ++i) dict.set(kNames[i], number(values[i]));
  return dict;
}

void GradScaler::load_state_dict(const StateDict& values, SourceLocation where) {
  constexpr const char* kOp = "GradScaler::load_state_dict";
  if (!options_.enabled) return;
  double numbers[std::size(kNames)];
  for (std::size_t i = 0; i < std::size(kNames); ++i) {
    const Tensor* value = values.find(kNames[i]);
    if (!value || !value->defined() || value->numel() != 1)
      throw ValueError(fmt::format("{}: '{}' is missing or not one number\nload what state_dict() of an enabled "
                                   "scaler gave",
                                   kOp, kNames[i]),
                       where);
    numbers[i] = value->item();
  }
  if (values.size() != std::size(kNames))
    throw ValueError(fmt::format("{}: only {} of the {} names belong to it\nload what state_dict() gave", kOp,
                                 std::size(kNames), values.size()),
                     where);
  if (numbers[3] != std::floor(numbers[3]) || !(numbers[4] >= 0 && numbers[4] <= kMaxInterval) ||
      numbers[4] != std::floor(numbers[4]))
    throw ValueError(std::string(kOp) +
                         ": growth_interval and _growth_tracker must be whole numbers of at least 0\n"
                         "load what state_dict() gave",
                     where);
  GradScalerOptions loaded = options_;
  loaded.init_scale = numbers[0];
  loaded.growth_factor = numbers[1];
  loaded.backoff_factor = numbers[2];
  loaded.growth_interval = numbers[3] >= 1 && numbers[3] <= kMaxInterval ? static_cast<std::int64_t>(numbers[3]) : 0;
  check(kOp, loaded, where);
  if (scale_.defined()) {
    raw::fill_(scale_, numbers[0]);
    raw::fill_(growth_tracker_, numbers[4]);
  }
  loaded.init_scale = options_.init_scale;
  options_ = loaded;
  first_scale_ = numbers[0];
  first_tracker_ = static_cast<std::int32_t>(numbers[4]);
}

}  // namespace minnow::optim
