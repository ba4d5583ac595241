#include <minnow/nn/recurrent/packed_sequence.h>

#include <algorithm>
#include <fmt/format.h>
#include <numeric>
#include <minnow/ops/detail/operation.h>
#include <minnow/ops/elementwise/arithmetic.h>
#include <minnow/ops/indexing/index.h>
#include <minnow/tensor/create.h>
#include <minnow/tensor/error.h>
#include <minnow/tensor/internal.h>

namespace minnow::nn {

void detail::require_lengths(const Tensor& padded, const std::vector<std::int64_t>& lengths, const char* name,
                             const Tensor& given) {
  if (padded.dim() < 2) throw ShapeError(message("the sequences must be [T, N, ...]", {{name, given}}, "T steps of N"));
  if (std::ssize(lengths) != padded.size(1) || lengths.empty())
    throw ShapeError(message(fmt::format("there are {} lengths of {} sequences", lengths.size(), padded.size(1)),
                             {{name, given}}, "give one for each; is the first dimension that of the batch?"));
  for (const std::int64_t length : lengths)
    if (length < 1 || length > padded.size(0))
      throw ValueError(message(fmt::format("a length must be in [1, {}], got {}", padded.size(0), length),
                               {{name, given}}, "leave out empty sequences"));
}

namespace {

/// The longest first, of equal ones the first.
std::vector<std::int64_t> longest_first(const PackedSequence& packed) {
  detail::require_lengths(packed.padded, packed.lengths, "padded", packed.padded);
  std::vector<std::int64_t> order(packed.lengths.size());
  std::iota(order.begin(), order.end(), 0);
  const auto length = [&](std::int64_t n) { return packed.lengths[static_cast<std::size_t>(n)]; };
  std::stable_sort(order.begin(), order.end(), [&](auto a, auto b) { return length(a) > length(b); });
  return order;
}

}  // namespace

Tensor PackedSequence::data(SourceLocation where) const {
  const CallSite site("PackedSequence::data", where);
  const std::vector<std::int64_t> order = longest_first(*this);
  const auto count = std::ssize(order);
  std::vector<std::int64_t> rows;
  for (std::int64_t t = 0; t < padded.size(0); ++t)
    for (const std::int64_t n : order)
      if (lengths[static_cast<std::size_t>(n)] > t) rows.push_back(t * count + n);
  return padded.flatten(0, 1).index_select(0, tensor(rows).to(padded.device()));
}

Tensor PackedSequence::batch_sizes(SourceLocation where) const {
  const CallSite site("PackedSequence::batch_sizes", where);
  std::vector<std::int64_t> sizes;
  for (const std::int64_t n : longest_first(*this))
    for (std::size_t t = 0; t < static_cast<std::size_t>(lengths[static_cast<std::size_t>(n)]); ++t)
      if (t == sizes.size()) sizes.push_back(1);
      else ++sizes[t];
  return tensor(sizes);
}

Tensor PackedSequence::sorted_indices(SourceLocation where) const {
  const CallSite site("PackedSequence::sorted_indices", where);
  return tensor(longest_first(*this)).to(padded.device());
}

Tensor PackedSequence::unsorted_indices(SourceLocation where) const {
  const CallSite site("PackedSequence::unsorted_indices", where);
  const std::vector<std::int64_t> order = longest_first(*this);
  std::vector<std::int64_t> places(order.size());
  for (std::size_t i = 0; i < order.size(); ++i)
    places[static_cast<std::size_t>(order[i])] = static_cast<std::int64_t>(i);
  return tensor(places).to(padded.device());
}

PackedSequence pack_padded_sequence(const In& x, const std::vector<std::int64_t>& lengths, const PackOptions& options) {
  const Operation op("pack_padded_sequence", x.where, {{"x", *x}});
  if (x->dim() < 2)
    throw ShapeError(message("x must be [T, N, ...] or, with batch_first, [N, T, ...]", op, "T steps of N"));
  const Tensor padded = options.batch_first ? x->transpose(0, 1) : *x;
  detail::require_lengths(padded, lengths, "x", *x);
  const std::int64_t longest = *std::max_element(lengths.begin(), lengths.end());
  return {longest == padded.size(0) ? padded : padded.narrow(0, 0, longest), lengths};
}

PackedSequence pack_padded_sequence(const In& x, const In& lengths, const PackOptions& options) {
  const CallSite site("pack_padded_sequence", x.where);
  lengths->require_defined();
  if (is_floating_point(lengths->dtype()) || lengths->dim() != 1)
    throw DTypeError(
        message("the lengths must be a vector of integers", {{"lengths", *lengths}}, "e.g. tensor({3, 5})"));
  return pack_padded_sequence(x, lengths->to_vector<std::int64_t>(), options);
}

PaddedSequence pad_packed_sequence(const PackedSequence& packed, const PadOptions& options, SourceLocation where) {
  const Operation op("pad_packed_sequence", where, {{"padded", packed.padded}});
  detail::require_lengths(packed.padded, packed.lengths, "padded", packed.padded);
  const Tensor lengths = tensor(packed.lengths);
  const std::int64_t steps = packed.padded.size(0);
  if (options.total_length != 0 && options.total_length < steps)
    throw ValueError(message(fmt::format("total_length {} is below the largest length {}", options.total_length, steps),
                             {}, "leave it 0 for the largest length"));
  Tensor active = lt(arange(steps, int64).unsqueeze(1), lengths.unsqueeze(0));
  for (int d = 2; d < packed.padded.dim(); ++d) active = active.unsqueeze(-1);
  const Tensor padding = full({}, options.padding_value, {packed.padded.dtype(), packed.padded.device()});
  Tensor x = minnow::where(active.to(packed.padded.device()), packed.padded, padding);
  if (options.total_length > steps) {
    Shape rest = x.shape();
    rest[0] = options.total_length - steps;
    x = cat({x, full(rest, options.padding_value, {x.dtype(), x.device()})});
  }
  return {options.batch_first ? x.transpose(0, 1) : x, lengths};
}

Tensor pad_sequence(const std::vector<Tensor>& sequences, const PadOptions& options, SourceLocation where) {
  const CallSite site("pad_sequence", where);
  if (sequences.empty()) throw ValueError(message("the list of sequences is empty", {}, "give one or more"));
  std::int64_t longest = options.total_length;
  for (const Tensor& s : sequences) {
    require_same_device({{"first", sequences[0]}, {"sequence", s}});
    if (s.dim() < 1)
      throw ShapeError(message("a sequence must be [L, ...]", {{"sequence", s}}, "a number is not a sequence"));
    longest = std::max(longest, s.size(0));
  }
  std::vector<Tensor> padded;
  for (const Tensor& s : sequences) {
    Shape rest = s.shape();
    rest[0] = longest - s.size(0);
    padded.push_back(rest[0] == 0 ? s : cat({s, full(rest, options.padding_value, {s.dtype(), s.device()})}));
  }
  return stack(padded, options.batch_first ? 0 : 1);
}

PackedSequence pack_sequence(const std::vector<Tensor>& sequences, SourceLocation where) {
  const CallSite site("pack_sequence", where);
  const Tensor padded = pad_sequence(sequences, {}, where);
  std::vector<std::int64_t> lengths;
  lengths.reserve(sequences.size());
  for (const Tensor& s : sequences) lengths.push_back(s.size(0));
  return pack_padded_sequence({padded, where}, lengths);
}

}  // namespace minnow::nn
