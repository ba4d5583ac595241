#include <algorithm>
#include <cmath>
#include <minnow/tensor/cpu/cpu_backend.h>
#include <minnow/tensor/cpu/isa.h>
#include <minnow/tensor/cpu/parallel.h>
#include <minnow/tensor/internal.h>
#include <minnow/tensor/kernels/philox.h>

namespace minnow::cpu {
namespace {

constexpr std::int64_t kBlock = 1024;  // elements at a time, a multiple of 4

/// Calls f(numbers, begin, n) for blocks of n elements, with kPerElement numbers for each.  Element i takes numbers
/// [i * kPerElement, (i + 1) * kPerElement) of the stream that begins at the state's counter.
template <int kPerElement, class F> void draw(PhiloxState state, const View& out, const F& f) {
  const auto philox = loops().philox;
  // Drawing costs more than touching memory, so a second thread pays for fewer elements: 16 bytes for each.
  parallel_blocks(out.numel(), kBlock, out.numel() * 16, [&](std::int64_t begin, std::int64_t end) {
    std::uint32_t numbers[kBlock * kPerElement];
    const std::int64_t n = end - begin;
    philox(state.seed, state.offset + static_cast<std::uint64_t>(begin * kPerElement / 4), numbers,
           (n * kPerElement + 3) / 4);
    f(numbers, begin, n);
  });
}

/// Stores n doubles or floats at element `begin`.
template <class T> void store(const T* values, const View& out, std::int64_t begin, std::int64_t n) {
  const int compute = std::is_same_v<T, float>    ? static_cast<int>(Compute::kFloat)
                      : std::is_same_v<T, double> ? static_cast<int>(Compute::kDouble)
                                                  : static_cast<int>(Compute::kInt64);
  loops().store[compute][static_cast<int>(out.dtype())](
      values, static_cast<char*>(out.raw_data()) + begin * static_cast<std::int64_t>(out.itemsize()), n);
}

}  // namespace

template <> void execute(const calls::Uniform& args) {
  const View& out = args.out;
  const PhiloxState state = args.state;
  const double low = args.low, high = args.high;
  if (out.dtype() == DType::float64) {
    draw<2>(state, out, [&](const std::uint32_t* r, std::int64_t begin, std::int64_t n) {
      double* y = static_cast<double*>(out.raw_data()) + begin;
      for (std::int64_t i = 0; i < n; ++i) y[i] = low + (high - low) * kernels::uniform_double(r[2 * i], r[2 * i + 1]);
    });
    return;
  }
  // Halves use only as many bits as they hold; otherwise the largest numbers would round up to `high`.
  const int dropped = out.dtype() == DType::float16 ? 21 : out.dtype() == DType::bfloat16 ? 24 : 8;
  draw<1>(state, out, [&](const std::uint32_t* r, std::int64_t begin, std::int64_t n) {
    float y[kBlock];
    const float from = static_cast<float>(low);
    const float width = static_cast<float>(high - low);
    for (std::int64_t i = 0; i < n; ++i) y[i] = from + width * kernels::uniform_float(r[i] >> dropped << dropped);
    store(y, out, begin, n);
  });
}

template <> void execute(const calls::Normal& args) {
  const View& out = args.out;
  const PhiloxState state = args.state;
  const double mean = args.mean, stddev = args.std;
  if (out.dtype() == DType::float64) {
    draw<2>(state, out, [&](const std::uint32_t* r, std::int64_t begin, std::int64_t n) {
      double* y = static_cast<double*>(out.raw_data()) + begin;
      for (std::int64_t i = 0; i < n; i += 2) {
        const auto pair = kernels::box_muller(kernels::uniform_double(r[2 * i], r[2 * i + 1]),
                                              kernels::uniform_double(r[2 * i + 2], r[2 * i + 3]));
        y[i] = mean + stddev * pair.first;
        if (i + 1 < n) y[i + 1] = mean + stddev * pair.second;
      }
    });
    return;
  }
  draw<1>(state, out, [&](const std::uint32_t* r, std::int64_t begin, std::int64_t n) {
    float y[kBlock + 2];
    const float centre = static_cast<float>(mean);
    const float scale = static_cast<float>(stddev);
    for (std::int64_t i = 0; i < n; i += 2) {
      const auto pair = kernels::box_muller(kernels::uniform_float(r[i]), kernels::uniform_float(r[i + 1]));
      y[i] = centre + scale * pair.first;
      y[i + 1] = centre + scale * pair.second;
    }
    store(y, out, begin, n);
  });
}

template <> void execute(const calls::Randint& args) {
  const View& out = args.out;
  const PhiloxState state = args.state;
  const std::int64_t low = args.low;
  const std::int64_t high = args.high;
  const std::uint64_t range = static_cast<std::uint64_t>(high) - static_cast<std::uint64_t>(low);
  // Two numbers for each element give 64 bits; the upper half of a 64 x 64 bit product is uniform in any range.
  draw<2>(state, out, [&](const std::uint32_t* r, std::int64_t begin, std::int64_t n) {
    std::int64_t y[kBlock];
    for (std::int64_t i = 0; i < n; ++i) {
      const std::uint64_t low_product = (range & 0xffffffffu) * r[2 * i + 1];
      const std::uint64_t x_low = r[2 * i];
      // floor(x * range / 2^64) with x = r[2i + 1] * 2^32 + r[2i], by 32-bit halves.
      const std::uint64_t high_range = range >> 32;
      const std::uint64_t low_low = ((range & 0xffffffffu) * x_low) >> 32;
      const std::uint64_t middle = low_product + low_low;
      const std::uint64_t middle2 = high_range * x_low + (middle & 0xffffffffu);
      const std::uint64_t top = high_range * r[2 * i + 1] + (middle >> 32) + (middle2 >> 32);
      y[i] = static_cast<std::int64_t>(static_cast<std::uint64_t>(low) + top);
    }
    store(y, out, begin, n);
  });
}

template <> void execute(const calls::Bernoulli& args) {
  const View& out = args.out;
  const PhiloxState state = args.state;
  const double p = args.p;
  // Compares multiples of 2^-24 with p, as integers.
  const double limit = std::ceil(std::clamp(p, 0.0, 1.0) * 0x1p24);
  const std::uint32_t below = static_cast<std::uint32_t>(limit);
  draw<1>(state, out, [&](const std::uint32_t* r, std::int64_t begin, std::int64_t n) {
    std::uint8_t* y = static_cast<std::uint8_t*>(out.raw_data()) + begin;
    for (std::int64_t i = 0; i < n; ++i) y[i] = (r[i] >> 8) < below ? 1 : 0;
  });
}

}  // namespace minnow::cpu
