#include <minnow/nn/layers/activation.h>

#include <fmt/format.h>
#include <minnow/ops/elementwise/arithmetic.h>
#include <minnow/tensor/backend/dispatch.h>
#include <minnow/tensor/create.h>
#include <minnow/tensor/error.h>

namespace minnow::nn::detail {

std::string call_text(std::string_view name, std::initializer_list<double> numbers) {
  std::string text(name);
  for (const double* n = numbers.begin(); n != numbers.end(); ++n)
    text += fmt::format("{}{}", n == numbers.begin() ? "(" : ", ", *n);
  return numbers.size() ? text + ")" : text;
}

Tensor softmin(const In& x, int dim) {
  const CallSite site("softmin", x.where);
  return softmax(-*x, dim);
}

}  // namespace minnow::nn::detail

namespace minnow::nn {

Tensor GLU::forward(const Tensor& x) {
  const CallSite site = called();
  const std::int64_t size = x.size(dim_);
  if (size % 2 != 0)
    throw ShapeError(message("GLU: the size of the dimension must be even", {{"x", x}}, "its halves are multiplied"));
  return x.narrow(dim_, 0, size / 2) * sigmoid(x.narrow(dim_, size / 2, size / 2));
}

RReLU::RReLU(double lower, double upper, SourceLocation where) : lower_(lower), upper_(upper) {
  if (!(lower <= upper))
    throw ValueError(
        fmt::format("RReLU: lower must not be above upper, got {} and {}\nthe slope is between them", lower, upper),
        where);
}

Tensor RReLU::forward(const Tensor& x) {
  const CallSite site = called();
  if (!is_training()) return leaky_relu(x, (lower_ + upper_) / 2);
  const Tensor slopes = lower_ + (upper_ - lower_) * rand_like(x.detach());
  return where(ge(x, 0), x, x * slopes);
}

}  // namespace minnow::nn
