#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>
#include <minnow/optim/optimizers.h>
#include <minnow/tensor/io/state_dict.h>

namespace minnow::optim {

struct AveragedModelOptions {
  /// Exponential moving average with this decay, in [0, 1); otherwise all updates count the same (SWA).
  std::optional<double> decay{};
  bool use_buffers = false;  ///< average floating-point buffers too; otherwise buffers are copied
};

namespace detail {

/// The averages of lists of tensors, in the memory of the tensors that it is made with.
class WeightAverage {
 public:
  WeightAverage(const std::vector<Tensor>& parameters, const std::vector<Tensor>& buffers, AveragedModelOptions options,
                SourceLocation where);
  void update(const std::vector<Tensor>& parameters, const std::vector<Tensor>& buffers, SourceLocation where);
  std::int64_t count() const { return count_; }
  Tensor count_tensor() const;
  /// Reads "n_averaged", without keeping it.
  static std::int64_t read_count(const StateDict& values, SourceLocation where);
  void set_count(std::int64_t count) { count_ = count; }

 private:
  const AveragedModelOptions options_;
  std::vector<Tensor> averaged_, copied_;
  // Steps from the averages to the weights: p -= lr (p - g), where g are the weights.
  SGD towards_;
  std::int64_t count_ = 0;
};

template <class Named> std::vector<Tensor> tensors_of(const std::vector<Named>& named) {
  std::vector<Tensor> list;
  for (const Named& n : named) list.push_back(n.tensor);
  return list;
}

}  // namespace detail

/// A copy of a module whose weights are averages of the module's, as torch.optim.swa_utils.AveragedModel: an
/// exponential moving average (EMA), or the mean of all updates (SWA, Izmailov et al. 2018, "Averaging Weights Leads to
/// Wider Optima and Better Generalization").
///
///     optim::AveragedModel ema(net, {.decay = 0.999});
///     for (...) { adam.step(); ema.update_parameters(net); }
///     const Tensor y = ema(x);
///
/// The first update copies the weights.  EMA: a = decay a + (1 - decay) w.  SWA: a = a + (w - a) / (n + 1) after n
/// updates.  All weights of a device and dtype are updated in one pass; one update does not wait for the device.
template <class M> class AveragedModel {
 public:
  /// Clones the module.  ValueError for a decay out of range, and for a module without parameters.
  explicit AveragedModel(const M& model, AveragedModelOptions options = {},
                         SourceLocation where = SourceLocation::current())
      : module_(clone(model, where)),
        average_(module_.parameters(), detail::tensors_of(module_.named_buffers()), options, where) {}
  AveragedModel(const AveragedModel&) = delete;
  AveragedModel& operator=(const AveragedModel&) = delete;

  /// Moves the averages towards the module's weights, which may be on another device.  Call it after step(), and after
  /// a captured step, not in one (BackendError).  ValueError if the weights have other shapes or dtypes; nothing has
  /// changed then.
  void update_parameters(const M& model, SourceLocation where = SourceLocation::current()) {
    average_.update(model.parameters(), detail::tensors_of(model.named_buffers()), where);
  }
  /// Calls the module with the averages.
  template <class... A> auto operator()(A&&... arguments) { return module_(std::forward<A>(arguments)...); }
  /// The module with the averages.  It may be moved to another device.
  M& module() { return module_; }
  const M& module() const { return module_; }
  /// The number of updates.
  std::int64_t n_averaged() const { return average_.count(); }
  /// Copies the averages, and the persistent buffers, into a module.
  void copy_to(M& model, SourceLocation where = SourceLocation::current()) const {
    model.load_state_dict(module_.state_dict(), {}, where);
  }

  /// "n_averaged", and the module's state under "module.", as PyTorch's.
  StateDict state_dict() const {
    StateDict dict{{"n_averaged", average_.count_tensor()}};
    for (const auto& [name, tensor] : module_.state_dict()) dict.set("module." + name, tensor);
    return dict;
  }
  /// ValueError, which lists all names that are missing, unexpected or do not fit; nothing has changed then.
  void load_state_dict(const StateDict& values, SourceLocation where = SourceLocation::current()) {
    const std::int64_t count = average_.read_count(values, where);
    StateDict weights;
    for (const auto& [name, tensor] : values)
      if (name != "n_averaged") weights.set(name.starts_with("module.") ? name.substr(7) : name, tensor);
    module_.load_state_dict(weights, {}, where);
    average_.set_count(count);
  }

 private:
  M module_;
  detail::WeightAverage average_;
};

}  // namespace minnow::optim
