#include <minnow/optim/adafactor.h>

#include <cmath>
#include <limits>
#include <minnow/ops/elementwise/arithmetic.h>
#include <minnow/ops/elementwise/unary.h>
#include <minnow/ops/products/matmul.h>
#include <minnow/ops/reductions/reduce.h>

namespace minnow::optim {
namespace {

constexpr const char* kStates[] = {"row_var", "col_var", "variance"};

double precision(DType dtype) {
  switch (dtype) {
    case DType::float64: return std::numeric_limits<double>::epsilon();
    case DType::float16: return 0x1p-10;
    case DType::bfloat16: return 0x1p-7;
    default: return static_cast<double>(std::numeric_limits<float>::epsilon());
  }
}

/// The square root of the mean of squares: 0-dim.
Tensor root_mean_square(const Tensor& x) { return norm(x) / std::sqrt(static_cast<double>(x.numel())); }

}  // namespace

void AdafactorOptions::list(detail::OptionList& f) {
  f("lr", lr, minnow::detail::kernels::kAtLeast0, "1e-2");
  f("beta2_decay", beta2_decay, {-std::numeric_limits<double>::infinity(), 0}, "-0.8");
  f("eps1", eps1, minnow::detail::kernels::kAtLeast0, "1e-7");
  f("eps2", eps2, minnow::detail::kernels::kAtLeast0, "1e-3");
  f("d", d, {1}, "1");
  f("weight_decay", weight_decay, minnow::detail::kernels::kAtLeast0, "0.01");
  f("maximize", maximize);
}

Adafactor::Adafactor(const std::vector<Tensor>& params, const AdafactorOptions& options, SourceLocation where)
    : ComposedOptimizer({"Adafactor", -1, kStates, 0}, options) {
  add_param_group(params, options, where);
}

unsigned Adafactor::states_of_parameter(std::size_t, const Tensor& param) const { return param.dim() > 1 ? 3 : 4; }

Shape Adafactor::state_shape(const Tensor& param, std::size_t state) const {
  Shape shape = param.shape();
  if (state < 2 && shape.rank() > 1) shape[state == 0 ? -1 : -2] = 1;
  return shape;
}

void Adafactor::update(const Composed& u) {
  const AdafactorOptions& o = settings(u.group);
  const auto step = static_cast<double>(u.step);
  const double weight = std::pow(step, o.beta2_decay), rate = std::min(o.lr, 1 / std::sqrt(step));
  const double eps1 = o.eps1 > 0 ? o.eps1 : precision(u.param.dtype());
  const Tensor grad = o.maximize ? -u.grad : u.grad, squares = square(grad);
  Tensor estimate;
  if (grad.dim() > 1) {
    const Tensor rows = lerp(u.states[0], mean(squares, -1, true), weight),
                 columns = lerp(u.states[1], mean(squares, -2, true), weight);
    write(u.states[0], rows);
    write(u.states[1], columns);
    estimate = matmul(rows, columns) / clamp_min(mean(rows, -2, true), eps1);
  } else {
    estimate = lerp(u.states[2], squares, weight);
    write(u.states[2], estimate);
  }
  const Tensor direction = grad * rsqrt(clamp_min(estimate, eps1 * eps1));
  const Tensor size = clamp_min(root_mean_square(u.param), o.eps2) * rate,
               shrunk = clamp_min(root_mean_square(direction) / o.d, 1);
  const Tensor change = direction * (size / shrunk);
  write(u.param, (o.weight_decay != 0 ? u.param * (1 - o.lr * o.weight_decay) : u.param) - change);
}

}  // namespace minnow::optim
