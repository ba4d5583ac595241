#include <minnow/optim/averaged_model.h>

#include <cmath>
#include <fmt/format.h>
#include <minnow/tensor/create.h>
#include <minnow/tensor/error.h>
#include <minnow/tensor/runtime/capture_rules.h>

namespace minnow::optim::detail {
namespace {

AveragedModelOptions checked(AveragedModelOptions options, SourceLocation where) {
  if (options.decay && !(*options.decay >= 0 && *options.decay < 1))
    throw ValueError(
        fmt::format("AveragedModel: decay must be in [0, 1), got {}\na common value is 0.999", *options.decay), where);
  return options;
}

/// ValueError unless the weights have the shapes and dtypes of the averages.
void require_same(const char* what, const std::vector<Tensor>& averages, const std::vector<Tensor>& weights,
                  SourceLocation where) {
  constexpr const char* kHint = "\nupdate with the module that the average was made from";
  if (averages.size() != weights.size())
    throw ValueError(fmt::format("AveragedModel: the module has {} {}s, the average {}{}", weights.size(), what,
                                 averages.size(), kHint),
                     where);
  for (std::size_t i = 0; i < averages.size(); ++i)
    if (!(averages[i].shape() == weights[i].shape()) || averages[i].dtype() != weights[i].dtype())
      throw ValueError(fmt::format("AveragedModel: a {} does not fit its average\n  {} {}  {}\n  its average  {}{}",
                                   what, what, i, describe(weights[i]), describe(averages[i]), kHint),
                       where);
}

std::vector<Tensor> joined(std::vector<Tensor> list, const std::vector<Tensor>& buffers, bool use_buffers) {
  for (const Tensor& b : buffers)
    if (use_buffers && b.is_floating_point()) list.push_back(b);
  return list;
}
std::vector<Tensor> not_averaged(const std::vector<Tensor>& buffers, bool use_buffers) {
  std::vector<Tensor> list;
  for (const Tensor& b : buffers)
    if (!use_buffers || !b.is_floating_point()) list.push_back(b);
  return list;
}

}  // namespace

WeightAverage::WeightAverage(const std::vector<Tensor>& parameters, const std::vector<Tensor>& buffers,
                             AveragedModelOptions options, SourceLocation where)
    : options_(checked(options, where)),
      averaged_(joined(parameters, buffers, options.use_buffers)),
      copied_(not_averaged(buffers, options.use_buffers)),
      towards_(averaged_, {.lr = 0, .weight_decay = 1, .maximize = true}, where) {}

void WeightAverage::update(const std::vector<Tensor>& parameters, const std::vector<Tensor>& buffers,
                           SourceLocation where) {
  const minnow::detail::CallSite site("AveragedModel::update_parameters", where);
  if (minnow::detail::CaptureRules::current())
    throw BackendError(
        "AveragedModel::update_parameters: it cannot be part of a captured step"
        "\ncall it after the captured step",
        where);
  const std::vector<Tensor> weights = joined(parameters, buffers, options_.use_buffers);
  const std::vector<Tensor> others = not_averaged(buffers, options_.use_buffers);
  require_same("parameter", averaged_, weights, where);
  require_same("buffer", copied_, others, where);
  const NoGradGuard guard;
  if (count_ == 0) {
    for (std::size_t i = 0; i < weights.size(); ++i) averaged_[i].detach().copy_(weights[i].detach());
  } else {
    const auto n = static_cast<double>(count_);
    towards_.set_lr(options_.decay ? 1 - *options_.decay : 1 / (n + 1), where);
    for (std::size_t i = 0; i < weights.size(); ++i)
      averaged_[i].set_grad(weights[i].detach().to(averaged_[i].device()));
    try {
      towards_.step(where);
    } catch (...) {
      towards_.zero_grad();
      throw;
    }
    towards_.zero_grad();
  }
  for (std::size_t i = 0; i < others.size(); ++i) copied_[i].copy_(others[i]);
  ++count_;
}

Tensor WeightAverage::count_tensor() const { return full({}, count_, {.dtype = DType::int64}); }

std::int64_t WeightAverage::read_count(const StateDict& values, SourceLocation where) {
  const Tensor* value = values.find("n_averaged");
  const double count = value && value->defined() && value->numel() == 1 ? value->item<double>() : -1;
  if (count >= 0 && count < 0x1p53 && count == std::floor(count)) return static_cast<std::int64_t>(count);
  throw ValueError(
      "AveragedModel::load_state_dict: 'n_averaged' must be there, a whole number of at least 0"
      "\nload what AveragedModel::state_dict() gave; the weights of a module go into .module()",
      where);
}

}  // namespace minnow::optim::detail
