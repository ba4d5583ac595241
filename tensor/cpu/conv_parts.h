#pragma once

#include <algorithm>
#include <exception>
#include <omp.h>
#include <minnow/tensor/cpu/onednn_plan.h>
#include <minnow/tensor/threads.h>

namespace minnow::cpu {

/// Images of one group of a batch.
struct ConvPart {
  std::int64_t first, size;
};

/// How a batch is cut into groups that one thread computes: by its size and that of the weights alone, never by the
/// number of threads, so that sums have the same bits for any number of them.
struct ConvParts {
  std::int64_t batch, count;

  ConvPart operator[](std::int64_t i) const {
    const std::int64_t first = batch * i / count;
    return {first, batch * (i + 1) / count - first};
  }
  /// Groups are of at most two sizes, which differ by one image; the first is a small one.
  std::int64_t small() const { return batch / count; }
  std::int64_t large() const { return small() + (batch % count == 0 ? 0 : 1); }
};
ConvParts cut(std::int64_t batch, std::int64_t weight_elements);

/// Bytes from one image to the next of dense activations.
std::int64_t image_bytes(const Tensor& t);

/// What a plan of a convolution depends on.
onednn::PlanKey conv_key(const Conv2dParams& params, DType dtype, const Shape& x, const Shape& w, const Shape& y,
                         bool bias);

/// Calls f(number, group, the thread's own `bytes` of memory) for each group, in parallel; oneDNN within f uses the
/// one thread.  Rethrows what f throws.
template <class F> void for_parts(const ConvParts& parts, std::size_t bytes, const F& f) {
  const int threads = static_cast<int>(std::min<std::int64_t>(num_threads(), parts.count));
  bytes = (bytes + 63) / 64 * 64;
  const onednn::Buffer memory(bytes * static_cast<std::size_t>(threads));
  std::exception_ptr failure;
#pragma omp parallel for num_threads(threads) if (threads > 1) schedule(static)
  for (std::int64_t i = 0; i < parts.count; ++i) {
    try {
      const onednn::ThreadCount serial(1);
      char* own = static_cast<char*>(memory.data());
      if (own) own += bytes * static_cast<std::size_t>(threads > 1 ? omp_get_thread_num() : 0);
      f(i, parts[i], own);
    } catch (...) {
#pragma omp critical(minnow_conv_failure)
      failure = std::current_exception();
    }
  }
  if (failure) std::rethrow_exception(failure);
}

}  // namespace minnow::cpu
