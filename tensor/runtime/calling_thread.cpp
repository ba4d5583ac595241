#include <minnow/tensor/runtime/calling_thread.h>

namespace minnow::detail {

constinit thread_local CallingThread calling_thread;

}  // namespace minnow::detail
