#include <minnow/nn/layers/basic.h>

#include <fmt/format.h>
#include <minnow/ops/norms/softmax.h>
#include <minnow/ops/random/dropout.h>
#include <minnow/tensor/create.h>
#include <minnow/tensor/error.h>
#include <minnow/tensor/internal.h>

namespace minnow::nn {

std::string Flatten::describe() const {
  return start_dim_ == 1 && end_dim_ == -1 ? "Flatten" : fmt::format("Flatten({}, {})", start_dim_, end_dim_);
}

Dropout::Dropout(double p, SourceLocation where) : p_(p) {
  if (!(p >= 0 && p <= 1))
    throw ValueError(fmt::format("Dropout: p must be in [0, 1], got {}\nit is the probability of a zero", p), where);
}
Tensor Dropout::forward(const Tensor& x) {
  const CallSite site = called();
  return dropout(x, {p_, is_training()});
}
std::string Dropout::describe() const { return fmt::format("Dropout({})", p_); }

Tensor Unflatten::forward(const Tensor& x) {
  const CallSite site = called();
  return x.unflatten(dim_, sizes_);
}

std::string Unflatten::describe() const { return fmt::format("Unflatten({}, {})", dim_, sizes_.str()); }

}  // namespace minnow::nn
