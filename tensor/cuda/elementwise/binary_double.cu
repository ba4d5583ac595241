#include <minnow/tensor/cuda/elementwise/binary_kernels.h>

namespace minnow::cuda {

template const Loops<2>* binary_table<double>();

}  // namespace minnow::cuda
