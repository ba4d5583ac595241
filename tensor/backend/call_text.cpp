#include <minnow/tensor/backend/call_text.h>

#include <algorithm>
#include <cstring>
#include <fmt/format.h>

namespace minnow::detail {
namespace {

/// A number that the host gave to an operation: one element, whose memory only captured calls have.
bool is_constant(const View& view) {
  for (int d = 0; d < view.dim(); ++d)
    if (view.shape()[d] != 1 && view.strides()[d] != 0) return false;
  return view.numel() > 0 && view.storage().use_count() == view.storage()->graph_references();
}

std::string value_of(const View& view) {
  const void* const at = view.raw_data();
  switch (view.dtype()) {
    case DType::float32: return fmt::format("{}", *static_cast<const float*>(at));
    case DType::float64: return fmt::format("{}", *static_cast<const double*>(at));
    case DType::int64: return fmt::format("{}", *static_cast<const std::int64_t*>(at));
    default: {
      unsigned bits = 0;
      std::memcpy(&bits, at, std::min(sizeof bits, view.itemsize()));
      return fmt::format("{:#x}", bits);
    }
  }
}

}  // namespace

void CallText::add(const View& view) {
  if (!view.defined()) return add_text("none");
  const CaptureMemory::Place place = memory_.place_of(view);
  std::string text = std::string(name_of(view.dtype())) + view.shape().str();
  if (!view.is_contiguous()) text += " strides " + view.strides().str();
  if (view.storage_offset() != 0) text += " offset " + std::to_string(view.storage_offset());
  switch (place.kind) {
    case CaptureMemory::Kind::input: text += " of input " + std::to_string(place.number); break;
    case CaptureMemory::Kind::step: text += " #" + std::to_string(place.number); break;
    case CaptureMemory::Kind::outside:
      if (is_constant(view)) text += " = " + value_of(view);
      else outside_.push_back(view.storage().get());
      break;
  }
  add_text(text);
}

void CallText::add(double number) { add_text(fmt::format("{}", number)); }

void CallText::add(const MatmulParams& params) {
  add(params.alpha);
  add(params.beta);
  add(params.activation);
}

void CallText::add(const Conv2dParams& params) {
  for (const auto* pair : {params.stride, params.padding, params.dilation})
    for (int d = 0; d < 2; ++d) add(pair[d]);
  add(params.groups);
}

void CallText::add(const Pool2dParams& params) {
  for (const auto* pair : {params.kernel, params.stride, params.padding, params.dilation})
    for (int d = 0; d < 2; ++d) add(pair[d]);
  add(params.count_include_pad);
}

}  // namespace minnow::detail
