#pragma once

#include <cstdint>
#include <span>
#include <minnow/tensor/activation.h>
#include <minnow/tensor/view.h>

// What the calls of a backend have besides their operands (calls.h).
namespace minnow::detail {

/// What a call found in its operands' elements.  In no case was anything read or written out of bounds.
enum class [[nodiscard]] Outcome : std::uint8_t{
    ok,
    index_out_of_range,
    class_out_of_range,  ///< a target is neither in [0, classes) nor ignore_index
    zero_divisor,        ///< an integer was divided by zero
    no_solution,         ///< a matrix has no such factorization
};

/// How a row of a matrix is stored in bytes: 32 numbers in a block, with a scale d (and a least number m) in float16.
enum class BlockFormat : std::uint8_t {
  q8_0,  ///< d, then int8 q: d q
  q4_0,  ///< d, then 4 bits q, number i in the lower and number i + 16 in the upper half of byte i: d (q - 8)
  q4_1,  ///< d, m, then 4 bits q: d q + m
  bf16,  ///< bfloat16 numbers
};
/// Bytes of 32 numbers.
constexpr std::int64_t block_bytes(BlockFormat format) {
  return format == BlockFormat::q8_0 ? 34 : format == BlockFormat::q4_0 ? 18 : format == BlockFormat::q4_1 ? 20 : 64;
}

/// The layers whose steps are calls.  Rows of weights for each gate are in PyTorch's order: lstm i, f, g, o; gru r, z,
/// n.
enum class Recurrence : std::uint8_t { tanh, relu, gru, lstm };

constexpr std::int64_t gates_of(Recurrence kind) {
  return kind == Recurrence::lstm ? 4 : kind == Recurrence::gru ? 3 : 1;
}

/// Routines of LAPACK, for each matrix of a batch.  All operands are contiguous, of one dtype: float32 or float64.
enum class LapackRoutine : std::uint8_t {
  cholesky,  ///< a: [B, N, N] -> in place L with a = L Lᵀ, 0 above the diagonal.  Reads the lower triangle.
  lu,        ///< a: [B, N, N] -> in place factors of Aᵀ; b: int32 [B, N], the rows that were swapped, from 1 on
  lu_solve,  ///< a, b: of lu; c: [B, N, K] -> X with A X = c, Aᵀ X = c if `flag`; without c a becomes A⁻¹ (or infinite)
  triangular,  ///< a: [B, N, N], upper if `flag`; c: [B, N, K] -> in place X with a X = c
  qr,          ///< a: [B, M, N], overwritten; b: Q [B, M, K]; c: R [B, K, N], K = min(M, N)
  eigh,  ///< a: [B, N, N], its lower triangle, overwritten; b: values [B, N], ascending; c: vectors in columns, or none
  svd,   ///< a: [B, M, N], overwritten; c: S [B, K], descending; b: U [B, M, K] and d: Vᵀ [B, K, N], whole squares if
         ///< `flag`, or neither
};

/// What the elements of a line are combined to, from the first on.  The last is y[i] = x[i] + factor[i] y[i - 1].
enum class ScanOp : std::uint8_t { sum, prod, logsumexp, max, min, recurrence };

/// What is written where an element of a source goes: the old value and the source's combined, or the source's (the
/// last of several).
enum class ScatterOp : std::uint8_t { add, multiply, max, min, assign };

/// What is taken of a row in order: its first k elements, or one of them: the k-th, the lower one in the middle (the
/// first NaN if there is one), that of the elements that are not NaN, or the last of the first of the longest runs of
/// equal ones.
enum class SortPick : std::uint8_t { first, kth, median, nanmedian, mode };

// Parameters that several calls share.  Dilation 1 means none; backends translate to the conventions of their
// libraries.

/// out = activation(alpha * a b + beta * out (+ bias)).
struct MatmulParams {
  double alpha = 1;
  double beta = 0;
  Activation activation = Activation::none;  ///< for floating-point results only
};

struct Conv2dParams {
  std::int64_t stride[2] = {1, 1};
  std::int64_t padding[2] = {0, 0};
  std::int64_t dilation[2] = {1, 1};
  std::int64_t groups = 1;
};

struct Pool2dParams {
  std::int64_t kernel[2] = {1, 1};
  std::int64_t stride[2] = {1, 1};
  std::int64_t padding[2] = {0, 0};
  std::int64_t dilation[2] = {1, 1};
  bool count_include_pad = true;
  /// Output i of n pools elements from ⌊i size / n⌋ to ⌈(i + 1) size / n⌉; kernel has n, or 0 for as many as before.
  bool adaptive = false;
};

struct GridSampleParams {
  enum Padding : std::uint8_t { zeros, border, reflection };
  int taps = 2;  ///< pixels along each dimension: 1 nearest, 2 linear, 4 cubic
  Padding padding = zeros;
  bool align_corners = false;
};

/// One parameter in an optimizer's fused pass.  `state` are the tensors that the rule keeps for it, of the same shape;
/// nullptr for those that its options leave out.
struct UpdateItem {
  static constexpr int kMaxStates = 3;
  const View* param;
  const View* grad;
  const View* state[kMaxStates];
};

struct UpdateParams {
  int rule = 0;                       ///< index in kernels::UpdateRules
  std::span<const double> constants;  ///< the rule's Constants<double>, as an array
  /// If set, device memory with these numbers, which kernels read instead: a captured step changes them between
  /// replays.
  const double* replayed = nullptr;
};

}  // namespace minnow::detail
