#include <minnow/tensor/cpu/runtime/library.h>

namespace minnow::cpu::library {

bool conv_forward(const Conv2dParams&, const View&, const View&, const View&, const View&, Activation) { return false; }
bool conv_backward_input(const Conv2dParams&, const View&, const View&, const View&) { return false; }
bool conv_backward_weight(const Conv2dParams&, const View&, const View&, const Shape&, const View&, const View&) {
  return false;
}
std::vector<std::string> conv_names(ConvDirection, DType, const Conv2dParams&, const Shape&, const Shape&,
                                    const Shape&) {
  return {};
}

}  // namespace minnow::cpu::library
