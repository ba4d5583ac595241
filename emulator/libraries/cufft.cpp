// cuFFT's functions as NVIDIA documents them, as a simple recursion that runs as work of an emulated stream.

#include <algorithm>
#include <cmath>
#include <complex>
#include <cufft.h>
#include <emulator/launch.h>
#include <map>
#include <mutex>
#include <new>
#include <vector>

using namespace emulator;

namespace {

using Complex = std::complex<double>;

struct Plan {
  int device = 0;
  bool allocates = true, made = false;
  std::size_t n = 0, count = 0;
  cudaStream_t stream = nullptr;
  void* workspace = nullptr;
};

std::mutex mutex;
std::map<cufftHandle, Plan> plans;
cufftHandle last = 0;

constexpr std::size_t kWorkspace = 4096;

/// The transform of n numbers that are `step` apart.
std::vector<Complex> transformed(const Complex* x, std::size_t n, std::size_t step, double sign) {
  std::vector<Complex> y(n);
  std::size_t p = 2;
  while (p * p <= n && n % p != 0) ++p;
  if (n % p != 0 || n == p) p = n;
  std::vector<std::vector<Complex>> parts;
  const std::size_t m = n / p;
  for (std::size_t r = 0; r < p; ++r)
    parts.push_back(m == 1 ? std::vector{x[r * step]} : transformed(x + r * step, m, step * p, sign));
  for (std::size_t f = 0; f < n; ++f)
    for (std::size_t r = 0; r < p; ++r) {
      const double angle = sign * 6.283185307179586476925 * static_cast<double>(r * f % n) / static_cast<double>(n);
      y[f] += parts[r][f % m] * Complex(std::cos(angle), std::sin(angle));
    }
  return y;
}

/// Calls use(plan), for a plan of this device; INVALID_PLAN for others.
template <class Use> cufftResult with(cufftHandle handle, const Use& use) {
  const std::lock_guard lock(mutex);
  const auto found = plans.find(handle);
  int device = -1;
  if (found == plans.end() || cudaGetDevice(&device) != cudaSuccess || device != found->second.device)
    return CUFFT_INVALID_PLAN;
  return use(found->second);
}

}  // namespace

extern "C" {

cufftResult cufftCreate(cufftHandle* handle) {
  const std::lock_guard lock(mutex);
  Plan plan;
  if (cudaGetDevice(&plan.device) != cudaSuccess) return CUFFT_SETUP_FAILED;
  plans.emplace(*handle = ++last, plan);
  return CUFFT_SUCCESS;
}

cufftResult cufftDestroy(cufftHandle handle) {
  const std::lock_guard lock(mutex);
  return plans.erase(handle) == 1 ? CUFFT_SUCCESS : CUFFT_INVALID_PLAN;
}

cufftResult cufftSetAutoAllocation(cufftHandle handle, int on) {
  return with(handle, [&](Plan& plan) {
    if (plan.made) return CUFFT_INVALID_PLAN;
    plan.allocates = on != 0;
    return CUFFT_SUCCESS;
  });
}

// Of lines that are dense, which is what null sizes say.
cufftResult cufftMakePlanMany64(cufftHandle handle, int rank, long long* n, long long* input_sizes, long long,
                                long long, long long* output_sizes, long long, long long, cufftType type,
                                long long batch, std::size_t* workspace) {
  return with(handle, [&](Plan& plan) {
    if (rank != 1 || input_sizes || output_sizes || type != CUFFT_Z2Z || plan.allocates || plan.made)
      return CUFFT_NOT_SUPPORTED;
    if (n[0] < 1 || batch < 1) return CUFFT_INVALID_SIZE;
    // It allocates its tables.
    if (first_use("cufftMakePlanMany64", static_cast<std::uint64_t>(n[0])) != cudaSuccess) return CUFFT_ALLOC_FAILED;
    plan.n = static_cast<std::size_t>(n[0]);
    plan.count = static_cast<std::size_t>(batch);
    plan.made = true;
    *workspace = kWorkspace;
    return CUFFT_SUCCESS;
  });
}

cufftResult cufftSetStream(cufftHandle handle, cudaStream_t stream) {
  return with(handle, [&](Plan& plan) {
    plan.stream = stream;
    return CUFFT_SUCCESS;
  });
}

cufftResult cufftSetWorkArea(cufftHandle handle, void* workspace) {
  return with(handle, [&](Plan& plan) {
    plan.workspace = workspace;
    return CUFFT_SUCCESS;
  });
}

cufftResult cufftExecZ2Z(cufftHandle handle, cufftDoubleComplex* input, cufftDoubleComplex* output, int direction) {
  return with(handle, [&](const Plan& plan) {
    if (!plan.made || (direction != CUFFT_FORWARD && direction != CUFFT_INVERSE)) return CUFFT_INVALID_VALUE;
    if (const int status = library_status("cufftExecZ2Z", 0)) return static_cast<cufftResult>(status);
    const std::size_t all = plan.n * plan.count;
    if (!is_device_memory(input, all * sizeof *input) || !is_device_memory(output, all * sizeof *output) ||
        !is_device_memory(plan.workspace, kWorkspace))
      return CUFFT_INVALID_VALUE;
    const cudaError_t given = submit(plan.stream, [plan, input, output, direction] {
      const auto* const x = reinterpret_cast<const Complex*>(input);
      auto* const y = reinterpret_cast<Complex*>(output);
      for (std::size_t line = 0; line < plan.count; ++line) {
        const std::vector<Complex> result = transformed(x + line * plan.n, plan.n, 1, direction);
        std::copy(result.begin(), result.end(), y + line * plan.n);
      }
      return std::string();
    });
    return given == cudaSuccess ? CUFFT_SUCCESS : CUFFT_EXEC_FAILED;
  });
}

}  // extern "C"
