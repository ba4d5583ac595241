#include <minnow/data/detail/host.h>

#include <cstring>
#include <minnow/tensor/internal.h>

namespace minnow::data::detail {

void copy_host(const Tensor& from, const Tensor& to) {
  if (from.numel() == 0) return;
  from.storage()->wait_ready();
  const std::size_t item = from.itemsize();
  const auto* source = static_cast<const char*>(from.raw_data());
  auto* target = static_cast<char*>(to.raw_data());
  if (from.is_contiguous()) {
    std::memcpy(target, source, static_cast<std::size_t>(from.nbytes()));
    return;
  }
  const Shape& shape = from.shape();
  Shape at = Shape::filled(shape.rank(), 0);
  std::int64_t offset = 0;
  for (std::int64_t i = 0, n = from.numel(); i < n; ++i, target += item) {
    std::memcpy(target, source + offset * static_cast<std::int64_t>(item), item);
    for (int d = shape.rank() - 1; d >= 0; --d) {
      offset += from.strides()[d];
      if (++at[d] < shape[d]) break;
      offset -= at[d] * from.strides()[d];
      at[d] = 0;
    }
  }
}

}  // namespace minnow::data::detail
