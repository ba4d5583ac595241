#include <minnow/tensor/cuda/elementwise/unary_kernels.h>

namespace minnow::cuda {

template const Loops<2>* slope_table<float>();

}  // namespace minnow::cuda
