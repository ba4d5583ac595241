#include <minnow/data/detail/codec.h>

namespace minnow::data::detail {

Tensor decode_jpeg(std::span<const std::byte>, const ReadImageOptions&, SourceLocation where) {
  refuse_without("libjpeg", "libjpeg62-turbo-dev", "read_image", where);
}
std::vector<std::byte> encode_jpeg(const Tensor&, int, SourceLocation where) {
  refuse_without("libjpeg", "libjpeg62-turbo-dev", "write_jpeg", where);
}

}  // namespace minnow::data::detail
