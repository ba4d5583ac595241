#include <minnow/data/detail/codec.h>

namespace minnow::data::detail {

Tensor decode_png(std::span<const std::byte>, const ReadImageOptions&, SourceLocation where) {
  refuse_without("libpng", "libpng-dev", "read_image", where);
}
std::vector<std::byte> encode_png(const Tensor&, SourceLocation where) {
  refuse_without("libpng", "libpng-dev", "write_png", where);
}

}  // namespace minnow::data::detail
