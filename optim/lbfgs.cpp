#include <minnow/optim/lbfgs.h>

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <limits>
#include <minnow/autograd/grad_mode.h>
#include <minnow/ops/elementwise/arithmetic.h>
#include <minnow/ops/elementwise/unary.h>
#include <minnow/ops/indexing/index.h>
#include <minnow/ops/products/matmul.h>
#include <minnow/ops/reductions/reduce.h>
#include <minnow/optim/optimizers.h>
#include <minnow/tensor/create.h>
#include <minnow/tensor/error.h>
#include <minnow/tensor/profile/profile.h>
#include <minnow/tensor/raw/copy.h>

namespace minnow::optim {
namespace {

double number(const Tensor& t) { return t.item<double>(); }
double product(const Tensor& a, const Tensor& b) { return number(dot(a, b)); }
double largest(const Tensor& t) { return number(amax(abs(t))); }

/// The minimum of the cubic polynomial with these values and slopes at two points, in [low, high].
double cubic_minimum(double x1, double f1, double g1, double x2, double f2, double g2, double low, double high) {
  const double d1 = g1 + g2 - 3 * (f1 - f2) / (x1 - x2), square = d1 * d1 - g1 * g2;
  if (!(square >= 0)) return (low + high) / 2;
  const double d2 = std::sqrt(square);
  const double x = x1 <= x2 ? x2 - (x2 - x1) * ((g2 + d2 - d1) / (g2 - g1 + 2 * d2))
                            : x1 - (x1 - x2) * ((g1 + d2 - d1) / (g1 - g2 + 2 * d2));
  return std::min(std::max(x, low), high);
}

Tensor scalar(double value) { return full({}, value, {.dtype = DType::float64}); }

}  // namespace

LBFGS::LBFGS(const std::vector<Tensor>& params, LBFGSOptions options, SourceLocation where)
    : params_(params), options_(options) {
  const minnow::detail::CallSite site("LBFGS", where);
  check_options(where);
  const SGD checked(params, SGDOptions{}, where);  // its checks of a list of parameters
  for (const Tensor& p : params) {
    const std::string shown = "\n  parameter 0  " + describe(params[0]) + "\n  another      " + describe(p);
    if (p.dtype() != params[0].dtype())
      throw DTypeError("LBFGS: all parameters must have one dtype" + shown + "\nconvert the module: .to(float32)",
                       where);
    if (p.device() != params[0].device())
      throw DeviceError("LBFGS: all parameters must be on one device" + shown + "\nmove the module by .to(device)",
                        where);
  }
}

void LBFGS::check_options(SourceLocation where) const {
  const auto refuse = [&](const char* name, const char* range, double value, const char* hint) {
    throw ValueError(fmt::format("LBFGS: {} must be {}, got {}\n{}", name, range, value, hint), where);
  };
  const auto& o = options_;
  const auto at_least_0 = [](double v) { return v >= 0 && std::isfinite(v); };
  if (!at_least_0(o.lr)) refuse("lr", "finite and at least 0", o.lr, "the default is 1");
  if (o.max_iter <= 0) refuse("max_iter", "positive", static_cast<double>(o.max_iter), "the default is 20");
  if (o.max_eval < 0) refuse("max_eval", "at least 0", static_cast<double>(o.max_eval), "0 is max_iter 5 / 4");
  if (!at_least_0(o.tolerance_grad))
    refuse("tolerance_grad", "finite and at least 0", o.tolerance_grad, "the default is 1e-7");
  if (!at_least_0(o.tolerance_change))
    refuse("tolerance_change", "finite and at least 0", o.tolerance_change, "the default is 1e-9");
  if (o.history_size <= 0)
    refuse("history_size", "positive", static_cast<double>(o.history_size), "the default is 100");
}

void LBFGS::zero_grad() {
  for (const Tensor& p : params_) p.set_grad(Tensor());
}

Tensor LBFGS::flat_grad() const {
  std::vector<Tensor> parts;
  for (const Tensor& p : params_) {
    const Tensor g = p.grad();
    parts.push_back(g.defined() ? g.detach().reshape({-1}) : zeros({p.numel()}, {p.dtype(), p.device()}));
  }
  const Tensor flat = cat(parts);
  return options_.maximize ? -flat : flat;
}

void LBFGS::move(double t, const Tensor& direction) const {
  std::int64_t offset = 0;
  for (const Tensor& p : params_) {
    p.detach().add_(direction.narrow(0, offset, p.numel()).reshape(p.shape()), t);
    offset += p.numel();
  }
}

Tensor LBFGS::direction(const Tensor& grad) {
  State& s = state_;
  if (s.n_iter == 1) return -grad;
  const Tensor y = grad - s.prev_flat_grad, step = s.d * s.t;
  const double ys = product(y, step);
  if (ys > 1e-10) {
    if (s.old_dirs.size() >= static_cast<std::size_t>(options_.history_size)) {
      s.old_dirs.erase(s.old_dirs.begin());
      s.old_stps.erase(s.old_stps.begin());
      s.ro.erase(s.ro.begin());
    }
    s.old_dirs.push_back(y);
    s.old_stps.push_back(step);
    s.ro.push_back(1 / ys);
    s.h_diag = ys / product(y, y);
  }
  const std::size_t n = s.old_dirs.size();
  std::vector<double> alpha(n);
  Tensor r = -grad;
  for (std::size_t i = n; i-- > 0;) {
    alpha[i] = product(s.old_stps[i], r) * s.ro[i];
    r.add_(s.old_dirs[i], -alpha[i]);
  }
  r = r * s.h_diag;
  for (std::size_t i = 0; i < n; ++i) r.add_(s.old_stps[i], alpha[i] - product(s.old_dirs[i], r) * s.ro[i]);
  return r;
}

/// Nocedal and Wright, "Numerical Optimization", algorithms 3.5 and 3.6, with the choices of PyTorch.
LBFGS::Point LBFGS::strong_wolfe(const std::function<Point(double)>& at, Point start, double t, double longest,
                                 std::int64_t most, std::int64_t& evaluations) const {
  constexpr double kDecrease = 1e-4, kCurvature = 0.9, kSmallest = 1e-9;
  Point now = at(t), before = start;
  evaluations = 1;
  // Find an interval that holds a point which fulfils the conditions.
  Point low = start, high = now;
  std::int64_t iteration = 0;
  for (; iteration < most; ++iteration) {
    const bool higher =
        now.loss > start.loss + kDecrease * now.t * start.slope || (iteration > 1 && now.loss >= before.loss);
    if (!higher && std::fabs(now.slope) <= -kCurvature * start.slope) return now;
    if (higher || now.slope >= 0) {
      low = before;
      high = now;
      break;
    }
    const double next = cubic_minimum(before.t, before.loss, before.slope, now.t, now.loss, now.slope,
                                      now.t + 0.01 * (now.t - before.t), now.t * 10);
    before = std::exchange(now, at(next));
    ++evaluations;
    high = now;  // if this is the last: the whole way
  }
  if (low.loss > high.loss) std::swap(low, high);
  // Make it smaller.
  bool stuck = false;
  for (; iteration < most && std::fabs(high.t - low.t) * longest >= kSmallest; ++iteration) {
    const auto [left, right] = std::minmax(low.t, high.t);
    double next = cubic_minimum(low.t, low.loss, low.slope, high.t, high.loss, high.slope, left, right);
    const double margin = 0.1 * (right - left);
    if (std::min(right - next, next - left) < margin) {
      if (stuck || next >= right || next <= left) {
        next = std::fabs(next - right) < std::fabs(next - left) ? right - margin : left + margin;
        stuck = false;
      } else {
        stuck = true;
      }
    } else {
      stuck = false;
    }
    now = at(next);
    ++evaluations;
    if (now.loss > start.loss + kDecrease * next * start.slope || now.loss >= low.loss) {
      high = now;
      if (low.loss > high.loss) std::swap(low, high);
      continue;
    }
    const bool found = std::fabs(now.slope) <= -kCurvature * start.slope;
    if (!found && now.slope * (high.t - low.t) >= 0) high = low;
    low = now;
    if (found) break;
  }
  return low;
}

Tensor LBFGS::run(const std::function<Tensor()>& closure, SourceLocation where) {
  check_options(where);
  State state = state_;
  std::vector<std::pair<Tensor, Tensor>> before;
  for (const Tensor& p : params_) before.emplace_back(p.detach(), p.detach().clone());
  try {
    return minimize(closure, where);
  } catch (...) {
    state_ = std::move(state);
    for (const auto& [param, value] : before) minnow::detail::raw::copy_to(value, param, where);
    throw;
  }
}

Tensor LBFGS::minimize(const std::function<Tensor()>& closure, SourceLocation where) {
  const profile::Range range("step", minnow::detail::ScopeKind::step);
  const NoGradGuard guard;
  const double sign = options_.maximize ? -1 : 1;
  Tensor first_loss;
  const auto evaluate = [&] {
    Tensor loss;
    {
      const AutoGradMode recording(true);
      loss = closure();
    }
    ++state_.func_evals;
    if (!first_loss.defined()) first_loss = loss;
    const minnow::detail::CallSite site("LBFGS::step", where);
    return sign * number(loss);
  };
  double loss = evaluate();
  const minnow::detail::CallSite site("LBFGS::step", where);
  const std::int64_t most = options_.max_eval ? options_.max_eval : options_.max_iter * 5 / 4;
  std::int64_t evaluations = 1;
  Tensor grad = flat_grad();
  if (!grad.numel() || largest(grad) <= options_.tolerance_grad) return first_loss;

  State& s = state_;
  for (std::int64_t iteration = 1; iteration <= options_.max_iter; ++iteration) {
    ++s.n_iter;
    s.d = direction(grad);
    s.prev_flat_grad = grad;
    s.prev_loss = loss;
    s.t = s.n_iter == 1 ? std::min(1.0, 1 / number(sum(abs(grad)))) * options_.lr : options_.lr;
    const double slope = product(grad, s.d);
    if (slope > -options_.tolerance_change) break;

    if (options_.line_search_fn == LineSearch::strong_wolfe) {
      std::vector<Tensor> from;
      for (const Tensor& p : params_) from.push_back(p.detach().clone());
      const auto restore = [&] {
        for (std::size_t i = 0; i < from.size(); ++i) params_[i].detach().copy_(from[i]);
      };
      const auto at = [&](double t) {
        move(t, s.d);
        Point point{t, 0, {}, 0};
        try {
          point.loss = evaluate();
        } catch (...) {
          restore();
          throw;
        }
        restore();
        point.grad = flat_grad();
        point.slope = product(point.grad, s.d);
        return point;
      };
      std::int64_t calls = 0;
      const Point best = strong_wolfe(at, {0, loss, grad, slope}, s.t, largest(s.d), most - evaluations, calls);
      evaluations += calls;
      s.t = best.t;
      loss = best.loss;
      grad = best.grad;
      move(s.t, s.d);
    } else {
      move(s.t, s.d);
      if (iteration == options_.max_iter) break;
      loss = evaluate();
      grad = flat_grad();
      ++evaluations;
    }
    if (evaluations >= most || largest(grad) <= options_.tolerance_grad ||
        largest(s.d * s.t) <= options_.tolerance_change || std::fabs(loss - s.prev_loss) < options_.tolerance_change)
      break;
  }
  return first_loss;
}

StateDict LBFGS::state_dict() const {
  const State& s = state_;
  StateDict dict{{"func_evals", scalar(static_cast<double>(s.func_evals))},
                 {"n_iter", scalar(static_cast<double>(s.n_iter))}};
  if (!s.n_iter) return dict;
  dict.set("t", scalar(s.t));
  dict.set("H_diag", scalar(s.h_diag));
  dict.set("prev_loss", scalar(s.prev_loss));
  dict.set("d", s.d);
  dict.set("prev_flat_grad", s.prev_flat_grad);
  for (std::size_t i = 0; i < s.ro.size(); ++i) {
    const std::string at = fmt::format(".{}", i);
    dict.set("old_dirs" + at, s.old_dirs[i]);
    dict.set("old_stps" + at, s.old_stps[i]);
    dict.set("ro" + at, scalar(s.ro[i]));
  }
  return dict;
}

void LBFGS::load_state_dict(const StateDict& values, SourceLocation where) {
  const minnow::detail::CallSite site("LBFGS::load_state_dict", where);
  std::string problems;
  std::size_t used = 0;
  const auto read = [&](const std::string& name) {
    const Tensor* value = values.find(name);
    if (!value) problems += "\n  '" + name + "' is missing";
    else if (++used; !value->defined() || value->numel() != 1) problems += "\n  '" + name + "' is not one number";
    else return value->item<double>();
    return 0.0;
  };
  const auto count = [&](const char* name) {
    const double n = read(name);
    if (n >= 0 && n < 0x1p53 && n == std::floor(n)) return static_cast<std::int64_t>(n);
    problems += fmt::format("\n  '{}' must be a whole number of at least 0, got {}", name, n);
    return std::int64_t{0};
  };
  std::int64_t numel = 0;
  for (const Tensor& p : params_) numel += p.numel();
  const auto vector = [&](const std::string& name) {
    const Tensor* value = values.find(name);
    if (!value) problems += "\n  '" + name + "' is missing";
    else if (++used; !value->defined() || !(value->shape() == Shape{numel}) || value->dtype() != params_[0].dtype())
      problems += fmt::format("\n  '{}' must have {} elements of the parameters' dtype, it is {}", name, numel,
                              describe(*value));
    else return value->detach().to(params_[0].device(), {.copy = true});
    return Tensor();
  };
  State s;
  s.func_evals = count("func_evals");
  s.n_iter = count("n_iter");
  if (s.n_iter) {
    s.t = read("t");
    s.h_diag = read("H_diag");
    s.prev_loss = read("prev_loss");
    s.d = vector("d");
    s.prev_flat_grad = vector("prev_flat_grad");
    for (std::size_t i = 0; values.contains(fmt::format("ro.{}", i)); ++i) {
      const std::string at = fmt::format(".{}", i);
      s.old_dirs.push_back(vector("old_dirs" + at));
      s.old_stps.push_back(vector("old_stps" + at));
      s.ro.push_back(read("ro" + at));
    }
  }
  if (used < values.size())
    problems += fmt::format("\n  only {} of the {} names belong to an LBFGS", used, values.size());
  if (!problems.empty())
    throw ValueError("LBFGS::load_state_dict: the values do not fit" + problems +
                         "\nload the state of an LBFGS over the same parameters",
                     where);
  state_ = std::move(s);
}

}  // namespace minnow::optim
