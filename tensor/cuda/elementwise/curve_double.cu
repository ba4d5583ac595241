#include <minnow/tensor/cuda/elementwise/unary_kernels.h>

namespace minnow::cuda {

template const Loops<2>* curve_table<double>();

}  // namespace minnow::cuda
