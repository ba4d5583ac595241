#include <minnow/tensor/cuda/reductions/reduce_kernels.h>

namespace minnow::cuda {

template void reduce_as<float>(const Call&, int, ReduceJob, const ReduceLayout&);

}  // namespace minnow::cuda
