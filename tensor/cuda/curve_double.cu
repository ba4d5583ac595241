#include <minnow/tensor/cuda/unary_kernels.h>

namespace minnow::cuda {

template const Loops<2>* curve_table<double>();

}  // namespace minnow::cuda
