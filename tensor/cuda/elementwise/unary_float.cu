#include <minnow/tensor/cuda/elementwise/unary_kernels.h>

namespace minnow::cuda {

template const Loops<1>* unary_table<float>();
template const Loops<1>* unary_table<std::int64_t>();

}  // namespace minnow::cuda
