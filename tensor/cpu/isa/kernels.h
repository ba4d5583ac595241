#pragma once

#include <cstddef>
#include <cstdint>
#include <minnow/tensor/internal.h>
#include <minnow/tensor/kernels/binary.h>
#include <minnow/tensor/kernels/compute.h>
#include <minnow/tensor/kernels/draw.h>
#include <minnow/tensor/kernels/reduce.h>
#include <minnow/tensor/kernels/ternary.h>
#include <minnow/tensor/kernels/unary.h>
#include <minnow/tensor/kernels/update.h>

namespace minnow::cpu {

using kernels::Compute;
using kernels::compute_of;
using kernels::dtype_of;
using kernels::kComputes;

/// The element types of elementwise loops: those of computing, then int32, int16, int8, uint8 and bool as they are in
/// memory, for operations that give the same there as in int64.
inline constexpr int kLoopTypes = kComputes + 5;
constexpr int loop_type(DType dtype) {
  if (dtype <= DType::int64) return static_cast<int>(compute_of(dtype));
  return kComputes + static_cast<int>(dtype) - static_cast<int>(DType::int32);
}

/// The rows of loops over elements as they are in memory, float16 and bfloat16 among them.
inline constexpr int kOwnTypes = kLoopTypes + 2;
constexpr int own_loop_type(DType dtype) {
  return is_half(dtype) ? kLoopTypes + (dtype == DType::bfloat16 ? 1 : 0) : loop_type(dtype);
}

// Loops over dense arrays.  An output may be the same array as an input, but must not overlap it otherwise.

using UnaryLoop = void (*)(const void* x, void* y, std::int64_t n, double p0, double p1);
using SlopeLoop = void (*)(const void* grad, const void* saved, void* out, std::int64_t n, double p0, double p1);
/// Returns false if an integer was divided by zero.
using BinaryLoop = bool (*)(const void* a, const void* b, void* out, std::int64_t n);
/// With one_c the third operand is a single element.
using TernaryLoop = void (*)(const void* a, const void* b, const void* c, void* out, std::int64_t n, double p,
                             bool one_c);
using ConvertLoop = void (*)(const void* from, void* to, std::int64_t n);

/// A reduction's loops.  The accumulator is a double, or an int64 for int64.
struct ReduceLoops {
  void (*init)(void* acc, std::int64_t n);
  /// Adds each of `rows` rows of n elements (at most kReduceBlock), `stride` elements apart, to an accumulator.
  void (*rows)(const void* x, std::int64_t stride, std::int64_t rows, std::int64_t n, double p, void* acc);
  /// Adds `rows` rows of `cols` elements (at most kReduceColumns), `stride` elements apart, to `cols` accumulators.
  void (*columns)(const void* x, std::int64_t stride, std::int64_t rows, std::int64_t cols, double p, void* acc);
  /// Adds n accumulators to n others.
  void (*merge)(const void* from, void* acc, std::int64_t n);
  void (*finish)(void* acc, std::int64_t n, std::int64_t count, double p);
};
inline constexpr std::int64_t kReduceBlock = 4096;
inline constexpr std::int64_t kReduceColumns = 256;

/// The first largest (or smallest) element of each of `rows` rows of n elements (1 to kReduceBlock), `stride` elements
/// apart, or the first NaN, and its index in the row.
using ArgLoop = void (*)(const void* x, std::int64_t stride, std::int64_t rows, std::int64_t n, bool largest,
                         void* values, std::int64_t* places);
/// The same of `cols` columns, whose values and places before the row `first` are there; x is that row.
using ArgColumnsLoop = void (*)(const void* x, std::int64_t stride, std::int64_t first, std::int64_t rows,
                                std::int64_t cols, bool largest, void* values, std::int64_t* places);

/// Softmax and related functions over contiguous rows of n, or over `cols` (at most kSoftmaxColumns) adjacent columns
/// of n rows that are `stride` elements apart.
struct SoftmaxLoops {
  void (*rows)(const void* x, void* y, std::int64_t rows, std::int64_t n, bool log);
  void (*rows_backward)(const void* grad, const void* y, void* grad_x, std::int64_t rows, std::int64_t n, bool log);
  void (*columns)(const void* x, void* y, std::int64_t n, std::int64_t stride, std::int64_t cols, bool log);
  void (*columns_backward)(const void* grad, const void* y, void* grad_x, std::int64_t n, std::int64_t stride,
                           std::int64_t cols, bool log);
  /// The largest element of each row, the sum of exp(x - largest), and its logarithm.  0 is subtracted if the largest
  /// is infinite.
  void (*exp_sums)(const void* x, std::int64_t rows, std::int64_t n, double* most, double* sum, double* log_sum);
  /// out = scale * exp(x - most).
  void (*scaled_exp)(const void* x, void* out, std::int64_t n, double most, double scale);
};
inline constexpr std::int64_t kSoftmaxColumns = 64;

/// One tile of a product c = a b of floats, doubles or unsigned integers, which wrap around.  Strides in elements.
template <class T> struct GemmTileOf {
  const T* a;
  std::int64_t a_row, a_col;
  const T* b;  ///< a panel, or b itself; its columns are dense
  std::int64_t b_row, depth;
  T* c;
  std::int64_t c_row;
  const T* start;  ///< [width], added to the sum; nullptr: none
  bool more;       ///< add the sum to c
};
using GemmTile = GemmTileOf<float>;

/// Blocks of b are packed into panels of `cols` columns.  A tile has at most `rows` rows and one panel.
template <class T> struct GemmLoopsOf {
  int rows, cols;
  /// panel[k][cols] = b[k][j], zeros from `width` columns on; one of the strides is 1.
  void (*pack)(const T* b, std::int64_t b_row, std::int64_t b_col, std::int64_t depth, int width, T* panel);
  void (*tile)(const GemmTileOf<T>& tile, int height, int width);
};
using GemmLoops = GemmLoopsOf<float>;
inline constexpr std::int64_t kGemmDepth = 384;  ///< of a panel at most

/// to[r * to_stride + c] = from[c * from_stride + r], for elements of 4 bytes.
using TransposeLoop = void (*)(const void* from, std::int64_t from_stride, void* to, std::int64_t to_stride,
                               std::int64_t rows, std::int64_t cols);

/// Sets n elements of `size` bytes to *value; `to` may begin there.
using FillLoop = void (*)(const void* value, std::size_t size, void* to, std::int64_t n);

/// Sets bytes to 0, past the caches (streamed.h).
using StreamZerosLoop = void (*)(void* to, std::size_t bytes);

/// Applies a rule to n elements of param, grad and the states (nullptr for those that it does not have).
using UpdateLoop = void (*)(void* param, const void* grad, void* const* state, std::int64_t n, const double* constants);

/// Sets the elements of `counters` counters from their numbers by a draw.
using DrawLoop = void (*)(const void* draw, const std::uint32_t* numbers, void* values, std::int64_t counters);

/// The families of loops, one for each file of this folder, and their list.
namespace family {
struct Unary;
struct Slope;
struct Binary;
struct Reduce;
struct Softmax;
struct Convert;
struct Update;
struct Random;
struct Gemm;
struct Transpose;
}  // namespace family
using LoopFamilies = kernels::List<family::Unary, family::Slope, family::Binary, family::Reduce, family::Softmax,
                                   family::Convert, family::Update, family::Random, family::Gemm, family::Transpose>;

/// All loops of one instruction set.  A loop is nullptr if the functor does not take the type.
struct Kernels {
  UnaryLoop unary[kOwnTypes][kernels::UnaryOps::kSize];
  SlopeLoop slope[2][kernels::UnaryOps::kSize];
  BinaryLoop binary[kOwnTypes][kernels::BinaryOps::kSize];
  /// float32 loops for a single element as a [0] or b [1]; only for arithmetic.
  BinaryLoop binary_one[2][kComputes][kernels::BinaryOps::kSize];
  TernaryLoop ternary[kOwnTypes][kernels::TernaryOps::kSize];
  ReduceLoops reduce[kOwnTypes][kernels::ReduceOps::kSize];
  ArgLoop arg_rows[kComputes];
  ArgColumnsLoop arg_columns[kComputes];
  SoftmaxLoops softmax[2];
  UpdateLoop update[2][kernels::UpdateRules::kSize];
  ConvertLoop load[kDTypeCount][kComputes];   ///< [DType][Compute]
  ConvertLoop store[kComputes][kDTypeCount];  ///< [Compute][DType]
  ConvertLoop whole[kLoopTypes][kLoopTypes];  ///< from and to the integers that are no compute type
  GemmLoops gemm;
  GemmLoopsOf<double> gemm_double;
  GemmLoopsOf<std::uint32_t> gemm_uint32;
  GemmLoopsOf<std::uint64_t> gemm_uint64;
  TransposeLoop transpose;
  FillLoop fill;
  StreamZerosLoop stream_zeros;
  /// out[4 k + lane] of Philox counter + k.
  void (*philox)(std::uint64_t seed, std::uint64_t counter, std::uint32_t* out, std::int64_t counters);
  DrawLoop draw[kernels::Draws::kSize];
};

}  // namespace minnow::cpu
