#include <optional>
#include <string>
#include <minnow/autograd/grad_mode.h>
#include <minnow/capi/detail/call.h>
#include <minnow/tensor/random.h>
#include <minnow/tensor/runtime/threads.h>

using namespace minnow;
using namespace minnow::capi;

const char* minnow_version() { return MINNOW_BUILT_VERSION; }

minnow_status minnow_manual_seed(uint64_t seed) {
  return run(__func__, [&](const Call&) { manual_seed(seed); });
}

minnow_status minnow_set_num_threads(int threads) {
  return run(__func__, [&](const Call& call) { set_num_threads(threads, call.where); });
}

minnow_status minnow_device_count(const char* type, int* count) {
  return run(__func__, count, [&](const Call& call) {
    call.given(type, "type");
    for (int i = 0; i < kDeviceTypes; ++i)
      if (const auto known = static_cast<DeviceType>(i); name_of(known) == type)
        return void(*count = device_count(known));
    throw DeviceError(std::string(call.op) + ": no devices are of the type '" + type + "'\nit is cpu, cuda or sim",
                      call.where);
  });
}

minnow_status minnow_set_grad_enabled(int on) {
  return run(__func__, [&](const Call&) {
    thread_local std::optional<NoGradGuard> guard;
    if (on) guard.reset();
    else if (!guard) guard.emplace();
  });
}
