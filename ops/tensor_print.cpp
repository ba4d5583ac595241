#include <ostream>
#include <minnow/tensor/in.h>
#include <minnow/tensor/raw/print.h>
#include <minnow/tensor/text.h>

namespace minnow {

std::string to_string(const Tensor& tensor, SourceLocation where) {
  return raw::to_string({tensor, where}, tensor.defined() && tensor.requires_grad() ? ", requires_grad=true" : "");
}

std::ostream& operator<<(std::ostream& out, const In& tensor) {
  write_text(out, to_string(*tensor, tensor.where));
  return out;
}

}  // namespace minnow
