#pragma once

#include <cstdint>
#include <vector>
#include <minnow/tensor/in.h>

namespace minnow::nn {

/// Sequences of several lengths for RNN, GRU and LSTM, as torch.nn.utils.rnn.PackedSequence.  They are kept padded:
/// what stands behind the end of a sequence has no effect and gets no gradient.  The functions give PyTorch's form of
/// them, with the same errors as pad_packed_sequence().
struct PackedSequence {
  Tensor padded;                      ///< [T, N, ...]
  std::vector<std::int64_t> lengths;  ///< N numbers from 1 to T

  /// The steps of all sequences one after another, [sum of the lengths, ...]: the first steps, the longest sequence
  /// first, then the second ones of those that have one.
  [[nodiscard]] Tensor data(SourceLocation where = SourceLocation::current()) const;
  /// How many sequences have a step t: int64 [T], on the CPU.
  [[nodiscard]] Tensor batch_sizes(SourceLocation where = SourceLocation::current()) const;
  /// The numbers of the sequences, the longest first: int64 [N].
  [[nodiscard]] Tensor sorted_indices(SourceLocation where = SourceLocation::current()) const;
  /// The place of each sequence in that order: int64 [N].
  [[nodiscard]] Tensor unsorted_indices(SourceLocation where = SourceLocation::current()) const;
};

namespace detail {
/// ShapeError unless `padded`, [T, N, ...], has N lengths, ValueError for one that is not in [1, T].   given: as the
/// caller named it.
void require_lengths(const Tensor& padded, const std::vector<std::int64_t>& lengths, const char* name,
                     const Tensor& given);
}  // namespace detail

struct PackOptions {
  bool batch_first = false;  ///< x is [N, T, ...], not [T, N, ...]
};
/// The sequences of x, of these lengths, in any order.  T becomes the largest of them.  ShapeError unless there is a
/// length for each sequence, ValueError for one that is not in [1, T].
[[nodiscard]] PackedSequence pack_padded_sequence(const In& x, const std::vector<std::int64_t>& lengths,
                                                  const PackOptions& options = {});
/// The same with the lengths in an int64 vector; waits for its device.
[[nodiscard]] PackedSequence pack_padded_sequence(const In& x, const In& lengths, const PackOptions& options = {});

struct PadOptions {
  bool batch_first = false;       ///< the result is [N, T, ...], not [T, N, ...]
  double padding_value = 0;       ///< behind the ends
  std::int64_t total_length = 0;  ///< T of pad_packed_sequence's result; 0: the largest length
};
/// What pad_packed_sequence() returns.
struct PaddedSequence {
  Tensor output;   ///< [T, N, ...], or [N, T, ...] with batch_first
  Tensor lengths;  ///< int64 [N], on the CPU
};
/// {output, lengths}.  ValueError for a total_length below the largest length.
[[nodiscard]] PaddedSequence pad_packed_sequence(const PackedSequence& packed, const PadOptions& options = {},
                                                 SourceLocation where = SourceLocation::current());
/// Tensors [L, ...] that differ in L, as one.   ->  [T, N, ...], or [N, T, ...] with batch_first.  ValueError for an
/// empty list, ShapeError for other sizes that differ.
[[nodiscard]] Tensor pad_sequence(const std::vector<Tensor>& sequences, const PadOptions& options = {},
                                  SourceLocation where = SourceLocation::current());
/// The same as a PackedSequence.
[[nodiscard]] PackedSequence pack_sequence(const std::vector<Tensor>& sequences,
                                           SourceLocation where = SourceLocation::current());

}  // namespace minnow::nn
