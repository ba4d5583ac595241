#include <minnow/tensor/cuda/call.h>

#include <minnow/tensor/backend/dispatch.h>
#include <minnow/tensor/cuda/status.h>

namespace minnow::cuda {

Call::Call(const char* method, const Tensor& first, std::initializer_list<const Tensor*>)
    : method_(method), device_(first.device().index()), stream_(nullptr) {
  check(cudaSetDevice(device_), "cudaSetDevice");
}

Call::~Call() = default;

void Call::launched() const { check(cudaPeekAtLastError(), method_); }

std::uint32_t* Call::fault_flag(Fault) const { return nullptr; }

Scratch::Scratch(const Call& call, std::size_t bytes)
    : allocator_(backend_of(Device(DeviceType::cuda, call.device())).allocator(call.device())),
      data_(bytes ? allocator_.allocate(bytes) : nullptr),
      bytes_(bytes) {}

Scratch::~Scratch() {
  if (data_) allocator_.deallocate(data_, bytes_);
}

}  // namespace minnow::cuda
