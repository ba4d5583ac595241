#include <minnow/ops/indexing/embedding_bag.h>

#include <algorithm>
#include <fmt/format.h>
#include <limits>
#include <utility>
#include <vector>
#include <minnow/ops/detail/operation.h>
#include <minnow/ops/elementwise/arithmetic.h>
#include <minnow/ops/elementwise/unary.h>
#include <minnow/ops/indexing/index.h>
#include <minnow/ops/indexing/masked.h>
#include <minnow/ops/reductions/reduce.h>
#include <minnow/tensor/create.h>
#include <minnow/tensor/error.h>
#include <minnow/tensor/raw/copy.h>
#include <minnow/tensor/raw/create.h>

namespace minnow {
namespace {

bool is_index(const Tensor& t) { return t.dtype() == DType::int64 || t.dtype() == DType::int32; }

void check(const BoundOperands<4>& op, const EmbeddingBagFuncOptions& o) {
  const Tensor &index = op[0], &weight = op[1], &offsets = op[2], &each = op[3];
  if (!is_index(index) || (offsets.defined() && !is_index(offsets)))
    throw DTypeError(message("index and offsets must be int64 or int32", op, "convert first: .to(int64)"));
  if (!weight.is_floating_point())
    throw DTypeError(message("weight must be floating-point", op, "convert first: .to(float32)"));
  if (weight.dim() != 2) throw ShapeError(message("weight must have two dimensions", op, "weight: [rows, size]"));
  const bool rows = index.dim() == 2;
  if ((!rows && index.dim() != 1) || rows == offsets.defined() || (offsets.defined() && offsets.dim() != 1))
    throw ShapeError(message("bags are the rows of an index [B, L], or offsets [B] of an index [L]", op,
                             "offsets are the positions at which bags begin"));
  if (offsets.defined() && o.include_last_offset && offsets.numel() == 0)
    throw ShapeError(message("include_last_offset needs one offset or more", op, "give the end of the last bag"));
  if (!each.defined()) return;
  if (o.mode != BagMode::sum)
    throw ValueError(message("per_sample_weights are for BagMode::sum", op, "give .mode = BagMode::sum"));
  if (each.shape() != index.shape())
    throw ShapeError(message("per_sample_weights do not match index", op, "one for each index"));
  if (each.dtype() != weight.dtype())
    throw DTypeError(message("per_sample_weights and weight have different dtypes", op, dtype_hint(op)));
}

void check_offsets(const Tensor& offsets, std::int64_t count, Operands operands) {
  if (!offsets.device().is_cpu()) return;
  const std::vector<std::int64_t> at = offsets.to_vector<std::int64_t>();
  const bool in_order = std::is_sorted(at.begin(), at.end());
  if (at.empty() || (in_order && at.front() == 0 && at.back() <= count)) return;
  throw ValueError(message(fmt::format("offsets must go from 0 to at most {} and not decrease", count), operands,
                           fmt::format("they go from {} to {}", at.front(), at.back())));
}

/// The rows of bags of one size: [B, L, d].  A row counts where `valid` [B, L] is true; undefined: all do.
Tensor combined(const Tensor& rows, const Tensor& valid, BagMode mode) {
  const Tensor each = valid.defined() ? valid.unsqueeze(2) : valid;
  if (mode == BagMode::max) {
    if (rows.size(1) == 0) return sum(rows, 1);
    const double least = -std::numeric_limits<double>::infinity();
    const Tensor largest = max(each.defined() ? where(each, rows, least) : rows, 1).values;
    return each.defined() ? where(any(each, 1), largest, 0) : largest;
  }
  const Tensor total = sum(each.defined() ? where(each, rows, 0) : rows, 1);
  if (mode == BagMode::sum) return total;
  if (!each.defined()) return div(total, static_cast<double>(std::max<std::int64_t>(rows.size(1), 1)));
  return div(total, clamp_min(sum(each.to(rows.dtype()), 1), 1));
}

/// Bags of different sizes as rows of the largest one's.
Tensor largest_of_bags(const Tensor& index, const Tensor& weight, const Tensor& starts, const Tensor& ends,
                       std::optional<std::int64_t> padding_idx) {
  const Tensor sizes = sub(ends, starts);
  const std::int64_t most = index.numel() && starts.numel() ? amax(sizes).item<std::int64_t>() : 0;
  if (most <= 0) return mul(sum(weight, 0, true), 0).expand({starts.numel(), weight.size(1)}).clone();
  const Tensor i = arange(0, most, 1, {DType::int64, index.device()});
  const Tensor positions = minimum(add(starts.unsqueeze(1), i), clamp(sub(ends, 1), 0).unsqueeze(1));
  const Tensor picked = index_select(index, 0, positions.flatten()).reshape(positions.shape());
  Tensor valid = lt(i, sizes.unsqueeze(1));
  if (padding_idx) valid = logical_and(valid, ne(picked, *padding_idx));
  return combined(embedding(picked, weight), valid, BagMode::max);
}

/// The sums of bags in one call for the host.
Tensor sums_on_host(const Tensor& index, const Tensor& weight) {
  const Tensor rows = raw::contiguous(index), from = raw::contiguous(weight);
  Tensor y = raw::new_result({rows.size(0), weight.size(1)}, weight.dtype(), weight.device());
  run_checked(
      dispatch({{"weight", weight}}), calls::EmbeddingBag{from, rows, y},
      [](const Tensor& i, const Tensor& w) { (void)embedding(i, w); }, rows, weight);
  return record("embedding_bag", std::move(y), {weight}, [rows, shape = weight.shape()](const Tensor& g) {
    const Tensor each = g.unsqueeze(1).expand({rows.size(0), rows.size(1), shape[1]}).reshape({rows.numel(), shape[1]});
    return index_add(zeros(shape, {g.dtype(), g.device()}), 0, rows.reshape({-1}), each);
  });
}

}  // namespace

Tensor embedding_bag(const In& index, const In& weight, const Tensor& offsets, const EmbeddingBagFuncOptions& o) {
  const Operation op("embedding_bag", index.where,
                     {{"index", *index},
                      {"weight", *weight},
                      {"offsets", offsets, kOptional},
                      {"per_sample_weights", o.per_sample_weights, kOptional}});
  check(op, o);
  const std::int64_t n = weight->size(0);
  std::optional<std::int64_t> padding = o.padding_idx;
  if (padding && (*padding < -n || *padding >= n))
    throw IndexError(message(fmt::format("padding_idx must be in [{}, {}], got {}", -n, n - 1, *padding), op,
                             "pass the index of a row of weight"));
  if (padding && *padding < 0) *padding += n;

  const bool half = weight->dtype() == DType::float16 || weight->dtype() == DType::bfloat16;
  const auto whole = [&](const Tensor& t) { return half ? t.to(DType::float32) : t; };
  const Tensor places = index->to(DType::int64);
  if (offsets.defined()) check_offsets(offsets, places.numel(), op);
  Tensor starts, ends;
  const std::int64_t bags = !offsets.defined() ? places.size(0) : offsets.numel() - (o.include_last_offset ? 1 : 0);
  if (offsets.defined()) {
    starts = offsets.to(DType::int64);
    if (o.mode == BagMode::max) {
      const Tensor end = full({1}, places.numel(), {DType::int64, places.device()});
      ends = o.include_last_offset ? starts.narrow(0, 1, bags) : cat({starts, end}).narrow(0, 1, bags);
      return largest_of_bags(places, *weight, starts.narrow(0, 0, bags), ends, padding);
    }
  }
  const bool plain = !offsets.defined() && !padding && !o.per_sample_weights.defined() && o.mode != BagMode::max;
  if (plain && !half && places.numel() && op.backend().computes_on_host()) {
    const Tensor total = sums_on_host(places, *weight);
    return o.mode == BagMode::sum ? total : div(total, static_cast<double>(places.size(1)));
  }
  Tensor rows = whole(embedding(places, *weight, padding));
  if (o.per_sample_weights.defined()) rows = mul(rows, whole(o.per_sample_weights).unsqueeze(-1));
  const Tensor valid = padding ? ne(places, *padding) : Tensor();
  if (!offsets.defined()) return combined(rows, valid, o.mode).to(weight->dtype());

  // The bag of each index: how many bags have begun there, less one.  Behind the last offset is a bag more.
  const TensorOptions ints{DType::int64, places.device()};
  const Tensor begun = index_add(zeros({places.numel() + 1}, ints), 0, starts, ones({starts.numel()}, ints));
  const Tensor bag = sub(cumsum(begun, 0), 1).narrow(0, 0, places.numel());
  const std::int64_t slots = std::max<std::int64_t>(starts.numel(), 1);
  const auto added = [&](const Tensor& what) {
    Shape shape = what.shape();
    shape[0] = slots;
    return index_add(zeros(shape, {what.dtype(), what.device()}), 0, bag, what).narrow(0, 0, bags);
  };
  const Tensor total = added(valid.defined() ? where(valid.unsqueeze(1), rows, 0) : rows);
  if (o.mode == BagMode::sum) return total.to(weight->dtype());
  const TensorOptions like{rows.dtype(), rows.device()};
  const Tensor counts = added(valid.defined() ? valid.to(rows.dtype()) : ones({places.numel()}, like));
  return div(total, clamp_min(counts, 1).unsqueeze(1)).to(weight->dtype());
}

}  // namespace minnow
