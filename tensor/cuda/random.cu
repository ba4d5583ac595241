#include <algorithm>
#include <cmath>
#include <minnow/tensor/cuda/cuda_backend.h>
#include <minnow/tensor/cuda/elementwise/element_access.h>
#include <minnow/tensor/cuda/runtime/launch.h>
#include <minnow/tensor/kernels/philox.h>

namespace minnow::cuda {
namespace {

using kernels::math::mul_add;

/// Writes elements drawn from Philox numbers.  An element needs Draw::kPerElement numbers; draw(four numbers, elements)
/// sets the elements of one counter.
template <class Draw>
__global__ void random_kernel(PhiloxState state, Draw draw, void* out, DType dtype, std::int64_t n) {
  using T = typename Draw::Type;
  constexpr int kElements = 4 / Draw::kPerElement;
  const std::uint64_t seed = state.replayed != nullptr ? state.replayed[0] : state.seed;
  const std::uint64_t first = state.offset + (state.replayed != nullptr ? state.replayed[1] : 0);
  const std::int64_t step = static_cast<std::int64_t>(gridDim.x) * blockDim.x;
  for (std::int64_t c = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; c * kElements < n;
       c += step) {
    const kernels::Philox4 r = kernels::philox(first + static_cast<std::uint64_t>(c), 0, seed);
    T values[kElements];
    draw(r.lane, values);
    visit_accepted<T, Draw::kStored>(dtype, [&]<class S>(S) {
      for (int k = 0; k < kElements; ++k)
        if (c * kElements + k < n) static_cast<S*>(out)[c * kElements + k] = narrow<S>(values[k]);
    });
  }
}

template <class C, class Draw> void run(const C& args, const Draw& draw) {
  const View& out = args.out;
  if (out.numel() == 0) return;
  const Call call(args);
  const std::int64_t counters = (out.numel() * Draw::kPerElement + 3) / 4;
  launch(call, random_kernel<Draw>, blocks_for(counters), kThreads, args.state, draw, out.raw_data(), out.dtype(),
         out.numel());
}

struct UniformFloat {
  using Type = float;
  static constexpr int kPerElement = 1;
  static constexpr Accepts kStored = Accepts::kSameFamily;
  float low, width;
  int dropped_bits;  ///< halves use as many bits as they hold, or large numbers would round up to the limit

  MINNOW_HD void operator()(const std::uint32_t (&r)[4], float (&y)[4]) const {
    for (int k = 0; k < 4; ++k)
      y[k] = mul_add(width, kernels::uniform_float(r[k] >> dropped_bits << dropped_bits), low);
  }
};
struct UniformDouble {
  using Type = double;
  static constexpr int kPerElement = 2;
  static constexpr Accepts kStored = Accepts::kSameFamily;
  double low, width;

  MINNOW_HD void operator()(const std::uint32_t (&r)[4], double (&y)[2]) const {
    for (int k = 0; k < 2; ++k) y[k] = mul_add(width, kernels::uniform_double(r[2 * k], r[2 * k + 1]), low);
  }
};

struct NormalFloat {
  using Type = float;
  static constexpr int kPerElement = 1;
  static constexpr Accepts kStored = Accepts::kSameFamily;
  float mean, stddev;

  MINNOW_HD void operator()(const std::uint32_t (&r)[4], float (&y)[4]) const {
    for (int k = 0; k < 4; k += 2) {
      const auto pair = kernels::box_muller(kernels::uniform_float(r[k]), kernels::uniform_float(r[k + 1]));
      y[k] = mul_add(stddev, pair.first, mean);
      y[k + 1] = mul_add(stddev, pair.second, mean);
    }
  }
};
struct NormalDouble {
  using Type = double;
  static constexpr int kPerElement = 2;
  static constexpr Accepts kStored = Accepts::kSameFamily;
  double mean, stddev;

  MINNOW_HD void operator()(const std::uint32_t (&r)[4], double (&y)[2]) const {
    const auto pair = kernels::box_muller(kernels::uniform_double(r[0], r[1]), kernels::uniform_double(r[2], r[3]));
    y[0] = mul_add(stddev, pair.first, mean);
    y[1] = mul_add(stddev, pair.second, mean);
  }
};

/// floor(x range / 2^64) + low with a 64-bit x, by 32-bit halves.
struct Randint {
  using Type = std::int64_t;
  static constexpr int kPerElement = 2;
  static constexpr Accepts kStored = Accepts::kAll;
  std::uint64_t low, range;

  MINNOW_HD void operator()(const std::uint32_t (&r)[4], std::int64_t (&y)[2]) const {
    const std::uint64_t range_low = range & 0xffffffffu, range_high = range >> 32;
    for (int k = 0; k < 2; ++k) {
      const std::uint64_t x_low = r[2 * k], x_high = r[2 * k + 1];
      const std::uint64_t middle = range_low * x_high + ((range_low * x_low) >> 32);
      const std::uint64_t middle2 = range_high * x_low + (middle & 0xffffffffu);
      const std::uint64_t top = range_high * x_high + (middle >> 32) + (middle2 >> 32);
      y[k] = static_cast<std::int64_t>(low + top);
    }
  }
};

/// Compares multiples of 2^-24 with p, as integers.
struct Bernoulli {
  using Type = std::int64_t;
  static constexpr int kPerElement = 1;
  static constexpr Accepts kStored = Accepts::kSameFamily;
  std::uint32_t below;

  MINNOW_HD void operator()(const std::uint32_t (&r)[4], std::int64_t (&y)[4]) const {
    for (int k = 0; k < 4; ++k) y[k] = (r[k] >> 8) < below ? 1 : 0;
  }
};

}  // namespace

template <> void execute(const calls::Uniform& args) {
  const View& out = args.out;
  const double low = args.low, high = args.high;
  if (out.dtype() == DType::float64) return run(args, UniformDouble{low, high - low});
  const int dropped_bits = out.dtype() == DType::float16 ? 21 : out.dtype() == DType::bfloat16 ? 24 : 8;
  run(args, UniformFloat{static_cast<float>(low), static_cast<float>(high - low), dropped_bits});
}

template <> void execute(const calls::Normal& args) {
  const View& out = args.out;
  const double mean = args.mean, stddev = args.std;
  if (out.dtype() == DType::float64) return run(args, NormalDouble{mean, stddev});
  run(args, NormalFloat{static_cast<float>(mean), static_cast<float>(stddev)});
}

template <> void execute(const calls::Randint& args) {
  const std::uint64_t first = static_cast<std::uint64_t>(args.low);
  run(args, Randint{first, static_cast<std::uint64_t>(args.high) - first});
}

template <> void execute(const calls::Bernoulli& args) {
  const double limit = std::ceil(std::clamp(args.p, 0.0, 1.0) * 0x1p24);
  run(args, Bernoulli{static_cast<std::uint32_t>(limit)});
}

}  // namespace minnow::cuda
