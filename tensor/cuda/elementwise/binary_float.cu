#include <minnow/tensor/cuda/elementwise/binary_kernels.h>

namespace minnow::cuda {

template const Loops<2>* binary_table<float>();
template const Loops<2>* binary_table<std::int64_t>();

}  // namespace minnow::cuda
