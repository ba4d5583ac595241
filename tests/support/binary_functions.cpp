#include "binary_functions.h"

#include <minnow/ops/elementwise/arithmetic.h>

namespace minnow::test {

const std::vector<NamedBinary>& binary_functions() {
  static const auto* all = new std::vector<NamedBinary>{{"add", add},
                                                        {"sub", sub},
                                                        {"mul", mul},
                                                        {"div", div},
                                                        {"floor_divide", floor_divide},
                                                        {"fmod", fmod},
                                                        {"remainder", remainder},
                                                        {"pow", pow},
                                                        {"maximum", maximum},
                                                        {"minimum", minimum},
                                                        {"fmax", fmax},
                                                        {"fmin", fmin},
                                                        {"atan2", atan2},
                                                        {"hypot", hypot},
                                                        {"copysign", copysign},
                                                        {"logaddexp", logaddexp},
                                                        {"eq", eq},
                                                        {"ne", ne},
                                                        {"lt", lt},
                                                        {"le", le},
                                                        {"gt", gt},
                                                        {"ge", ge},
                                                        {"logical_and", logical_and},
                                                        {"logical_or", logical_or},
                                                        {"logical_xor", logical_xor}};
  return *all;
}

const std::vector<NamedBinary>& bit_functions() {
  static const auto* all = new std::vector<NamedBinary>{{"bitwise_and", bitwise_and},
                                                        {"bitwise_or", bitwise_or},
                                                        {"bitwise_xor", bitwise_xor},
                                                        {"left_shift", left_shift},
                                                        {"right_shift", right_shift}};
  return *all;
}

}  // namespace minnow::test
