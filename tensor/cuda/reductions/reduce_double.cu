#include <minnow/tensor/cuda/reductions/reduce_kernels.h>

namespace minnow::cuda {

template void reduce_as<double>(const Call&, int, ReduceJob, const ReduceLayout&);

}  // namespace minnow::cuda
