#pragma once

#include "op_cases.h"

namespace minnow::test {

/// Calls a row's function in wrong ways: other dtypes, shapes and values, moved-from operands, in backward, on another
/// thread.  Each call gives a result, or an Error that names an operation.
void misuse(const OpCase& c, Device device);

/// "ShapeError: matmul: ...".  A test may call others before the function, so that any name will do.
bool names_an_operation(const std::string& text);

}  // namespace minnow::test
