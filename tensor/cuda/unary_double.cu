#include <minnow/tensor/cuda/unary_kernels.h>

namespace minnow::cuda {

template const Loops<1>* unary_table<double>();

}  // namespace minnow::cuda
