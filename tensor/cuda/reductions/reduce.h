#pragma once

#include <cstdint>
#include <minnow/tensor/cuda/runtime/call.h>
#include <minnow/tensor/dtype.h>
#include <minnow/tensor/internal.h>

namespace minnow::cuda {

/// A reduction of [outer, n, inner] to [outer, inner], as its kernels see it; strides in elements.
struct ReduceJob {
  const void* x;
  DType dtype;
  std::int64_t outputs, n, inner;
  std::int64_t so, sn, si;
  std::int64_t chunk;  ///< elements of a row that one block joins: block y takes the y-th chunk
  double p;
  void* out;
  DType out_dtype;
  void* parts;  ///< [outputs, chunks] accumulators where a row has several chunks, else nullptr
};

/// How the work is laid out.  It depends on the shape alone, so that the order of combination does too.
struct ReduceLayout {
  bool by_rows;             ///< threads go along rows; else each thread goes along its own row
  bool vectors;             ///< rows are dense and start at multiples of 16 bytes
  unsigned width;           ///< threads that share a row
  unsigned threads;         ///< of a block
  std::int64_t per_block;   ///< outputs of a block
  std::int64_t chunk;       ///< elements of a row that one block joins
  std::int64_t chunks = 1;  ///< of a row
};
/// Columns are of one thread each, or shared by several where there are few.
ReduceLayout reduce_layout(const View& x, bool shared_columns);

/// Threads that join the parts of an output.
inline unsigned parts_width(std::int64_t chunks) { return chunks <= 128 ? 32 : 256; }

/// The job of a reduction, without its parts.
ReduceJob reduce_job(const View& x, double p, const View& out, const ReduceLayout& layout);

/// Runs reduction `op` computed in T: float, double or int64.
template <class T> void reduce_as(const Call& call, int op, ReduceJob job, const ReduceLayout& layout);
extern template void reduce_as<float>(const Call&, int, ReduceJob, const ReduceLayout&);
extern template void reduce_as<double>(const Call&, int, ReduceJob, const ReduceLayout&);
extern template void reduce_as<std::int64_t>(const Call&, int, ReduceJob, const ReduceLayout&);

}  // namespace minnow::cuda
