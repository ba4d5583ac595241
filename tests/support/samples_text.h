#pragma once

#include "samples.h"

namespace minnow::test {

/// The arguments of a line, between the dtype and "->".
SampleArguments read_sample(const std::string& text);
/// Of the absolute values, and two weighted ones: sums() of make_samples.py.
std::vector<double> sums_of(const Tensor& y);
/// What arrives at a result in backward: weights() of make_samples.py.
Tensor weights_of(const Tensor& y);

}  // namespace minnow::test
