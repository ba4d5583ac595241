#pragma once

#include <cstdint>
#include <minnow/tensor/in.h>
#include <minnow/tensor/random.h>

// Random numbers, of the default generator unless another is given.  They depend only on the generator's seed and on
// how many were drawn before, not on the device.  Functions in place keep the shape and dtype of x.  Nothing is
// recorded: what is written in place has no gradient.
namespace minnow {

/// 1 with the probability that each element of p is, else 0; the dtype and shape of p.  DTypeError unless p is
/// floating-point; ValueError for p outside of [0, 1] on the cpu, elsewhere the nearest counts: a check would wait.
[[nodiscard]] Tensor bernoulli(const In& p, RandomGenerator* generator = nullptr);
/// Indices of columns, drawn with probabilities in proportion to the weights.   weights: floating-point [m] or [n, m],
/// 0 or more, not all 0 in a row -> int64 [count] or [n, count].  Without replacement no index is drawn twice from a
/// row. ValueError for weights that are negative or not finite, or fewer positive ones than are needed; on a GPU at the
/// next synchronization.
[[nodiscard]] Tensor multinomial(const In& weights, std::int64_t count, bool replacement = false,
                                 RandomGenerator* generator = nullptr);

// In place, for floating-point tensors (DTypeError); ValueError for parameters of no distribution.

/// Uniform in [low, high).
Tensor uniform_(const In& x, double low = 0, double high = 1, RandomGenerator* generator = nullptr);
/// Normal.
Tensor normal_(const In& x, double mean = 0, double std = 1, RandomGenerator* generator = nullptr);
/// e^z with z normal.
Tensor log_normal_(const In& x, double mean = 1, double std = 2, RandomGenerator* generator = nullptr);
/// Density rate e^(-rate x) from 0 on.
Tensor exponential_(const In& x, double rate = 1, RandomGenerator* generator = nullptr);
/// Density 1 / (pi scale (1 + ((x - median) / scale)^2)).
Tensor cauchy_(const In& x, double median = 0, double scale = 1, RandomGenerator* generator = nullptr);
/// The number of trials up to the first success, of probability p in (0, 1).  Integers too, at most their largest.
Tensor geometric_(const In& x, double p, RandomGenerator* generator = nullptr);
/// 1 with probability p, else 0.  All dtypes.
Tensor bernoulli_(const In& x, double p = 0.5, RandomGenerator* generator = nullptr);
/// Integers in [low, high), in tensors of all dtypes.  ValueError unless low < high and x can hold both ends.
Tensor random_(const In& x, std::int64_t low, std::int64_t high, RandomGenerator* generator = nullptr);
/// Integers from 0 to the largest up to which x holds all.
Tensor random_(const In& x, RandomGenerator* generator = nullptr);

}  // namespace minnow
