// Products and convolutions in float32 with one thread and one instruction set, built with oneDNN and without:
// without_onednn.py runs both.

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <functional>
#include <string>
#include <minnow/autograd/engine.h>
#include <minnow/autograd/grad_mode.h>
#include <minnow/ops/convolution/conv.h>
#include <minnow/ops/products/matmul.h>
#include <minnow/tensor/cpu/runtime/isa.h>
#include <minnow/tensor/create.h>
#include <minnow/tensor/runtime/threads.h>

#ifdef MINNOW_WITH_ONEDNN
#include <oneapi/dnnl/dnnl.h>
#endif

namespace {

using namespace minnow;

/// Seconds that the processor has worked for this program, which has one thread: others on the machine do not count.
double seconds() {
  timespec now{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

/// The fastest of several samples of at least a millisecond, in microseconds for one run.
void time(const std::string& name, const std::function<void()>& run) {
  run();
  double best = 1e30, all = 0;
  for (int n = 0; n < 5 || all < 0.1; ++n) {
    const double start = seconds();
    int runs = 0;
    double passed = 0;
    for (; passed < 1e-3; passed = seconds() - start) run(), ++runs;
    best = std::min(best, passed / runs);
    all += passed;
  }
  std::printf("%s\t%.2f\n", name.c_str(), best * 1e6);
}

/// minnow's own with both builds, so that with oneDNN it is the library's product that is timed.
void product(std::int64_t size) {
  const NoGradGuard no_grad;
  const Tensor a = randn({size, size}), b = randn({size, size});
  const std::string name = "product " + std::to_string(size);
#ifdef MINNOW_WITH_ONEDNN
  const Tensor c = empty({size, size});
  time(name, [&] {
    if (dnnl_sgemm('N', 'N', size, size, size, 1, a.data<float>(), size, b.data<float>(), size, 0, c.data<float>(),
                   size) != dnnl_success)
      std::abort();
  });
#else
  time(name, [&] { (void)matmul(a, b); });
#endif
}

struct Conv {
  std::int64_t images, channels, size, filters, kernel, stride, groups;
};

void convolution(const Conv& c) {
  const std::string name = "convolution " + std::to_string(c.images) + "x" + std::to_string(c.channels) + "x" +
                           std::to_string(c.size) + ", " + std::to_string(c.filters) + " of " +
                           std::to_string(c.kernel) + ", stride " + std::to_string(c.stride) + ", groups " +
                           std::to_string(c.groups);
  const Tensor x = randn({c.images, c.channels, c.size, c.size}).requires_grad_();
  const Tensor w = randn({c.filters, c.channels / c.groups, c.kernel, c.kernel}).requires_grad_();
  const Conv2dFuncOptions options{.stride = c.stride, .padding = c.kernel / 2, .groups = c.groups};
  {
    const NoGradGuard no_grad;
    time(name + ", forward", [&] { (void)conv2d(x, w, {}, options); });
  }
  const Tensor y = conv2d(x, w, {}, options), ones = ones_like(y.detach());
  time(name + ", gradients", [&] { (void)grad({y}, {x, w}, {.retain_graph = true, .grad_outputs = {ones}}); });
}

}  // namespace

int main(int argc, char** argv) {
  const bool avx512 = argc > 1 && std::strcmp(argv[1], "avx512") == 0;
  if (argc != 2 || !cpu::use_isa(avx512 ? cpu::Isa::kAvx512 : cpu::Isa::kAvx2)) {
    std::fputs("without_onednn avx2|avx512, as far as the processor and the build have it\n", stderr);
    return 2;
  }
  set_num_threads(1);
  for (const std::int64_t size : {64, 128, 256, 512, 1024, 2048}) product(size);
  for (const Conv& c : {Conv{8, 3, 224, 64, 7, 2, 1},
                        {8, 64, 56, 64, 3, 1, 1},
                        {8, 64, 56, 256, 1, 1, 1},
                        {8, 128, 28, 128, 3, 1, 1},
                        {8, 256, 14, 256, 3, 1, 1},
                        {8, 512, 7, 512, 3, 1, 1},
                        {8, 256, 56, 512, 1, 2, 1},
                        {64, 32, 26, 64, 3, 1, 1},
                        {64, 3, 32, 32, 3, 1, 1},
                        {8, 96, 56, 96, 3, 1, 96}})
    convolution(c);
  return 0;
}
