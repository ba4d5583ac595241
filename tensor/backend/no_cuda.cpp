#include <minnow/tensor/backend/cuda_native.h>
#include <minnow/tensor/backend/devices.h>
#include <minnow/tensor/backend/dispatch.h>
#include <minnow/tensor/profile/profile.h>

// Built instead of the folder cuda/ if CUDA is off.  MINNOW_WHY_NO_CUDA is from cmake/MinnowCuda.cmake.

namespace minnow {

Backend* detail::cuda_backend() { return nullptr; }

namespace cuda {

bool is_available() { return false; }

std::string why_not() { return "minnow was built without CUDA: " MINNOW_WHY_NO_CUDA; }

void set_debug(bool) {}

bool debug() { return false; }

void* native_stream(const Tensor&, const Tensor&) { return nullptr; }

std::string bus_id(int) { return ""; }

bool is_capturing() { return false; }

NativeScope::NativeScope() : relaxed_(false) {}
NativeScope::~NativeScope() = default;

}  // namespace cuda

namespace profile::detail {

void push_range(const char*) {}

void pop_range() {}

}  // namespace profile::detail
}  // namespace minnow
