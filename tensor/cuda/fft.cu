#include <minnow/tensor/cuda/cuda_backend.h>
#include <minnow/tensor/cuda/libraries/cufft.h>
#include <minnow/tensor/cuda/runtime/launch.h>

namespace minnow::cuda {
namespace {

// cuFFT computes in float64, from lines in any order in memory, which are gathered and scattered here.
struct Complex {
  double re, im;
};

/// Lines of a tensor along a dimension.
struct Lines {
  int rank = 0;  ///< without the dimension, and that of the two parts of complex numbers
  std::int64_t sizes[kMaxRank] = {}, strides[kMaxRank] = {};
  std::int64_t step;  ///< along a line
  std::int64_t part;  ///< from a real to an imaginary part; 0: real numbers

  Lines(const View& t, int dim, bool complex) : step(t.strides()[dim]), part(complex ? t.strides()[t.dim() - 1] : 0) {
    for (int d = 0; d < t.dim() - (complex ? 1 : 0); ++d)
      if (d != dim) sizes[rank] = t.shape()[d], strides[rank++] = t.strides()[d];
  }
  std::int64_t count() const {
    std::int64_t n = 1;
    for (int d = 0; d < rank; ++d) n *= sizes[d];
    return n;
  }
  __device__ std::int64_t at(std::int64_t line) const {
    std::int64_t offset = 0;
    for (int d = rank - 1; d >= 0; line /= sizes[d], --d) offset += line % sizes[d] * strides[d];
    return offset;
  }
};

/// What is done with the numbers of a line when they are read or written: those of a conjugate pair are times `middle`.
struct Scaling {
  std::int64_t n;  ///< of the transform
  double scale, middle, sign;

  __device__ double of(std::int64_t k) const { return k == 0 || 2 * k == n ? scale : scale * middle; }
};

/// Reads `given` numbers of each line, and zeros after them.
template <class T>
__global__ void load_kernel(const T* x, Lines lines, std::int64_t count, std::int64_t given, Scaling scaling,
                            Complex* out) {
  const std::int64_t step = static_cast<std::int64_t>(gridDim.x) * blockDim.x;
  for (std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < count * scaling.n;
       i += step) {
    const std::int64_t line = i / scaling.n, k = i % scaling.n;
    if (k >= given) {
      out[i] = Complex{0, 0};
      continue;
    }
    const T* const at = x + lines.at(line) + k * lines.step;
    const double c = scaling.of(k);
    out[i] = Complex{c * static_cast<double>(at[0]),
                     lines.part != 0 ? c * scaling.sign * static_cast<double>(at[lines.part]) : 0.0};
  }
}

/// Writes the first `wanted` numbers of each line.
template <class T>
__global__ void store_kernel(const Complex* x, T* y, Lines lines, std::int64_t count, std::int64_t wanted,
                             Scaling scaling) {
  const std::int64_t step = static_cast<std::int64_t>(gridDim.x) * blockDim.x;
  for (std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < count * wanted;
       i += step) {
    const std::int64_t line = i / wanted, f = i % wanted;
    T* const at = y + lines.at(line) + f * lines.step;
    const Complex value = x[line * scaling.n + f];
    const double c = scaling.of(f);
    at[0] = static_cast<T>(c * value.re);
    if (lines.part != 0) at[lines.part] = static_cast<T>(c * scaling.sign * value.im);
  }
}

template <class T> void run(const calls::Fft& args) {
  const Call call(args);
  const bool real_x = args.x.dim()<args.y.dim(), real_y = args.x.dim()> args.y.dim();
  const std::int64_t n = (real_x ? args.x : args.y).shape()[args.dim], half = n / 2 + 1;
  const Lines from(args.x, args.dim, !real_x), to(args.y, args.dim, !real_y);
  const std::int64_t count = to.count(), given = real_y ? half : n, wanted = real_x ? half : n;
  const double sign = args.inverse ? -1 : 1;
  const Scratch memory(call, static_cast<std::size_t>(count * n) * sizeof(Complex));
  auto* const x = memory.as<Complex>();
  launch(call, load_kernel<T>, blocks_for(count * n), kThreads, static_cast<const T*>(args.x.raw_data()), from, count,
         given, Scaling{n, 1, real_y ? args.middle : 1, sign}, x);
  if (n > 1) cufft::transform(call, x, n, count);
  launch(call, store_kernel<T>, blocks_for(count * wanted), kThreads, x, static_cast<T*>(args.y.raw_data()), to, count,
         wanted, Scaling{n, args.scale, real_x ? args.middle : 1, sign});
}

}  // namespace

template <> void execute(const calls::Fft& args) {
  if (args.y.numel() == 0) return;
  if (args.x.dtype() == DType::float32) run<float>(args);
  else run<double>(args);
}

}  // namespace minnow::cuda
