#include <minnow/optim/muon.h>

#include <cmath>
#include <minnow/autograd/grad_mode.h>
#include <minnow/ops/elementwise/arithmetic.h>
#include <minnow/ops/elementwise/unary.h>
#include <minnow/ops/products/matmul.h>
#include <minnow/ops/reductions/reduce.h>
#include <minnow/tensor/error.h>

namespace minnow::optim {
namespace {

constexpr const char* kStates[] = {"momentum_buffer"};

Tensor orthogonalized(const Tensor& gradient, const MuonOptions& o) {
  const bool tall = gradient.size(0) > gradient.size(1);
  Tensor x = o.bfloat16 ? gradient.to(DType::bfloat16) : gradient;
  if (tall) x = x.t();
  x = x / clamp_min(norm(x), o.eps);
  const auto [a, b, c] = o.ns_coefficients;
  for (int i = 0; i < static_cast<int>(o.ns_steps); ++i) {
    const Tensor gram = matmul(x, x.t());
    x = addmm(x, addmm(gram, gram, gram, b, c), x, a);
  }
  return tall ? x.t() : x;
}

double scale_of(MuonScale scale, const Shape& shape) {
  const auto rows = static_cast<double>(shape[0]), columns = static_cast<double>(shape[1]);
  switch (scale) {
    case MuonScale::match_rms_adamw: return 0.2 * std::sqrt(std::max(rows, columns));
    case MuonScale::spectral_unclamped: return std::sqrt(rows / columns);
    case MuonScale::original: break;
  }
  return std::sqrt(std::max(1.0, rows / columns));
}

}  // namespace

void MuonOptions::list(detail::OptionList& f) {
  f("lr", lr, minnow::detail::kernels::kAtLeast0, "1e-3");
  f("weight_decay", weight_decay, minnow::detail::kernels::kAtLeast0, "0.1");
  f("momentum", momentum, minnow::detail::kernels::kFrom0To1, "0.95");
  f("nesterov", nesterov);
  f("ns_a", ns_coefficients[0], minnow::detail::kernels::kFinite, "3.4445");
  f("ns_b", ns_coefficients[1], minnow::detail::kernels::kFinite, "-4.775");
  f("ns_c", ns_coefficients[2], minnow::detail::kernels::kFinite, "2.0315");
  f("eps", eps, minnow::detail::kernels::kAtLeast0, "1e-7");
  f("bfloat16", bfloat16);
  f("ns_steps", ns_steps, {1, 100, true}, "5");
}

Muon::Muon(const std::vector<Tensor>& params, const MuonOptions& options, SourceLocation where)
    : ComposedOptimizer({"Muon", -1, kStates, 0}, options) {
  add_param_group(params, options, where);
}

void Muon::check_parameter(const Tensor& param, SourceLocation where) const {
  if (param.dim() != 2 || param.numel() == 0)
    throw ShapeError("Muon: a parameter must be a matrix\n  parameter  " + describe(param) +
                         "\ngive other parameters to another optimizer, e.g. AdamW",
                     where);
}

void Muon::update(const Composed& u) {
  const MuonOptions& o = settings(u.group);
  const Tensor& buffer = u.states[0];
  const Tensor average = lerp(buffer, u.grad, 1 - o.momentum);
  const Tensor direction = o.nesterov ? lerp(u.grad, average, o.momentum) : average;
  const Tensor step = orthogonalized(direction, o).to(u.param.dtype());
  const Tensor decayed = o.weight_decay != 0 ? u.param * (1 - o.lr * o.weight_decay) : u.param;
  write(buffer, average);
  write(u.param, decayed + step * (-o.lr * scale_of(o.adjust_lr, u.param.shape())));
}

}  // namespace minnow::optim
