#include <nvtx3/nvToolsExt.h>
#include <minnow/tensor/profile/profile.h>

namespace minnow::profile::detail {

void push_range(const char* name) { nvtxRangePushA(name); }

void pop_range() { nvtxRangePop(); }

}  // namespace minnow::profile::detail
