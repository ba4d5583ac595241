#pragma once

#include <vector>
#include <minnow/autograd/functional.h>

namespace minnow {

struct GradcheckOptions {
  double eps = 1e-5;  ///< the step of the central differences
  double rtol = 1e-5;
  double atol = 1e-7;
};

/// Compares the gradients of `function` with central differences, for every element of every input that requires a
/// gradient; the output is weighted by fixed random numbers, so that each of its elements counts.  Inputs must be
/// float64 and may be views (an input that is not contiguous stays so); the function must be deterministic.
/// Returns true, or throws AutogradError that names the input, the element and both values.
bool gradcheck(const TensorFunction& function, const std::vector<Tensor>& inputs, const GradcheckOptions& options = {},
               SourceLocation where = SourceLocation::current());

/// The same for the second derivatives: checks the gradient of `function`, computed with create_graph.
bool gradgradcheck(const TensorFunction& function, const std::vector<Tensor>& inputs,
                   const GradcheckOptions& options = {1e-5, 1e-4, 1e-6},
                   SourceLocation where = SourceLocation::current());

}  // namespace minnow
