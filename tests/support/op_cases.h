#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>
#include <minnow/tensor/in.h>
#include <minnow/tensor/scalar.h>

#include "golden.h"

/// The tests of the operations: tables with a row for each public function, and what is checked of every row.
///
///     const Register table([] {
///       return OpCases{{.function = "softmax",
///                       .variant = "dim 0",
///                       .call = one([](const Tensors& x) { return softmax(x[0], 0); }),
///                       .inputs = {{values({2, 3})}, {values({0, 3})}, {values({})}},
///                       .golden = {"softmax: softmax/0"}}};
///     });
///
/// Each function is a test suite, `--gtest_filter=softmax.*`:
///   golden/DEVICE     values and gradients are PyTorch's (tests/golden)
///   gradients/DEVICE  the first three derivatives match central differences, in float64
///   layouts/DEVICE    every dtype and layout gives what contiguous inputs give on the CPU, values and gradients
///   same/DEVICE       the result is that of another way to write it (an in-place form and its function)
///   dtypes/DEVICE     half and single precision agree with double; other dtypes are refused
///   bad_inputs        undefined tensors and tensors of two devices are refused
/// A public function without a row is a failure of check_cases.py; a row without golden values must say why.
namespace minnow::test {

using Tensors = std::vector<Tensor>;

/// A tensor that a case is called with: uniform in [low, high) (integers: see integers()), or indices or a mask.
struct Input {
  enum class Kind : std::uint8_t { kValues, kIndex, kMask };
  Shape shape;
  double low = 0, high = 1;
  Kind kind = Kind::kValues;
  std::int64_t first_integer = 1, end_integer = 6;

  /// With integers of [first, end) where the dtype is an integer one.
  Input integers(std::int64_t first, std::int64_t end) const;
};

Input values(const Shape& shape, double low = 0.3, double high = 1.3);
/// int64 in [0, size), whatever the dtype of the case.
Input indices(const Shape& shape, std::int64_t size);
/// bool, whatever the dtype of the case.
Input mask(const Shape& shape);

/// One call's inputs.
using Inputs = std::vector<Input>;

// Sets of dtypes.
std::vector<DType> floating_point_dtypes();
std::vector<DType> integral();  ///< without bool
std::vector<DType> numbers();   ///< floating-point and integral
std::vector<DType> all_dtypes();

/// Which derivatives a case has: nothing is recorded, the first, all, or some that central differences cannot check.
enum class Gradient : std::uint8_t { kNone, kFirst, kAny, kUnchecked };

struct OpCase {
  std::string function;  ///< the public function's name
  std::string variant = {};
  Function call = {};
  std::vector<Inputs> inputs = {};                      ///< several calls: shapes, ranges, none and 0-dim
  std::vector<DType> dtypes = floating_point_dtypes();  ///< of the inputs that are values; others must be refused
  Gradient gradient = Gradient::kAny;
  std::vector<std::string> golden = {};  ///< "file: case"; also its cases "case:..." are meant
  std::string without_golden = {};       ///< why there are none
  Function same_as = {};                 ///< gives the same bits
  Tolerance tolerance = {};              ///< of golden values, if not that of the dtype
  Tolerance tolerance_on_cuda = {};      ///< the same, where a library has algorithms with larger errors
  bool takes_other_dtypes = false;       ///< other dtypes are not tested
  bool takes_other_devices = false;      ///< inputs may be on several devices
  bool on_cuda = true;                   ///< false: CUDA refuses it by DeviceError
  bool exact = true;                     ///< in half precision it agrees with double precision
  std::size_t optional_from = 100;       ///< inputs from this one on may be undefined
};
using OpCases = std::vector<OpCase>;

/// Adds the rows of a file; they are made when the tests are registered.
struct Register {
  explicit Register(OpCases (*make)());
};

/// The tensors of a call, on the CPU; the same in each call.
Tensors make_inputs(const Inputs& inputs, DType dtype);

/// All rows of the program.
const OpCases& op_cases();
/// Registers the tests of all rows, and those of the table as a whole.
void register_op_tests();

// Calls.

template <class F> Function one(F function) {
  return [function](const Tensors& x) { return Tensors{function(x)}; };
}
/// Of a copy of the first input, which is written to.
template <class F> Function written(F function) {
  return [function](const Tensors& x) {
    Tensor y = x[0].clone();
    function(y, x);
    return Tensors{y};
  };
}

}  // namespace minnow::test
