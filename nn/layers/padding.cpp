#include <minnow/nn/layers/padding.h>

#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <minnow/tensor/backend/dispatch.h>
#include <minnow/tensor/error.h>
#include <minnow/tensor/internal.h>

namespace minnow::nn {

PaddingLayer::PaddingLayer(const char* name, int dims, const PaddingSizes& sizes, PadMode mode, double value,
                           SourceLocation where)
    : name_(fmt::format("{}{}d", name, dims)), sizes_(sizes.each), mode_(mode), value_(value) {
  const auto wanted = static_cast<std::size_t>(2 * dims);
  if (sizes_.size() == 1) sizes_.resize(wanted, sizes_[0]);
  if (sizes_.size() != wanted)
    throw ValueError(fmt::format("{}: padding needs 1 or {} numbers, got {}\n{{left, right}}, and then {{top, bottom}} "
                                 "and {{front, back}}",
                                 name_, wanted, sizes_.size()),
                     where);
}

Tensor PaddingLayer::forward(const Tensor& x) {
  const CallSite site = called();
  const int dims = static_cast<int>(sizes_.size()) / 2;
  if (x.defined() && x.dim() != dims + 2 && x.dim() != dims + 1)
    throw ShapeError(message(fmt::format("{}: x needs {} dimensions, or {} without a batch", name_, dims + 2, dims + 1),
                             {{"x", x}}, "x: [N, C, ...]"));
  return pad(x, sizes_, mode_, value_);
}

std::string PaddingLayer::describe() const {
  const bool same = std::equal(sizes_.begin() + 1, sizes_.end(), sizes_.begin());
  std::string shown = name_ + "(";
  if (same) shown += std::to_string(sizes_[0]);
  else shown += fmt::format("{{{}}}", fmt::join(sizes_, ", "));
  if (value_ != 0) shown += fmt::format(", value {}", value_);
  return shown + ")";
}

}  // namespace minnow::nn
