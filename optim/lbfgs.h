#pragma once

#include <concepts>
#include <cstdint>
#include <functional>
#include <utility>
#include <vector>
#include <minnow/tensor/io/state_dict.h>

namespace minnow::optim {

/// How LBFGS finds the length of a step: lr as it is, or a search that fulfils the strong Wolfe conditions.
enum class LineSearch { none, strong_wolfe };

struct LBFGSOptions {
  double lr = 1;                    ///< at least 0
  std::int64_t max_iter = 20;       ///< iterations of a step; positive
  std::int64_t max_eval = 0;        ///< calls of the closure in a step; 0: max_iter 5 / 4
  double tolerance_grad = 1e-7;     ///< a step ends when no element of the gradient is larger; at least 0
  double tolerance_change = 1e-9;   ///< or when the parameters or the loss change by less; at least 0
  std::int64_t history_size = 100;  ///< positive; it takes 2 history_size times the memory of the parameters
  LineSearch line_search_fn = LineSearch::none;
  bool maximize = false;  ///< maximize instead of minimize
};

/// Limited-memory BFGS (Liu and Nocedal 1989), as torch.optim.LBFGS, for whole batches or few parameters.  A step calls
/// its closure several times:
///
///     optim::LBFGS lbfgs(net.parameters(), {.line_search_fn = optim::LineSearch::strong_wolfe});
///     Tensor loss = lbfgs.step([&] {
///       lbfgs.zero_grad();
///       Tensor l = nn::mse_loss(net(x), y);
///       l.backward();
///       return l;
///     });
///
/// An iteration goes along d = -H g, where H is the approximation of the inverse Hessian by the last history_size
/// changes s of the parameters and y of the gradient with y s > 1e-10:  p += t d, with t = lr, of the first iteration
/// lr min(1, 1 / |g|₁).  Each iteration waits for the device several times, so it is not for captured steps.  It is no
/// Optimizer: there is one group, and schedulers do not apply.  Not thread-safe.
class LBFGS {
 public:
  /// ValueError for an empty list, an undefined or repeated parameter, or options out of range; AutogradError for the
  /// result of a recorded operation; DTypeError or DeviceError unless all are floating-point, of one dtype and device.
  explicit LBFGS(const std::vector<Tensor>& params, LBFGSOptions options = {},
                 SourceLocation where = SourceLocation::current());

  /// `closure` drops the gradients, computes the loss, calls backward and returns the loss.  Returns that of the first
  /// call.  Parameters and state are unchanged when it throws.
  template <std::invocable F> Tensor step(F&& closure, SourceLocation where = SourceLocation::current()) {
    return run(std::function<Tensor()>(std::ref(closure)), where);
  }
  /// Drops the gradients: grad() is undefined until the next backward.
  void zero_grad();

  const std::vector<Tensor>& parameters() const { return params_; }
  /// To read, or to change between steps.
  LBFGSOptions& options() { return options_; }
  /// Calls of the closure and iterations, of all steps.
  std::int64_t func_evals() const { return state_.func_evals; }
  std::int64_t n_iter() const { return state_.n_iter; }

  /// Counts, directions and history by name ("n_iter", "old_dirs.0"), sharing memory with the optimizer.  The options
  /// are not part of it.  After load_state_dict() the next step is the same.
  StateDict state_dict() const;
  /// ValueError, which lists all names that are missing, unexpected or do not fit; nothing has changed then.
  void load_state_dict(const StateDict& values, SourceLocation where = SourceLocation::current());

 private:
  struct State {
    std::int64_t func_evals = 0, n_iter = 0;
    double t = 0, h_diag = 1, prev_loss = 0;
    Tensor d{}, prev_flat_grad{};
    std::vector<Tensor> old_dirs{}, old_stps{};
    std::vector<double> ro{};
  };
  /// A point on the line of a search.
  struct Point {
    double t, loss;
    Tensor grad;
    double slope;
  };

  void check_options(SourceLocation where) const;
  Tensor run(const std::function<Tensor()>& closure, SourceLocation where);
  Tensor minimize(const std::function<Tensor()>& closure, SourceLocation where);
  Tensor flat_grad() const;
  void move(double t, const Tensor& direction) const;
  Tensor direction(const Tensor& grad);
  Point strong_wolfe(const std::function<Point(double)>& at, Point start, double t, double largest, std::int64_t most,
                     std::int64_t& evaluations) const;

  std::vector<Tensor> params_;
  LBFGSOptions options_;
  State state_;
};

}  // namespace minnow::optim
