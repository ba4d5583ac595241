#include <minnow/training/early_stopping.h>

#include <cmath>
#include <fmt/format.h>
#include <minnow/tensor/create.h>
#include <minnow/tensor/error.h>

namespace minnow::training {

EarlyStopping::EarlyStopping(const EarlyStoppingOptions& options, SourceLocation where) : options_(options) {
  if (options.patience < 1)
    throw ValueError(fmt::format("EarlyStopping: patience must be at least 1, got {}\n10 is usual", options.patience),
                     where);
  if (!(options.min_delta >= 0))
    throw ValueError(fmt::format("EarlyStopping: min_delta must not be negative, got {}\n0 takes each improvement",
                                 options.min_delta),
                     where);
}

bool EarlyStopping::update(double value) {
  const double gain = options_.best == Best::min ? best_ - value : value - best_;
  const bool better = !std::isnan(value) && (std::isnan(best_) || gain > options_.min_delta);
  if (better) best_ = value, without_ = 0;
  else ++without_;
  return better;
}

StateDict EarlyStopping::state_dict() const {
  StateDict state;
  state.set("best", tensor(best_, DType::float64));
  state.set("without", tensor(without_));
  return state;
}

void EarlyStopping::load_state_dict(const StateDict& state, SourceLocation where) {
  const auto is_number = [&](const char* name, DType dtype) {
    return state.contains(name) && state.at(name).defined() && state.at(name).numel() == 1 &&
           state.at(name).dtype() == dtype;
  };
  if (!is_number("best", DType::float64) || !is_number("without", DType::int64) ||
      state.at("without").item<std::int64_t>() < 0)
    throw ValueError(
        "EarlyStopping: the state has not the numbers 'best' and 'without'\ngive what state_dict() returned", where);
  best_ = state.at("best").item<double>(), without_ = state.at("without").item<std::int64_t>();
}

}  // namespace minnow::training
