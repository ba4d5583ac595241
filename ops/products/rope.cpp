#include <minnow/ops/products/rope.h>

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <numbers>
#include <vector>
#include <minnow/autograd/grad_mode.h>
#include <minnow/ops/detail/dense.h>
#include <minnow/ops/detail/operation.h>
#include <minnow/ops/elementwise/arithmetic.h>
#include <minnow/ops/elementwise/unary.h>
#include <minnow/ops/indexing/index.h>
#include <minnow/tensor/create.h>
#include <minnow/tensor/error.h>
#include <minnow/tensor/raw/copy.h>
#include <minnow/tensor/raw/elementwise.h>
#include <minnow/tensor/raw/view.h>

namespace minnow {
namespace {

/// Angles for a position, longest wave last.
std::vector<double> frequencies(std::int64_t dim, const RopeOptions& o) {
  std::vector<double> result;
  const auto original = static_cast<double>(o.original_max_position_embeddings);
  for (std::int64_t i = 0; i < dim; i += 2) {
    const double plain = std::pow(o.theta, -static_cast<double>(i) / static_cast<double>(dim));
    const double waves = original * plain / (2 * std::numbers::pi);  // in the original positions
    const double kept = std::clamp((waves - o.low_freq_factor) / (o.high_freq_factor - o.low_freq_factor), 0.0, 1.0);
    result.push_back(plain * (kept + (1 - kept) / o.factor));
  }
  return result;
}

/// The first or second elements of all pairs of a row.
Tensor part(const Tensor& x, int which, bool interleaved) {
  Shape shape = x.shape();
  Strides strides = x.strides();
  const std::int64_t half = shape[-1] / 2, step = strides[-1];
  shape[-1] = half;
  if (interleaved) strides[-1] = 2 * step;
  return raw::alias(x, shape, strides, x.storage_offset() + which * (interleaved ? step : half * step));
}

/// operands: x and table.
void check(Operands operands) {
  const Tensor &x = operands[0].tensor, &table = operands[1].tensor;
  if (!x.is_floating_point() || !table.is_floating_point())
    throw DTypeError(message("operands must be floating-point", operands, dtype_hint(operands)));
  const int lead = x.dim() - table.dim();
  bool fits = table.dim() > 0 && lead >= 0 && x.size(-1) % 2 == 0 && x.size(-1) == table.size(-1);
  for (int d = 0; fits && d + 1 < table.dim(); ++d) fits = table.size(d) == 1 || table.size(d) == x.size(d + lead);
  if (!fits)
    throw ShapeError(message("the table must broadcast to x, whose last size must be even", operands,
                             "x: [..., L, E]  table: rope_table() of L positions, [L, E]"));
  if (records(table)) throw AutogradError(message("the table gets no gradient", operands, "detach() it"));
}

Tensor turn(const In& x_, const Tensor& table_, bool interleaved, bool back) {
  const Operation op("rope", x_.where, {{"x", *x_}, {"table", table_}});
  const Tensor &x = op[0], &table = op[1];
  check(op);
  Tensor y = op.result(x.shape(), x.dtype());
  const Tensor a = part(x, 0, interleaved), b = part(x, 1, interleaved);
  const Tensor cos = part(table, 0, false), sin = part(table, 1, false);
  constexpr int kMul = raw::kBinary<kernels::Mul>, kAdd = raw::kTernary<kernels::Addcmul>;
  const double sign = back ? -1 : 1;
  raw::copy_to(raw::ternary(kAdd, raw::binary(kMul, a, cos), b, sin, -sign), part(y, 0, interleaved));
  raw::copy_to(raw::ternary(kAdd, raw::binary(kMul, b, cos), a, sin, sign), part(y, 1, interleaved));
  return op.record(std::move(y), {x}, [table = Saved(table), interleaved, back](const Tensor& g) {
    return turn(g, table(), interleaved, !back);
  });
}

}  // namespace

Tensor rope_table(const In& positions, std::int64_t dim, const RopeOptions& o) {
  const Operation op("rope_table", positions.where, {{"positions", *positions}});
  constexpr std::int64_t kMost = 1 << 16;
  if (dim <= 0 || dim % 2 != 0 || dim > kMost)
    throw ValueError(message(fmt::format("dim must be positive, even and at most {}, got {}", kMost, dim), op,
                             "it is the width of a head, whose elements are turned in pairs"));
  const bool positive = o.theta > 0 && o.factor > 0 && o.low_freq_factor > 0 && o.original_max_position_embeddings > 0;
  if (!positive || !(o.high_freq_factor > o.low_freq_factor) || !std::isfinite(o.theta * o.factor * o.high_freq_factor))
    throw ValueError(message("theta and the factors must be positive, and high_freq_factor above low_freq_factor", op,
                             fmt::format("here theta {}, factor {}, low {}, high {}, {} positions", o.theta, o.factor,
                                         o.low_freq_factor, o.high_freq_factor, o.original_max_position_embeddings)));
  const NoGradGuard no_grad;
  const Tensor steps = tensor(frequencies(dim, o), op[0].device());
  const Tensor angles = mul(op[0].to(DType::float64).unsqueeze(-1), steps);
  return cat({cos(angles), sin(angles)}, -1).to(DType::float32);
}

Tensor rope(const In& x, const Tensor& table, bool interleaved) { return turn(x, table, interleaved, false); }

}  // namespace minnow
