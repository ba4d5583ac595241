#include <minnow/tensor/cuda/elementwise/unary_kernels.h>

namespace minnow::cuda {

template const Loops<1>* unary_table<double>();

}  // namespace minnow::cuda
