#include <cuda_runtime_api.h>
#include <dlfcn.h>
#include <emulator/launch.h>
#include <gtest/gtest.h>
#include <map>
#include <mutex>
#include <set>
#include <thread>
#include <minnow/minnow.h>
#include <minnow/tensor/raw/transfer.h>

#include "support/host_tensor.h"

/// The events of a data loader on the CUDA backend.
namespace {

/// How events were made, and those that threads have waited for.
struct Seen {
  std::mutex mutex;
  std::map<cudaEvent_t, unsigned> flags;
  std::set<unsigned> waited_by_others;  ///< flags of the events that a thread besides `main` waited for
  std::thread::id main = std::this_thread::get_id();
};

Seen& seen() {
  static Seen instance;
  return instance;
}

}  // namespace

// In front of the emulator's functions.
extern "C" {

cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned flags) {
  static const auto next = reinterpret_cast<decltype(&cudaEventCreateWithFlags)>(dlsym(RTLD_NEXT, __func__));
  const cudaError_t status = next(event, flags);
  const std::lock_guard lock(seen().mutex);
  seen().flags[*event] = flags;
  return status;
}

cudaError_t cudaEventSynchronize(cudaEvent_t event) {
  static const auto next = reinterpret_cast<decltype(&cudaEventSynchronize)>(dlsym(RTLD_NEXT, __func__));
  {
    const std::lock_guard lock(seen().mutex);
    if (std::this_thread::get_id() != seen().main) seen().waited_by_others.insert(seen().flags[event]);
  }
  return next(event);
}
}

namespace minnow {
namespace {

TEST(CudaLoader, WorkersSleepWhileTheyWaitForCopies) {
  seen().main = std::this_thread::get_id();
  seen().waited_by_others.clear();
  data::DataLoader loader(data::SyntheticDigits(256), {.batch_size = 16, .num_workers = 2, .device = "cuda"});
  // A worker that is slower than the copies never waits.
  for (int epoch = 0; epoch < 2 || (epoch < 100 && seen().waited_by_others.empty()); ++epoch)
    for (auto& [images, labels] : loader) EXPECT_EQ(images.shape()[0], 16);
  EXPECT_EQ(seen().waited_by_others, std::set<unsigned>{cudaEventBlockingSync});
}

TEST(CudaLoader, EventsThatOnlyOrderWorkHaveNoTime) {
  const Stream stream = current_stream("cuda");
  const Event start = stream.record(), order = stream.record(EventUse::ordering),
              end = stream.record(EventUse::waiting);
  EXPECT_GE(end.seconds_since(start), 0);
  for (const auto& wrong : {std::pair{order, start}, std::pair{start, order}}) try {
      wrong.first.seconds_since(wrong.second);
      ADD_FAILURE() << "an event without a time has one";
    } catch (const BackendError& e) {
      EXPECT_NE(std::string(e.what()).find("record it with EventUse::timing"), std::string::npos) << e.what();
    }
  order.synchronize();
  EXPECT_TRUE(order.is_ready());
}

}  // namespace
}  // namespace minnow
