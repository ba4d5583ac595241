#pragma once

#include <string>
#include <vector>
#include <minnow/tensor/backend/backend.h>
#include <minnow/tensor/cpu/runtime/each_part.h>
#include <minnow/tensor/internal.h>

namespace minnow::cpu {

/// Images, or tiles of images, [first, first + size) of all.
struct ConvPart {
  std::int64_t first, size;
};

/// The division of a batch into parts that one thread computes each.  It depends on the sizes of the batch and the
/// weights only, so that sums have the same bits for any number of threads.
struct ConvParts {
  std::int64_t batch, count;

  ConvPart operator[](std::int64_t i) const {
    const std::int64_t first = batch * i / count;
    return {first, batch * (i + 1) / count - first};
  }
  /// Parts have one or two sizes, which differ by one image; the first part is a small one.
  std::int64_t small() const { return batch / count; }
  std::int64_t large() const { return small() + (batch % count == 0 ? 0 : 1); }
};
/// The images of y into parts of at least 4 images, or of many positions.
ConvParts cut(const Shape& y, std::int64_t weight_elements);
/// Into at most `wanted` parts, and fewer where the sums of many weights would take more memory than they save time.
ConvParts cut_into(std::int64_t all, std::int64_t wanted, std::int64_t weight_elements);

enum class ConvDirection { forward, backward_input, backward_weight };
/// The algorithms for float32 and halves, in the order in which they are preferred.
enum class ConvWay { few, winograd, unfolded, library };

/// What computes a convolution of these sizes: an algorithm of ours, or oneDNN's implementations of its parts; unfolded
/// images where it has only plain loops.  For tests.
std::vector<std::string> conv_implementations(ConvDirection direction, DType dtype, const Conv2dParams& params, Shape x,
                                              Shape w, const Shape& y);

/// What convolutions copied so far because it had another layout than the one that they compute in.  For tests.
struct ConvCopies {
  std::int64_t activations, weights;
};
ConvCopies conv_copies();
void count_copies(ConvCopies more);

/// Bytes from one image to the next, of dense activations.
std::int64_t image_bytes(const View& t);

/// The first n of dimension `dim`.
View first_slices(const View& t, int dim, std::int64_t n);

/// Calls f(number, part, `bytes` of memory of the thread) for each part, in parallel.
template <class F> void for_parts(const ConvParts& parts, std::size_t bytes, const F& f) {
  for_each_part(parts.count, bytes, [&](std::int64_t i, char* own) { f(i, parts[i], own); });
}

}  // namespace minnow::cpu
