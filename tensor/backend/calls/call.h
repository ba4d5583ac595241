#pragma once

#include <cstdint>
#include <minnow/tensor/backend/call_parameters.h>
#include <minnow/tensor/random.h>
#include <minnow/tensor/scalar.h>
#include <minnow/tensor/view.h>

namespace minnow::detail {

/// The calls of a backend: a struct for each, with its operands and parameters.  The caller has checked them and
/// allocated the outputs: all views are on one device of the backend (an operand of an elementwise call may be a 0-dim
/// view in host memory), and their shapes match.  Inputs may have any strides (0 if they were broadcast to the output's
/// shape) unless a call says otherwise.  Work goes to the current stream.  `op` is the index of an operation in its
/// list in kernels/.
///
/// The members of a call are references to views, numbers, or structs and spans of them.
/// kName is used if no CallSite is open; kHostOnly says what a call computes that GPUs refuse.  A call that can find
/// wrong data has the result Outcome; a device may report it at its next synchronization instead.  Each call is in the
/// list Calls (calls.h), and each backend defines execute() for it.
namespace calls {

/// A missing operand.  Not inline: files that are compiled for an instruction set would each have its destructor.
extern const View kUndefined;

}  // namespace calls
}  // namespace minnow::detail
