#include <minnow/tensor/cuda/libraries/conv_bias.h>

#include <algorithm>
#include <cstdint>
#include <minnow/tensor/cuda/cuda_backend.h>
#include <minnow/tensor/cuda/reductions/block_counters.h>
#include <minnow/tensor/cuda/reductions/softmax.h>
#include <minnow/tensor/kernels/narrow_limit.h>
#include <minnow/tensor/kernels/reduce.h>
#include <minnow/tensor/kernels/unary.h>

namespace minnow::cuda {
namespace {

constexpr std::int64_t kChunk = 4096;       // pixels of a channel that a block adds, at least
constexpr std::int64_t kManyBlocks = 1024;  // enough for any GPU

template <class T> __device__ __forceinline__ T activated(T x, Activation activation) {
  switch (activation) {
    case Activation::relu: return kernels::Relu::value(x);
    case Activation::gelu_tanh: return kernels::GeluTanh::value(x);
    case Activation::none: break;
  }
  return x;
}

/// Images in memory: `channels` planes of `inner` elements, and the next image; channels-last: planes of one element.
template <class Index> struct Planes { Index n, channels, inner; };

/// Vectors of elements, and the elements after the last vector.  Index: 32 bits where they suffice.
template <class S, class T, class Index>
__global__ void bias_kernel(S* __restrict__ y, const S* __restrict__ bias, Planes<Index> p, Activation activation) {
  constexpr Index kSize = RowVector<S>::kSize;
  const Index thread = Index{blockIdx.x} * blockDim.x + threadIdx.x, threads = Index{gridDim.x} * blockDim.x;
  const auto apply = [&]<int kCount>(Index i) {
    T some[kCount];
    load_some(y + i, some);
    Index channel = i / p.inner % p.channels, left = p.inner - i % p.inner;
    for (int u = 0; u < kCount; ++u) {
      if (bias != nullptr) some[u] += widen<T>(bias[channel]);
      some[u] = activated(some[u], activation);
      if (--left > 0) continue;
      left = p.inner;
      channel = channel + 1 < p.channels ? channel + 1 : 0;
    }
    store_some(y + i, some);
  };
  const Index vectors = p.n / kSize;
  for (Index k = thread; k < vectors; k += threads) apply.template operator()<kSize>(k * kSize);
  for (Index i = vectors * kSize + thread; i < p.n; i += threads) apply.template operator()<1>(i);
}

/// Block (c, k) adds the k-th part of channel c, whose pixels are numbered over all images; the last block of a channel
/// combines its parts.
template <class S, class T, class Index>
__global__ void sums_kernel(const S* __restrict__ x, Planes<Index> p, Index pixels, Index chunk, S* __restrict__ out,
                            double* parts, std::uint32_t* counters, bool vectors) {
  const Index channel = blockIdx.x, begin = Index{blockIdx.y} * chunk;
  const Index end = pixels - begin < chunk ? pixels : begin + chunk;
  double own = 0;
  const auto add = [&]<int kCount>(Index first) {
#pragma unroll 4
    for (Index k = begin + first; k < end; k += blockDim.x * Index{kCount}) {
      T some[kCount];
      load_some(x + (k / p.inner * p.channels + channel) * p.inner + k % p.inner, some);
      T sum = some[0];
      for (int u = 1; u < kCount; ++u) sum += some[u];
      own += static_cast<double>(sum);
    }
  };
  constexpr Index kSize = RowVector<S>::kSize;
  if (vectors) add.template operator()<kSize>(threadIdx.x * kSize);
  else add.template operator()<1>(threadIdx.x);
  own = block_join(own, 0.0, Add());
  if (gridDim.y > 1) {
    if (threadIdx.x == 0) parts[Index{blockIdx.y} * p.channels + channel] = own;
    if (!is_last_block(counters + channel, gridDim.y)) return;
    const volatile double* each = parts + channel;
    own = 0;
    for (Index k = threadIdx.x; k < gridDim.y; k += blockDim.x) own += each[k * p.channels];
    own = block_join(own, 0.0, Add());
  }
  if (threadIdx.x == 0) out[channel] = narrow<S>(own);
}

/// Calls f with the planes, in 32 bits if each index and step fits.
template <class F> void visit_planes(const View& images, MemoryFormat format, const F& f) {
  const Shape& shape = images.shape();
  const std::int64_t inner = format == MemoryFormat::channels_last ? 1 : shape[2] * shape[3];
  if (images.numel() < kernels::narrow_limit()) {
    f(Planes<std::uint32_t>{static_cast<std::uint32_t>(images.numel()), static_cast<std::uint32_t>(shape[1]),
                            static_cast<std::uint32_t>(inner)});
  } else {
    f(Planes<std::uint64_t>{static_cast<std::uint64_t>(images.numel()), static_cast<std::uint64_t>(shape[1]),
                            static_cast<std::uint64_t>(inner)});
  }
}

/// Channels in rows of memory: the sums of columns.
void sum_columns(const View& grad, const View& out) {
  const std::int64_t channels = grad.shape()[1], pixels = grad.numel() / channels;
  const View rows(grad.storage(), grad.dtype(), {1, pixels, channels}, {0, channels, 1}, grad.storage_offset());
  const View sums(out.storage(), out.dtype(), {1, channels}, {channels, 1}, out.storage_offset());
  execute(calls::Reduce{kernels::kIndexOf<kernels::ReduceOps, kernels::Sum>, rows, sums});
}

}  // namespace

void add_bias(const Call& call, const View& bias, Activation activation, const View& y, MemoryFormat format) {
  visit_floating(y.dtype(), [&]<class S, class T>() {
    visit_planes(y, format, [&]<class Index>(const Planes<Index>& planes) {
      const auto* row = bias.defined() ? static_cast<const S*>(bias.raw_data()) : nullptr;
      launch(call, bias_kernel<S, T, Index>, blocks_for(y.numel(), kThreads * RowVector<S>::kSize), kThreads,
             static_cast<S*>(y.raw_data()), row, planes, activation);
    });
  });
}

void sum_channels(const Call& call, const View& grad, const View& out, MemoryFormat format) {
  const std::int64_t channels = grad.shape()[1], pixels = grad.numel() / channels;
  const std::int64_t inner = grad.shape()[2] * grad.shape()[3];
  if (format == MemoryFormat::channels_last || inner == 1) return sum_columns(grad, out);
  const std::int64_t most = channels <= kBlockCounters ? kManyBlocks / channels : 1;
  const std::int64_t wanted = std::clamp<std::int64_t>(pixels / kChunk, 1, most);
  constexpr std::int64_t kAlign = 16;  // so that vectors do not cross chunks
  const std::int64_t chunk = ((pixels + wanted - 1) / wanted + kAlign - 1) / kAlign * kAlign;
  const std::int64_t chunks = (pixels + chunk - 1) / chunk;
  const Scratch parts(call, chunks > 1 ? static_cast<std::size_t>(chunks * channels) * sizeof(double) : 0);
  std::uint32_t* counters = chunks > 1 ? block_counters(call) : nullptr;
  const dim3 blocks(static_cast<unsigned>(channels), static_cast<unsigned>(chunks));
  visit_floating(grad.dtype(), [&]<class S, class T>() {
    const bool vectors = inner % RowVector<S>::kSize == 0;
    visit_planes(grad, format, [&]<class Index>(const Planes<Index>& planes) {
      launch(call, sums_kernel<S, T, Index>, blocks, kThreads, static_cast<const S*>(grad.raw_data()), planes,
             static_cast<Index>(pixels), static_cast<Index>(chunk), static_cast<S*>(out.raw_data()), parts.as<double>(),
             counters, vectors);
    });
  });
}

}  // namespace minnow::cuda
