#include <minnow/autograd/gradcheck.h>

#include <algorithm>
#include <cmath>
#include <sstream>
#include <minnow/autograd/engine.h>
#include <minnow/autograd/grad_mode.h>
#include <minnow/ops/elementwise/arithmetic.h>
#include <minnow/ops/reductions/reduce.h>
#include <minnow/tensor/backend/dispatch.h>
#include <minnow/tensor/create.h>
#include <minnow/tensor/error.h>
#include <minnow/tensor/raw/transfer.h>
#include <minnow/tensor/raw/view.h>

namespace minnow {
namespace {

/// Fixed weights, so that every element of the output counts differently in their sum.
Tensor weights_like(const Tensor& out, std::uint64_t seed) {
  RandomGenerator generator(seed);
  const Tensor host = rand(out.shape(), {DType::float64, {}, &generator});
  return (host + 0.5).to(out.device(), out.dtype());
}

void require_double(const TensorFunction& function, const std::vector<Tensor>& inputs) {
  if (!function) throw ValueError(message("the function is empty", {}, "pass the function to be checked"));
  bool any = false;
  for (const Tensor& t : inputs) {
    if (!t.defined() || !t.requires_grad()) continue;
    any = true;
    if (t.dtype() != DType::float64)
      throw DTypeError(
          message("an input is not float64", {{"input", t}}, "central differences need float64: .to(float64)"));
  }
  if (!any)
    throw AutogradError(message("no input requires a gradient", {}, "call requires_grad_() on those to be checked"));
}

void require_output(const Tensor& out) {
  if (!out.defined() || out.dtype() != DType::float64)
    throw DTypeError(message("the function's result is not float64", {{"result", out}},
                             "return a tensor that is computed from the inputs in float64"));
}

/// One element of an input, as a 0-dim view that can be written.  The destructor restores its value.
class Element {
 public:
  Element(const Tensor& x, std::int64_t flat) : x_(x) {
    std::int64_t offset = x.storage_offset();
    for (int d = x.dim() - 1; d >= 0; --d) {
      offset += flat % x.shape()[d] * x.strides()[d];
      flat /= x.shape()[d];
    }
    element_ = Tensor(x.storage(), x.dtype(), {}, {}, offset);
    value_ = element_.item();
  }
  ~Element() {
    try {
      write(value_);
    } catch (...) {  // the device failed: the next call on it throws
    }
  }
  Element(const Element&) = delete;
  Element& operator=(const Element&) = delete;

  void shift(double by) { write(value_ + by); }

 private:
  void write(double v) { backend_of(x_.device()).run(calls::Fill{element_, v}); }

  Tensor x_, element_;
  double value_ = 0;
};

class Check {
 public:
  Check(TensorFunction f, const std::vector<Tensor>& inputs, const GradcheckOptions& o)
      : f_(std::move(f)), inputs_(inputs), options_(o) {}

  void run() const {
    const Tensor out = f_(inputs_);
    require_output(out);
    require_deterministic(out);
    const Tensor weights = weights_like(out, 17);
    std::vector<Tensor> checked;
    for (const Tensor& t : inputs_)
      if (t.requires_grad()) checked.push_back(t);
    const Tensor total = sum(out * weights);
    // An output without history means that all gradients are zero: they are compared like any others.
    const auto gradients =
        total.requires_grad() ? grad({total}, checked, {.allow_unused = true}) : std::vector<Tensor>(checked.size());
    for (std::size_t i = 0; i < checked.size(); ++i) compare(i, checked[i], gradients[i], weights);
  }

 private:
  /// Differences say nothing about a function that is not deterministic.
  void require_deterministic(const Tensor& out) const {
    const Tensor again = f_(inputs_);
    require_output(again);
    const auto same = [](double a, double b) { return a == b || (std::isnan(a) && std::isnan(b)); };
    const auto first = out.to_vector<double>(), second = again.to_vector<double>();
    const auto differ = std::mismatch(first.begin(), first.end(), second.begin(), second.end(), same).first;
    if (out.shape() == again.shape() && differ == first.end()) return;
    std::ostringstream text;
    text.precision(17);
    text << CallSite::op() << ": the function gave two results for the same inputs\n  first   " << describe(out)
         << "\n  second  " << describe(again);
    if (differ != first.end() && out.shape() == again.shape()) {
      const auto i = differ - first.begin();
      text << "\n  element " << i << ": " << *differ << " and " << second[static_cast<std::size_t>(i)];
    }
    text
        << "\nit must be deterministic: draw its random numbers from a generator that it seeds itself, and call eval() "
           "on modules";
    throw AutogradError(text.str());
  }

  double value(const Tensor& weights) const {
    const Tensor out = f_(inputs_);
    return sum(out * weights).item();
  }

  void compare(std::size_t input, const Tensor& x, const Tensor& gradient, const Tensor& weights) const {
    const auto analytic =
        gradient.defined() ? gradient.to_vector<double>() : std::vector<double>(static_cast<std::size_t>(x.numel()));
    for (std::int64_t i = 0; i < x.numel(); ++i) {
      double up = 0, down = 0;
      {
        Element element(x, i);
        element.shift(options_.eps);
        up = value(weights);
        element.shift(-options_.eps);
        down = value(weights);
      }
      const double numeric = (up - down) / (2 * options_.eps), given = analytic[static_cast<std::size_t>(i)];
      if (std::abs(numeric - given) <= options_.atol + options_.rtol * std::abs(numeric)) continue;
      std::ostringstream text;
      text.precision(10);
      text << CallSite::op() << ": the gradient of input " << input << " is wrong at element " << i << "\n  input     "
           << describe(x) << "\n  gradient  " << given << "\n  numeric   " << numeric
           << "\ncheck the function that it was recorded with";
      throw AutogradError(text.str());
    }
  }

  TensorFunction f_;
  const std::vector<Tensor>& inputs_;
  GradcheckOptions options_;
};

/// Calls the user's function, so that errors inside of it name what it called.
Tensor call_user(const TensorFunction& function, const std::vector<Tensor>& inputs) {
  const CallSite users = CallSite::none();
  return function(inputs);
}

}  // namespace

bool gradcheck(const TensorFunction& function, const std::vector<Tensor>& inputs, const GradcheckOptions& options,
               SourceLocation where) {
  const CallSite site("gradcheck", where);
  require_double(function, inputs);
  Check([&](const std::vector<Tensor>& in) { return call_user(function, in); }, inputs, options).run();
  return true;
}

bool gradgradcheck(const TensorFunction& function, const std::vector<Tensor>& inputs, const GradcheckOptions& options,
                   SourceLocation where) {
  const CallSite site("gradgradcheck", where);
  require_double(function, inputs);
  const TensorFunction gradients = [&](const std::vector<Tensor>& in) {
    const Tensor out = call_user(function, in);
    require_output(out);
    std::vector<Tensor> checked;
    for (const Tensor& t : in)
      if (t.requires_grad()) checked.push_back(t);
    const auto parts = grad({sum(out * weights_like(out, 5))}, checked, {.create_graph = true, .allow_unused = true});
    Tensor total = zeros({}, {DType::float64, out.device()});
    for (std::size_t i = 0; i < parts.size(); ++i) {
      if (!parts[i].defined()) continue;
      total = total + sum(parts[i] * weights_like(parts[i], 7 + i));
    }
    return total;
  };
  Check(gradients, inputs, options).run();
  return true;
}

}  // namespace minnow
