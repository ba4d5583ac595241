#include <minnow/nn/layers/pairs.h>

#include <cmath>
#include <fmt/format.h>
#include <minnow/nn/module/init.h>
#include <minnow/ops/detail/operation.h>
#include <minnow/ops/products/einsum.h>
#include <minnow/ops/reductions/distance.h>
#include <minnow/tensor/create.h>
#include <minnow/tensor/error.h>
#include <minnow/tensor/internal.h>

namespace minnow::nn {

Tensor CosineSimilarity::forward(const Tensor& a, const Tensor& b) {
  const CallSite site = called();
  return cosine_similarity(a, b, dim_, eps_);
}
std::string CosineSimilarity::describe() const { return fmt::format("CosineSimilarity({}, eps {})", dim_, eps_); }

Tensor PairwiseDistance::forward(const Tensor& a, const Tensor& b) {
  const CallSite site = called();
  return pairwise_distance(a, b, {.p = p_, .eps = eps_, .keepdim = keepdim_});
}
std::string PairwiseDistance::describe() const {
  return fmt::format("PairwiseDistance({}, eps {}{})", p_, eps_, keepdim_ ? ", keepdim" : "");
}

namespace {

Tensor initial(const Shape& shape, std::int64_t in_features, SourceLocation where) {
  for (const std::int64_t size : shape)
    if (size < 1)
      throw ValueError(fmt::format("Bilinear: the sizes must be positive, got {}\ngive three sizes of 1 or more", size),
                       where);
  if (in_features < 1)
    throw ValueError(
        fmt::format("Bilinear: the sizes must be positive, got {}\ngive three sizes of 1 or more", in_features), where);
  const double bound = 1 / std::sqrt(static_cast<double>(in_features));
  return init::uniform_(empty(shape), -bound, bound);
}

}  // namespace

Bilinear::Bilinear(std::int64_t in1_features, std::int64_t in2_features, std::int64_t out_features, bool with_bias,
                   SourceLocation where)
    : weight(parameter("weight", initial({out_features, in1_features, in2_features}, in1_features, where))),
      bias(with_bias ? parameter("bias", initial({out_features}, in1_features, where)) : Parameter()) {}

Tensor Bilinear::forward(const Tensor& a, const Tensor& b) {
  const CallSite site = called();
  const minnow::detail::BoundOperands op(site, {{"a", a}, {"b", b}, {"weight", weight}});
  if (a.dim() < 1 || b.dim() < 1 || a.size(-1) != weight.size(1) || b.size(-1) != weight.size(2))
    throw ShapeError(message("Bilinear: the operands must be [..., in1_features] and [..., in2_features]", op,
                             "the last sizes are those of the weight"));
  return bilinear(a, b, weight, bias);
}

std::string Bilinear::describe() const {
  return fmt::format("Bilinear({}, {}, {}{})", weight.size(1), weight.size(2), weight.size(0),
                     bias.defined() ? "" : ", no bias");
}

}  // namespace minnow::nn
