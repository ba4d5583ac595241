#include <minnow/tensor/dtype.h>

#include <ostream>
#include <minnow/tensor/internal.h>
#include <minnow/tensor/text.h>

namespace minnow {

std::ostream& operator<<(std::ostream& out, DType dtype) {
  write_text(out, name_of(dtype));
  return out;
}

}  // namespace minnow
