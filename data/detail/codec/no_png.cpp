#include <minnow/data/detail/codec.h>
#include <minnow/tensor/error.h>
#include <minnow/tensor/internal.h>

namespace minnow::data::detail {

Tensor decode_png(std::span<const std::byte>, const ReadImageOptions&, SourceLocation where) {
  throw BackendError(std::string(CallSite::op_or("read_image")) +
                         ": minnow was built without libpng\ninstall it (Debian: libpng-dev), configure and build "
                         "minnow again",
                     where);
}

}  // namespace minnow::data::detail
