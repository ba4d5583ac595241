#pragma once

#include <cstdint>
#include <minnow/tensor/internal.h>

namespace minnow::cpu {

/// SoftmaxLoops::exp_sums and scaled_exp of `cols` adjacent columns of n rows that are `stride` elements apart.
struct ColumnLoops {
  void (*exp_sums)(const void* x, std::int64_t n, std::int64_t stride, std::int64_t cols, double* most, double* sum,
                   double* log_sum);
  void (*scaled_exp)(const void* x, void* out, std::int64_t n, std::int64_t stride, std::int64_t cols,
                     const double* most, const double* scale);
};
struct ColumnTable {
  ColumnLoops loops[2];  ///< of float, of double
};

/// Those of the current instruction set.
const ColumnTable& column_loops();

}  // namespace minnow::cpu
