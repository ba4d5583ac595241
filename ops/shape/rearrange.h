#pragma once

#include <cstdint>
#include <optional>
#include <vector>
#include <minnow/tensor/in.h>

// Diagonals, padding, repeating, rolling, and grids of coordinates.
namespace minnow {

/// The diagonal of the dimensions dim1 and dim2 as a view, whose last dimension it is.  offset 1 is the one above the
/// main diagonal.  IndexError for a dimension out of range, ValueError if both are the same.
[[nodiscard]] Tensor diagonal(const In& x, std::int64_t offset = 0, int dim1 = 0, int dim2 = 1);
/// Of a vector the square matrix with x on the diagonal and 0 elsewhere, of a matrix a copy of its diagonal.
/// ShapeError for others.
[[nodiscard]] Tensor diag(const In& x, std::int64_t diagonal = 0);

/// Matrices with the vectors of x on their diagonals and 0 elsewhere: the inverse of diagonal().   [..., n]  ->
/// [..., n + |offset|, n + |offset|], whose dimensions become dim1 and dim2 of the result.
[[nodiscard]] Tensor diag_embed(const In& x, std::int64_t offset = 0, int dim1 = -2, int dim2 = -1);
/// Tensors one after the other along dimension 0, or 1 if they are no vectors; of numbers a vector.
[[nodiscard]] Tensor hstack(const std::vector<Tensor>& tensors, SourceLocation where = SourceLocation::current());
/// Tensors one below the other: vectors become rows.
[[nodiscard]] Tensor vstack(const std::vector<Tensor>& tensors, SourceLocation where = SourceLocation::current());

/// The windows of `size` elements that begin at every `step`-th one of dimension dim, as a view: their number replaces
/// the dimension, their elements are a new last one.   [..., n, ...]  ->  [..., (n - size) / step + 1, ..., size].
/// ShapeError for windows that do not fit, ValueError for a step below 1.
[[nodiscard]] Tensor unfold(const In& x, int dim, std::int64_t size, std::int64_t step);
/// Dimension dim divided into `sizes`, one of which may be -1: the inverse of flatten.  ShapeError unless their product
/// is its size.
[[nodiscard]] Tensor unflatten(const In& x, int dim, const Shape& sizes);

/// What pad() writes around x: a number, x mirrored without the edge, the edge, or x from its other end.
enum class PadMode : std::uint8_t { constant, reflect, replicate, circular };
/// x with more elements at the beginning and the end of its last dimensions, as torch.nn.functional.pad.   padding:
/// {before, after} of the last dimension, then of the last but one, ...; negative numbers take elements away.  `value`
/// is for PadMode::constant.  ShapeError for more pairs than dimensions and for a padding that x is too small for:
/// reflect needs less than the size of the dimension, circular no more than it.
[[nodiscard]] Tensor pad(const In& x, const std::vector<std::int64_t>& padding, PadMode mode = PadMode::constant,
                         Scalar value = 0);

/// Each element `repeats` times, one after the other, along dim; without dim those of x.flatten().  ValueError for a
/// negative number.
[[nodiscard]] Tensor repeat_interleave(const In& x, std::int64_t repeats, std::optional<int> dim = {});
/// Element i repeats[i] times.   repeats: int64 or int32, with one element or one for each element of the dimension.
/// The host waits for the device.
[[nodiscard]] Tensor repeat_interleave(const In& x, const In& repeats, std::optional<int> dim = {});
/// repeat(x, times), but a shorter list counts for the last dimensions.
[[nodiscard]] Tensor tile(const In& x, const Shape& times);
/// x, of its shape, with the elements along dims shifted, those past the end coming back at the beginning: a shift for
/// each of dims, or one without dims for the elements of x.flatten().  ValueError for another number of shifts.
[[nodiscard]] Tensor roll(const In& x, const Shape& shifts, const Dims& dims = {});

/// Of vectors of n0, n1, ... elements, views of shape [n0, n1, ...]: result i has the elements of vector i along
/// dimension i (PyTorch's indexing "ij").  ShapeError for tensors with more than one dimension, ValueError for none.
[[nodiscard]] std::vector<Tensor> meshgrid(const std::vector<Tensor>& tensors,
                                           SourceLocation where = SourceLocation::current());

}  // namespace minnow
