#pragma once

#include <cstdint>
#include <optional>
#include <vector>
#include <minnow/optim/optimizer.h>
#include <minnow/tensor/in.h>

namespace minnow::optim {

struct GradScalerOptions {
  double init_scale = 65536;    ///< positive
  double growth_factor = 2;     ///< above 1: the scale is multiplied by it after growth_interval good steps in a row
  double backoff_factor = 0.5;  ///< in (0, 1): the scale is multiplied by it after a step that was skipped
  std::int64_t growth_interval = 2000;  ///< at least 1
  bool enabled = true;                  ///< false: scale() changes nothing, and step() is the optimizer's own
};

/// Scales the loss, so that gradients of float16 do not become 0, as torch.amp.GradScaler.  Steps with infinite or NaN
/// gradients are skipped, and the scale follows.
///
///     optim::GradScaler scaler;
///     ...
///       { Autocast guard(float16); loss = nn::cross_entropy(net(images), labels); }
///       adam.zero_grad();
///       scaler.scale(loss).backward();
///       scaler.unscale_(adam);                          // only to read or change gradients
///       optim::clip_grad_norm_(net.parameters(), 1);
///       scaler.step(adam);
///       scaler.update();
///
/// Checking and unscaling all gradients of a device is one pass.  What it finds stays on the device: the optimizer's
/// pass reads it there and then changes neither parameters nor states.  The host learns of it at the next step, for the
/// number of steps that were made, so that it is never more than a step ahead of a GPU.  Works for each optimizer,
/// several of them and accumulated gradients.  Not in a CapturedStep, whose replays do not tell the host of a skipped
/// step: unscale_(), step() and update() are a BackendError there.  Not thread-safe.
class GradScaler {
 public:
  /// ValueError for options out of range.
  explicit GradScaler(const GradScalerOptions& options = {}, SourceLocation where = SourceLocation::current());

  /// outputs * scale, recorded.   outputs: floating-point, any shape  ->  the same dtype; float32 for a 0-dim half.
  [[nodiscard]] Tensor scale(const In& outputs);
  /// Divides the gradients of the optimizer's parameters by the scale.  step() does it otherwise.  ValueError if it was
  /// called since the last update(), after step(), or before scale(); DTypeError for gradients of float16.
  void unscale_(Optimizer& optimizer, SourceLocation where = SourceLocation::current());
  /// Optimizer::step(), unless a gradient is infinite or NaN.  ValueError if it was called since the last update(), if
  /// no parameter has a gradient, or before scale(); what Optimizer::step() throws.
  void step(Optimizer& optimizer, SourceLocation where = SourceLocation::current());
  /// The scale for the next step, once after the steps of all optimizers; or sets it.  ValueError if no step() or
  /// unscale_() came before, and unless new_scale is positive.
  void update(std::optional<double> new_scale = {}, SourceLocation where = SourceLocation::current());

  /// Waits for the device.  1 if it is not enabled.
  double get_scale() const;
  double get_growth_factor() const { return options_.growth_factor; }
  double get_backoff_factor() const { return options_.backoff_factor; }
  std::int64_t get_growth_interval() const { return options_.growth_interval; }
  /// ValueError for numbers out of range.
  void set_growth_factor(double factor, SourceLocation where = SourceLocation::current());
  void set_backoff_factor(double factor, SourceLocation where = SourceLocation::current());
  void set_growth_interval(std::int64_t interval, SourceLocation where = SourceLocation::current());
  bool is_enabled() const { return options_.enabled; }

  /// Scale and options, for a Checkpoint; empty if it is not enabled.  Waits for the device.
  StateDict state_dict() const;
  /// ValueError for other names and for numbers out of range; nothing has changed when it throws.
  void load_state_dict(const StateDict& values, SourceLocation where = SourceLocation::current());

 private:
  /// kFailed: unscaled, but the optimizer's step has thrown.
  enum class Stage : std::uint8_t { kReady, kUnscaled, kFailed, kStepped };
  /// An optimizer, and what was found in its gradients, on each device.
  struct Use {
    std::int64_t optimizer;  // its serial number: another one may come to have its address
    Stage stage = Stage::kReady;
    std::vector<Tensor> found_inf{};
  };

  Use& use_of(const Optimizer& optimizer);
  void make_scale(Device device, SourceLocation where);
  void unscale(Use& use, const Optimizer& optimizer, SourceLocation where);
  static void join(std::vector<Tensor>& found_inf);
  Tensor all_found() const;

  GradScalerOptions options_;
  double first_scale_;
  std::int32_t first_tracker_ = 0;
  Tensor scale_, growth_tracker_;  // undefined before scale()
  std::vector<Use> uses_;
};

}  // namespace minnow::optim
