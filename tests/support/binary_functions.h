#pragma once

#include <vector>
#include <minnow/tensor/in.h>

namespace minnow::test {

using Binary = Tensor (*)(const TensorLike&, const TensorLike&);
using BinaryInPlace = Tensor (*)(const In&, const TensorLike&);

struct NamedBinary {
  const char* name;
  Binary function;
};
struct NamedBinaryInPlace {
  const char* name;
  BinaryInPlace function;
};

/// The elementwise functions of two tensors of any dtype.
const std::vector<NamedBinary>& binary_functions();
/// Those of integers and masks.
const std::vector<NamedBinary>& bit_functions();

}  // namespace minnow::test
