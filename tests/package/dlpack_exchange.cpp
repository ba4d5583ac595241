// Tensors for another library of the process, and of it (dlpack_test.py).

#include "../interop/dlpack_structs.h"

#include <minnow/interop/dlpack.h>
#include <minnow/minnow.h>

using namespace minnow;

extern "C" {
/// 0, 1, 2 ... as [2, 3], with the columns dense.
DLManagedTensorVersioned* export_versioned(int dtype) {
  return to_dlpack<DLManagedTensorVersioned>(arange(6, static_cast<DType>(dtype)).reshape({3, 2}).transpose(0, 1));
}
DLManagedTensor* export_plain(int dtype) {
  return to_dlpack<DLManagedTensor>(arange(6, static_cast<DType>(dtype)).reshape({3, 2}).transpose(0, 1));
}
/// Takes the memory, adds 1 to each element where they are, and gives their sum.
double take_versioned(DLManagedTensorVersioned* managed) {
  return from_dlpack(managed).add_(1).to(float64).sum().item();
}
double take_plain(DLManagedTensor* managed) { return from_dlpack(managed).add_(1).to(float64).sum().item(); }
std::int64_t count_storages() { return live_storages(); }
}
