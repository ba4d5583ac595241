#pragma once

#include <vector>
#include <minnow/tensor/in.h>

namespace minnow::test {

using Binary = Tensor (*)(const In&, const In&);

struct NamedBinary {
  const char* name;
  Binary function;
};

/// The elementwise functions of two tensors of any dtype.
const std::vector<NamedBinary>& binary_functions();
/// Those of integers and masks.
const std::vector<NamedBinary>& bit_functions();

}  // namespace minnow::test
