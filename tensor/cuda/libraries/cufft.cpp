#include <minnow/tensor/cuda/libraries/cufft.h>

#include <algorithm>
#include <memory>
#include <mutex>
#include <string>
#include <minnow/tensor/backend/library.h>
#include <minnow/tensor/backend/plan_cache.h>
#include <minnow/tensor/cuda/memory/memory_pool.h>
#include <minnow/tensor/cuda/runtime/capture_exemption.h>
#include <minnow/tensor/cuda/runtime/context.h>
#include <minnow/tensor/cuda/runtime/per_device.h>
#include <minnow/tensor/cuda/runtime/status.h>

namespace minnow::cuda::cufft {
namespace {

constexpr const char* kTitle = "cuFFT";
constexpr std::size_t kPlans = 64;
constexpr std::int64_t kComplexBytes = 16;
constexpr int kAllocFailed = 2;  // CUFFT_ALLOC_FAILED
/// Of one call: above 2^32, cuFFT wants sizes without large primes.
constexpr std::int64_t kMost = std::int64_t{1} << 31;

Functions load() {
  static const Library library(
      {kTitle,
       "MINNOW_CUFFT",
       {"libcufft.so.12", "libcufft.so.11", "libcufft.so"},
       "install it with the CUDA toolkit, with your distribution's libcufft package (Debian's non-free: apt install "
       "libcufft11) or with pip install nvidia-cufft, whose folder nvidia/.../lib then goes into LD_LIBRARY_PATH",
       MINNOW_CUDA_FOLDERS});
  Functions f{};
  library.bind(f.create, "cufftCreate");
  library.bind(f.destroy, "cufftDestroy");
  library.bind(f.set_auto_allocation, "cufftSetAutoAllocation");
  library.bind(f.make_many, "cufftMakePlanMany64");
  library.bind(f.set_stream, "cufftSetStream");
  library.bind(f.set_work_area, "cufftSetWorkArea");
  library.bind(f.exec, "cufftExecZ2Z");
  return f;
}

void check(int status, const char* function) {
  if (status != 0) library_failed(kTitle, function, "cufftResult " + std::to_string(status));
}

struct Key {
  std::int64_t n, count;
  friend bool operator==(const Key&, const Key&) = default;
  std::size_t hash() const { return KeyHash().add(n, count).value(); }
};

/// A plan has tables on the device.
struct Made {
  explicit Made(int index) : device(index) { check(functions().create(&plan), "cufftCreate"); }
  ~Made() {
    if (!is_usable(device)) return;
    try {
      select(device);
      const Uncaptured scope;  // it returns memory
      functions().destroy(plan);
    } catch (...) {  // the device has failed
    }
  }
  Made(const Made&) = delete;
  Made& operator=(const Made&) = delete;

  const int device;
  Plan plan{};
  std::size_t workspace = 0;
  std::mutex mutex;  ///< held from the setting of the stream to the launch
};

/// The state of one device, made at its first transform and never destroyed.
struct DeviceState {
  PlanCache<Key, Made> plans{kPlans};
};

std::shared_ptr<Made> make(const Call& call, const Key& key) {
  for (bool again = false;; again = true) {
    auto made = std::make_shared<Made>(call.device());
    check(functions().set_auto_allocation(made->plan, 0), "cufftSetAutoAllocation");
    long long n = key.n;
    const int status = functions().make_many(made->plan, 1, &n, nullptr, 1, n, nullptr, 1, n, kComplexDouble, key.count,
                                             &made->workspace);
    if (status != kAllocFailed || again) check(status, "cufftMakePlanMany64");
    if (status == 0) return made;
    call.context().memory.empty_cache();  // its tables are memory of the driver
  }
}

}  // namespace

const Functions& functions() {
  static const Functions table = load();
  return table;
}

void transform(const Call& call, void* lines, std::int64_t n, std::int64_t count) {
  static auto& states = *new PerDevice<DeviceState>();
  const LibraryScope scope;
  const std::int64_t most = std::max<std::int64_t>(kMost / n, 1);
  if (count > most) {
    transform(call, lines, n, most);
    return transform(call, static_cast<char*>(lines) + most * n * kComplexBytes, n, count - most);
  }
  const Key key{n, count};
  const std::shared_ptr<Made> made =
      states.of(call, [](DeviceState&) {}).plans.get(key, [&] { return make(call, key); });
  if (MemoryPool* pool = current_pool()) pool->at_release([made] {});  // a graph reads the tables of its plan
  const Scratch workspace(call, std::max<std::size_t>(made->workspace, 1));
  const std::lock_guard lock(made->mutex);
  check(functions().set_stream(made->plan, call.stream()), "cufftSetStream");
  check(functions().set_work_area(made->plan, workspace.as<void>()), "cufftSetWorkArea");
  check(functions().exec(made->plan, lines, lines, kForward), "cufftExecZ2Z");
  call.launched();
}

}  // namespace minnow::cuda::cufft
