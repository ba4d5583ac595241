#include <minnow/data/detail/codec.h>
#include <minnow/tensor/error.h>
#include <minnow/tensor/internal.h>

namespace minnow::data::detail {
namespace {

[[noreturn]] void refuse(const char* op, SourceLocation where) {
  throw BackendError(std::string(CallSite::op_or(op)) +
                         ": minnow was built without libjpeg\ninstall it (Debian: libjpeg62-turbo-dev), configure and "
                         "build minnow again",
                     where);
}

}  // namespace

Tensor decode_jpeg(std::span<const std::byte>, const ReadImageOptions&, SourceLocation where) {
  refuse("read_image", where);
}

std::vector<std::byte> encode_jpeg(const Tensor&, int, SourceLocation where) { refuse("write_jpeg", where); }

}  // namespace minnow::data::detail
