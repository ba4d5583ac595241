#include <minnow/llm/linear.h>

#include <cmath>
#include <fmt/format.h>
#include <utility>
#include <vector>
#include <minnow/autograd/grad_mode.h>
#include <minnow/llm/detail/blocks.h>
#include <minnow/nn/module/init.h>
#include <minnow/nn/module/replace.h>
#include <minnow/ops/detail/blocks.h>
#include <minnow/ops/elementwise/arithmetic.h>
#include <minnow/ops/elementwise/unary.h>
#include <minnow/ops/products/matmul.h>
#include <minnow/ops/reductions/reduce.h>
#include <minnow/tensor/create.h>
#include <minnow/tensor/error.h>
#include <minnow/tensor/internal.h>

namespace minnow::llm {
namespace {

thread_local bool uninitialized = false;

Tensor initial(const Shape& shape, std::int64_t in_features, SourceLocation where) {
  const CallSite site("Linear", where);
  if (in_features <= 0 || shape[0] <= 0)
    throw ValueError(
        fmt::format("Linear: in_features and out_features must be positive, got {} and {}", in_features, shape[0]),
        where);
  if (uninitialized) return empty(shape);
  const double bound = 1 / std::sqrt(static_cast<double>(in_features));
  return nn::init::uniform_(empty(shape), -bound, bound);
}

}  // namespace

Uninitialized::Uninitialized() : before_(std::exchange(uninitialized, true)) {}
Uninitialized::~Uninitialized() { uninitialized = before_; }
bool Uninitialized::is_on() { return uninitialized; }

Linear::Linear(std::int64_t in_features, std::int64_t out_features, bool with_bias, SourceLocation where)
    : weight(parameter("weight", initial({out_features, in_features}, in_features, where))),
      bias(with_bias ? parameter("bias", initial({out_features}, in_features, where)) : nn::Parameter()),
      in_(in_features),
      out_(out_features) {}

Linear::Linear(const In& given, std::int64_t in_features, const Tensor& with_bias) : in_(in_features), out_(0) {
  const CallSite site("Linear", given.where);
  type_ = detail::type_of_rows("Linear", given, in_);
  out_ = given->size(0);
  blocks = buffer("blocks", given->contiguous(), true, given.where);
  if (!with_bias.defined()) return;
  if (with_bias.shape() != Shape{out_})
    throw ShapeError(fmt::format("Linear: bias must be [{}], got {}", out_, with_bias.shape().str()), given.where);
  bias = parameter("bias", with_bias.detach(), given.where);
  bias.requires_grad_(false);
}

Tensor Linear::forward(const Tensor& x) {
  const auto site = called();
  if (weight.defined()) return linear(x, weight, bias);
  const Tensor y = minnow::detail::block_product(x.to(DType::float32), blocks, detail::format_of(type_));
  return (bias.defined() ? y + bias : y).to(x.dtype());
}

std::string Linear::describe() const {
  return fmt::format("Linear({}, {}{}{})", in_, out_, bias.defined() ? "" : ", no bias",
                     weight.defined() ? "" : std::string(", ") + detail::name_of(type_));
}

Tensor quantize(const In& w, GgufType type) {
  const CallSite site("quantize", w.where);
  const NoGradGuard no_grad;
  if (w->dim() != 2 || w->size(1) % detail::kBlock != 0 || (type != GgufType::bf16 && !detail::has_blocks(type)))
    throw ValueError(
        fmt::format("quantize: w is {}\ngive a matrix whose rows are a multiple of 32, and q8_0, q4_0, q4_1 "
                    "or bf16",
                    w->shape().str()),
        w.where);
  if (!w->is_floating_point()) throw DTypeError("quantize: w must be floating-point", w.where);
  const Tensor from = w->to(DType::float32).cpu().contiguous();
  if (from.numel() > 0 && !std::isfinite(amax(abs(from)).item<double>()))
    throw ValueError("quantize: w has NaN or infinity\nload or train finite weights first", w.where);
  const std::int64_t bytes = from.size(1) / detail::kBlock * block_bytes(detail::format_of(type));
  Tensor blocks = empty({from.size(0), bytes}, DType::uint8, w.where);
  detail::quantize(type, from.data<float>(), static_cast<std::byte*>(blocks.raw_data()), from.numel());
  return blocks.to(w->device());
}

void quantize_(nn::Module& net, GgufType type, SourceLocation where) {
  const CallSite site("quantize_", where);
  std::vector<std::pair<Linear*, Linear>> layers;  // what may throw comes before the first change
  for (const auto& [name, module] : net.named_modules())
    if (auto* const layer = dynamic_cast<Linear*>(&module); layer != nullptr && layer->weight.defined())
      layers.emplace_back(layer, Linear(quantize(layer->weight, type), layer->in_features(), layer->bias));
  for (const auto& [layer, with] : layers) nn::replace(*layer, with, where);
}

}  // namespace minnow::llm
