#include <algorithm>
#include <bit>
#include <cub/block/block_scan.cuh>
#include <limits>
#include <minnow/tensor/cuda/cuda_backend.h>
#include <minnow/tensor/cuda/indexing/sort.h>
#include <minnow/tensor/cuda/runtime/launch.h>
#include <minnow/tensor/dtype_switch.h>
#include <minnow/tensor/error.h>

namespace minnow::cuda {
namespace {

/// The upper or lower 32 bits of a number that is ordered as x is: equal elements have equal numbers, and NaN the
/// largest.
template <class T> __device__ __forceinline__ std::uint64_t key_of(T x) {
  constexpr int kBits = 8 * sizeof(T);
  constexpr std::uint64_t kSign = std::uint64_t{1} << (kBits - 1), kAll = ~std::uint64_t{0} >> (64 - kBits);
  if constexpr (std::is_same_v<T, bool>) {
    return x ? 1 : 0;
  } else if constexpr (std::is_integral_v<T>) {
    return (static_cast<std::uint64_t>(x) & kAll) ^ (std::is_signed_v<T> ? kSign : 0);
  } else {
    std::uint64_t bits = 0;
    if constexpr (sizeof(T) == 2) bits = x.bits;
    else if constexpr (sizeof(T) == 4) bits = static_cast<std::uint32_t>(__float_as_int(x));
    else bits = static_cast<std::uint64_t>(__double_as_longlong(x));
    constexpr std::uint64_t kInfinity = std::is_same_v<T, double>      ? 0x7ff0000000000000u
                                        : std::is_same_v<T, float>     ? 0x7f800000u
                                        : std::is_same_v<T, float16_t> ? 0x7c00u
                                                                       : 0x7f80u;
    const std::uint64_t magnitude = bits & ~kSign;
    if (magnitude > kInfinity) return kAll;
    if (magnitude == 0) return kSign;
    return (bits & kSign) != 0 ? ~bits & kAll : bits | kSign;
  }
}

struct Elements {
  std::int64_t n;  ///< of a row
  std::int64_t count;
  bool descending;
};

/// Keys of all elements: the lower 32 bits, in the order of the elements, which is written to `places`; or, with places
/// already in some order, the upper 32 bits.
template <class T, bool upper>
__global__ void key_kernel(const T* __restrict__ x, std::uint32_t* keys, std::uint32_t* places, Elements e) {
  const std::int64_t step = static_cast<std::int64_t>(gridDim.x) * blockDim.x;
  for (std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < e.count; i += step) {
    const std::uint64_t key = key_of(x[upper ? places[i] : i]);
    const auto part = static_cast<std::uint32_t>(upper ? key >> 32 : key);
    keys[i] = e.descending ? ~part : part;
    if constexpr (!upper) places[i] = static_cast<std::uint32_t>(i);
  }
}

__global__ void row_kernel(std::uint32_t* keys, const std::uint32_t* places, Elements e) {
  const std::int64_t step = static_cast<std::int64_t>(gridDim.x) * blockDim.x;
  for (std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < e.count; i += step)
    keys[i] = static_cast<std::uint32_t>(places[i] / e.n);
}

/// The first of [0, n) from which on `after` is true, or n.
template <class F> __device__ __forceinline__ std::int64_t bisect(std::int64_t n, const F& after) {
  std::int64_t begin = 0, end = n;
  while (begin < end) {
    const std::int64_t middle = begin + (end - begin) / 2;
    if (after(middle)) end = middle;
    else begin = middle + 1;
  }
  return begin;
}

/// The element of each row that `pick` takes, from the places in order: a block for a row.
template <class T>
__global__ void pick_one_kernel(const T* __restrict__ x, const std::uint32_t* __restrict__ places, T* values,
                                std::int64_t* indices, std::int64_t k, SortPick pick, Elements e) {
  __shared__ unsigned long long longest;  // the length of a run - 1, and how many elements are behind its last
  const std::uint32_t* const at = places + blockIdx.x * e.n;
  if (threadIdx.x == 0) longest = 0;
  __syncthreads();
  for (std::int64_t i = threadIdx.x; pick == SortPick::mode && i < e.n; i += blockDim.x) {
    const T last = x[at[i]];
    const std::int64_t run = i - bisect(i, [&](std::int64_t j) { return x[at[j]] == last; });
    atomicMax(&longest, static_cast<unsigned long long>(run) << 32 | static_cast<unsigned long long>(e.n - 1 - i));
  }
  __syncthreads();
  if (threadIdx.x != 0) return;
  const std::int64_t numbers = bisect(e.n, [&](std::int64_t j) { return x[at[j]] != x[at[j]]; });
  std::int64_t place = pick == SortPick::kth ? k - 1 : (numbers - 1) / 2;
  if (pick == SortPick::median && numbers < e.n) place = numbers;
  if (pick == SortPick::mode) place = e.n - 1 - static_cast<std::uint32_t>(longest);
  values[blockIdx.x] = x[at[place]];
  indices[blockIdx.x] = at[place] - blockIdx.x * e.n;
}

/// The first k elements of each row, from the places in order.
template <class T>
__global__ void pick_kernel(const T* __restrict__ x, const std::uint32_t* __restrict__ places, T* values,
                            std::int64_t* indices, std::int64_t k, std::int64_t picked, Elements e) {
  const std::int64_t step = static_cast<std::int64_t>(gridDim.x) * blockDim.x;
  for (std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < picked; i += step) {
    const std::int64_t row = i / k, at = places[row * e.n + i % k];
    values[i] = x[at];
    indices[i] = at - row * e.n;
  }
}

constexpr int kMostSelected = 64;

/// The first k elements of each row in order, k at most kMostSelected: a block for a row finds the key of the k-th by
/// its digits from the top, and sorts what is before it.
template <class T>
__global__ void select_kernel(const T* __restrict__ x, T* values, std::int64_t* indices, std::int64_t k, Elements e) {
  constexpr int kBits = 8 * sizeof(T);
  constexpr std::uint64_t kAll = ~std::uint64_t{0} >> (64 - kBits);
  using Scan = cub::BlockScan<int, static_cast<int>(kThreads)>;
  __shared__ typename Scan::TempStorage storage;
  __shared__ unsigned long long counts[256], wanted;
  __shared__ std::uint64_t prefix, keys[kMostSelected];
  __shared__ std::int64_t places[kMostSelected];
  __shared__ unsigned found;
  const T* const row = x + blockIdx.x * e.n;
  const auto key_at = [&](std::int64_t i) { return e.descending ? ~key_of(row[i]) & kAll : key_of(row[i]); };
  if (threadIdx.x == 0) prefix = 0, wanted = static_cast<unsigned long long>(k), found = 0;
  for (int shift = kBits - 8; shift >= 0; shift -= 8) {
    for (unsigned i = threadIdx.x; i < 256; i += blockDim.x) counts[i] = 0;
    __syncthreads();
    for (std::int64_t i = threadIdx.x; i < e.n; i += blockDim.x) {
      const std::uint64_t key = key_at(i);
      if (shift == kBits - 8 || key >> (shift + 8) == prefix) atomicAdd(&counts[key >> shift & 255], 1ull);
    }
    __syncthreads();
    if (threadIdx.x == 0) {
      std::uint64_t digit = 0;
      while (wanted > counts[digit]) wanted -= counts[digit++];
      prefix = prefix << 8 | digit;
    }
    __syncthreads();
  }
  // The keys before the k-th, and of those equal to it the first `wanted`.
  const auto equals = static_cast<std::int64_t>(wanted);
  std::int64_t before = 0;
  for (std::int64_t first = 0; first < e.n; first += blockDim.x) {
    const std::int64_t i = first + threadIdx.x;
    const std::uint64_t key = i < e.n ? key_at(i) : kAll;
    const bool equal = i < e.n && key == prefix;
    int place = 0, total = 0;
    Scan(storage).InclusiveSum(equal ? 1 : 0, place, total);
    if ((i < e.n && key < prefix) || (equal && before + place <= equals)) {
      const unsigned slot = atomicAdd(&found, 1u);
      keys[slot] = key;
      places[slot] = i;
    }
    before += total;
    __syncthreads();  // the shared memory is reused
  }
  for (std::int64_t i = threadIdx.x; i < k; i += blockDim.x) {
    std::int64_t rank = 0;
    for (std::int64_t j = 0; j < k; ++j)
      rank += keys[j] < keys[i] || (keys[j] == keys[i] && places[j] < places[i]) ? 1 : 0;
    values[blockIdx.x * k + rank] = row[places[i]];
    indices[blockIdx.x * k + rank] = places[i];
  }
}

/// Rows that are sorted at once: of all elements by their keys, and then by their rows.
template <class T>
void sort_rows(const Call& call, const T* x, T* values, std::int64_t* indices, std::int64_t rows, std::int64_t k,
               SortPick pick, const Elements& e) {
  const auto n = static_cast<std::size_t>(e.count);
  const Scratch memory(call, 4 * n * sizeof(std::uint32_t));
  std::uint32_t* const first = memory.as<std::uint32_t>();
  Pairs pairs{first, first + n}, other{first + 2 * n, first + 3 * n};
  const auto sort = [&](int bits) {
    const Pairs result = sort_pairs(call, pairs, other, e.count, bits);
    // The keys and the places may be in different ones of the two arrays.
    other = {result.keys == pairs.keys ? other.keys : pairs.keys,
             result.values == pairs.values ? other.values : pairs.values};
    pairs = result;
  };
  const unsigned blocks = blocks_for(e.count);
  launch(call, key_kernel<T, false>, blocks, kThreads, x, pairs.keys, pairs.values, e);
  sort(std::min<int>(32, 8 * sizeof(T)));
  if constexpr (sizeof(T) == 8) {
    launch(call, key_kernel<T, true>, blocks, kThreads, x, pairs.keys, pairs.values, e);
    sort(32);
  }
  if (rows > 1) {
    launch(call, row_kernel, blocks, kThreads, pairs.keys, pairs.values, e);
    sort(static_cast<int>(std::bit_width(static_cast<std::uint64_t>(rows - 1))));
  }
  if (pick != SortPick::first)
    launch(call, pick_one_kernel<T>, static_cast<unsigned>(rows), kThreads, x, pairs.values, values, indices, k, pick,
           e);
  else launch(call, pick_kernel<T>, blocks_for(rows * k), kThreads, x, pairs.values, values, indices, k, rows * k, e);
}

template <class T> void run(const calls::Sort& args) {
  const Call call(args);
  const std::int64_t rows = args.x.shape()[0], n = args.x.shape()[1], taken = args.values.shape()[1];
  constexpr std::int64_t kMost = (std::int64_t{1} << 31) - 1, kEnough = 32;
  // Few rows keep few multiprocessors busy.
  if (args.pick == SortPick::first && taken <= kMostSelected && taken < n && rows >= kEnough && rows <= kMost)
    return launch(call, select_kernel<T>, static_cast<unsigned>(rows), kThreads,
                  static_cast<const T*>(args.x.raw_data()), static_cast<T*>(args.values.raw_data()),
                  static_cast<std::int64_t*>(args.indices.raw_data()), taken, Elements{n, rows * n, args.descending});
  if (n > kMost)
    throw BackendError("sort: a row of 2^31 elements or more cannot be sorted on a GPU\nsort it on the cpu");
  const std::int64_t some = std::min(rows, kMost / n);
  for (std::int64_t r = 0; r < rows; r += some) {
    const std::int64_t count = std::min(some, rows - r);
    sort_rows(call, static_cast<const T*>(args.x.raw_data()) + r * n,
              static_cast<T*>(args.values.raw_data()) + r * taken,
              static_cast<std::int64_t*>(args.indices.raw_data()) + r * taken, count, args.k, args.pick,
              {n, count * n, args.descending});
  }
}

/// n numbers of a row, or of all rows (stride 0).
template <class T>
__global__ void search_kernel(const T* __restrict__ sorted, const T* __restrict__ values, std::int64_t* indices,
                              std::int64_t n, std::int64_t stride, std::int64_t m, std::int64_t count, bool right) {
  const std::int64_t step = static_cast<std::int64_t>(gridDim.x) * blockDim.x;
  for (std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < count; i += step) {
    const T value = values[i];
    const T* const row = sorted + i / m * stride;
    indices[i] = bisect(n, [&](std::int64_t j) { return right ? row[j] > value : row[j] >= value; });
  }
}

template <class T> void search(const calls::SearchSorted& args) {
  const View &sorted = args.sorted, &values = args.values;
  const std::int64_t n = sorted.shape()[1], stride = sorted.shape()[0] == 1 ? 0 : n;
  const Call call(args);
  launch(call, search_kernel<T>, blocks_for(values.numel()), kThreads, static_cast<const T*>(sorted.raw_data()),
         static_cast<const T*>(values.raw_data()), static_cast<std::int64_t*>(args.indices.raw_data()), n, stride,
         values.shape()[1], values.numel(), args.right);
}

}  // namespace

template <> void execute(const calls::Sort& args) {
  dtype_switch(args.x.dtype(), [&]<class T>() { run<T>(args); });
}

template <> void execute(const calls::SearchSorted& args) {
  switch (args.values.dtype()) {
    case DType::float32: return search<float>(args);
    case DType::float64: return search<double>(args);
    default: return search<std::int64_t>(args);
  }
}

}  // namespace minnow::cuda
