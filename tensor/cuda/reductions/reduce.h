#pragma once

#include <cstdint>
#include <minnow/tensor/cuda/runtime/call.h>
#include <minnow/tensor/dtype.h>
#include <minnow/tensor/internal.h>

namespace minnow::cuda {

/// The arguments of the kernels of a reduction of [outer, n, inner] to [outer, inner]; strides in elements.
struct ReduceJob {
  const void* x;
  DType dtype;
  std::int64_t outputs, n, inner;
  std::int64_t so, sn, si;
  std::int64_t chunk;  ///< elements of a row that a block reduces: block y has the y-th chunk
  double p;
  void* out;
  DType out_dtype;
  void* parts;              ///< [chunks, outputs] accumulators if rows have several chunks, otherwise nullptr
  std::uint32_t* counters;  ///< one for each block of outputs
};

/// The division of the work among threads.  It depends on the shape only, so that the order of combination does too.
struct ReduceLayout {
  bool by_rows;             ///< several threads reduce a row; otherwise each thread has its own row
  bool vectors;             ///< rows are dense and start at multiples of 16 bytes
  unsigned width;           ///< threads that share a row
  unsigned threads;         ///< of a block
  std::int64_t per_block;   ///< outputs of a block
  std::int64_t chunk;       ///< elements of a row that a block reduces
  std::int64_t chunks = 1;  ///< of a row
};
/// A column has one thread, or several if `shared_columns` and there are few columns.
ReduceLayout reduce_layout(const View& x, bool shared_columns);

/// The number of threads that combine the parts of an output.
inline unsigned parts_width(std::int64_t chunks) { return chunks <= 128 ? 32 : 256; }

/// The arguments of a reduction, without the parts.
ReduceJob reduce_job(const View& x, double p, const View& out, const ReduceLayout& layout);

/// Runs reduction `op`, computed in T: float, double or int64.
template <class T> void reduce_as(const Call& call, int op, ReduceJob job, const ReduceLayout& layout);
extern template void reduce_as<float>(const Call&, int, ReduceJob, const ReduceLayout&);
extern template void reduce_as<double>(const Call&, int, ReduceJob, const ReduceLayout&);
extern template void reduce_as<std::int64_t>(const Call&, int, ReduceJob, const ReduceLayout&);

}  // namespace minnow::cuda
