#include <minnow/tensor/cuda/runtime/call.h>

#include <minnow/tensor/backend/dispatch.h>
#include <minnow/tensor/cuda/runtime/context.h>
#include <minnow/tensor/cuda/runtime/status.h>
#include <minnow/tensor/error.h>
#include <minnow/tensor/profile/profile.h>

namespace minnow::cuda {

Call::Call(const char* name, int device)
    : context_(cuda::context(device)),
      operation_(CallSite::is_open() ? CallSite::op().data() : name),
      device_(context_.index),
      stream_(static_cast<cudaStream_t>(context_.current())) {
  select(device_);
  remember_operation(operation_);
  if (!profile::is_enabled()) return;
  profile::detail::push_range(operation_);
  in_range_ = true;
}

Call::~Call() {
  if (in_range_) profile::detail::pop_range();
}

void Call::uses(const View& operand) {
  if (!operand.defined() || !operand.device().is_cuda()) return;
  const Storage& storage = *operand.storage();
  if (storage.stream() != stream_) [[unlikely]]
    context_.memory.used_on(storage.data(), stream_);
  if (MemoryPool* pool = current_pool()) [[unlikely]]
    pool->keep(operand.storage());
  if (debug()) [[unlikely]]
    operands_.push_back(storage.data());
}

void Call::launched() const {
  check(cudaPeekAtLastError(), "cudaLaunchKernel");
  if (!debug() || capturing()) return;
  check(cudaStreamSynchronize(stream_), "cudaStreamSynchronize");
  context_.faults.check();
  check_guards();
}

void Call::check_guards() const {
  for (const void* data : operands_) {
    const std::string damage = context_.memory.check(data, operation_);
    if (!damage.empty())
      throw BackendError(std::string(operation_) + ": it or an operation before it wrote out of bounds\n  " + damage,
                         CallSite::where());
  }
}

std::uint32_t* Call::fault_flag(Fault fault) const {
  MemoryPool* pool = current_pool();
  Faults& faults = context_.faults;
  std::uint32_t* flag = faults.flag(fault, CallSite::op_or(operation_).data(), CallSite::where(), pool != nullptr);
  if (pool) pool->at_release([&faults, flag] { faults.give_back(flag); });
  return flag;
}

Scratch::Scratch(const Call& call, std::size_t bytes)
    : allocator_(call.context().memory), data_(bytes ? allocator_.allocate(bytes) : nullptr), bytes_(bytes) {}

Scratch::~Scratch() {
  if (data_) allocator_.deallocate(data_, bytes_);
}

}  // namespace minnow::cuda
