#include <minnow/ops/norms/local_response_norm.h>

#include <fmt/format.h>
#include <minnow/ops/convolution/pool.h>
#include <minnow/ops/detail/operation.h>
#include <minnow/ops/elementwise/arithmetic.h>
#include <minnow/ops/elementwise/unary.h>
#include <minnow/ops/shape/rearrange.h>
#include <minnow/tensor/error.h>

namespace minnow {

Tensor local_response_norm(const In& x_, std::int64_t size, const LocalResponseNormOptions& o) {
  const Operation op("local_response_norm", x_.where, kWide, {{"x", *x_}});
  const Tensor& x = op[0];
  if (x.dim() < 3) throw ShapeError(message("x needs three dimensions or more", op, "x: [N, C, ...]"));
  if (!x.is_floating_point()) throw DTypeError(message("x must be floating-point", op, "convert first: .to(float32)"));
  if (size < 1) throw ValueError(message(fmt::format("size must be positive, got {}", size), op, "e.g. 5 channels"));
  if (!x.numel()) return x.clone();
  const Tensor squares = square(x).flatten(2).unsqueeze(1);  // [N, 1, C, pixels]
  const Tensor wide = pad(squares, {0, 0, size / 2, (size - 1) / 2});
  const Tensor mean = avg_pool2d(wide, {size, 1}, {.stride = 1}).reshape(x.shape());
  return div(x, pow(add(mul(mean, o.alpha), o.k), o.beta));
}

}  // namespace minnow
