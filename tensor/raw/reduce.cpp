#include <minnow/tensor/raw/reduce.h>

#include <algorithm>
#include <array>
#include <minnow/tensor/backend/dispatch.h>
#include <minnow/tensor/checked.h>
#include <minnow/tensor/create.h>
#include <minnow/tensor/error.h>
#include <minnow/tensor/raw/copy.h>
#include <minnow/tensor/raw/create.h>
#include <minnow/tensor/raw/view.h>

namespace minnow::detail::raw {
namespace {

/// A bit for each reduced dimension.
unsigned mask_of(const In& x, const Dims& dims) {
  unsigned mask = 0;
  for (const std::int64_t d : dims) {
    const unsigned bit = 1u << wrap_dim(x, d);
    if (mask & bit)
      throw ValueError(
          message("dimension " + std::to_string(d) + " is given twice", {{"self", *x}}, "give each dimension once"));
    mask |= bit;
  }
  return dims.empty() ? (1u << x->dim()) - 1 : mask;
}

/// Strides of x seen as [outer, n, inner]: kept dimensions first and last, reduced ones between them.
struct Grouping {
  const Tensor& x;
  Shape shape{1, 1, 1};
  Strides strides{0, 0, 0};

  /// Joins dimension d to a group, from outer to inner dimensions; false if its stride does not continue the group's.
  bool join(int group, int d) {
    const std::int64_t size = x.shape()[d], stride = x.strides()[d];
    if (size == 1) return true;
    if (shape[group] != 1 && strides[group] != wrapping_mul(size, stride)) return false;
    shape[group] = wrapping_mul(shape[group], size);  // without elements the product may overflow
    strides[group] = stride;
    return true;
  }
  /// Joins all dimensions in the given order; false if reduced and kept ones alternate too often.
  bool group(const int* order, unsigned mask) {
    int at = 0;
    for (int i = 0; i < x.dim(); ++i) {
      const bool reduced = mask >> order[i] & 1u;
      if (x.shape()[order[i]] == 1) continue;
      if (reduced && at == 0) at = 1;
      if (!reduced && at == 1) at = 2;
      if (reduced && at == 2) return false;
      if (!join(at, order[i])) return false;
    }
    return true;
  }
};

/// The dimensions by descending stride, an order in which most of them can be joined.  False if that would change the
/// order of the kept dimensions, which is the result's.
bool memory_order(const Tensor& x, unsigned mask, int* order) {
  for (int d = 0; d < x.dim(); ++d) order[d] = d;
  std::stable_sort(order, order + x.dim(), [&](int a, int b) { return x.strides()[a] > x.strides()[b]; });
  int last = -1;
  for (int i = 0; i < x.dim(); ++i) {
    if (mask >> order[i] & 1u || x.shape()[order[i]] == 1) continue;
    if (order[i] < last) return false;
    last = order[i];
  }
  return true;
}

/// A copy of x as [outer, n, 1].
Tensor grouped_copy(const In& x, unsigned mask) {
  Shape kept_first;
  std::int64_t outer = 1, n = 1;
  for (int d = 0; d < x->dim(); ++d)
    if (!(mask >> d & 1u)) {
      kept_first.push_back(d);
      outer = wrapping_mul(outer, x->shape()[d]);
    }
  for (int d = 0; d < x->dim(); ++d)
    if (mask >> d & 1u) {
      kept_first.push_back(d);
      n = wrapping_mul(n, x->shape()[d]);
    }
  const Tensor permuted = contiguous(permute(x, kept_first));
  return alias(permuted, {outer, n, 1}, {n, 1, 1}, permuted.storage_offset());
}

/// x as [outer, n, inner] without a copy, with the dimensions in their order or (any_order) in that of memory;
/// undefined if the strides do not allow it.
Tensor group_view(const In& x, unsigned mask, bool any_order) {
  int order[kMaxRank];
  for (int d = 0; d < x->dim(); ++d) order[d] = d;
  Grouping g{*x};
  if (g.group(order, mask)) return alias(x, g.shape, g.strides, x->storage_offset());
  if (!any_order || !memory_order(*x, mask, order)) return {};
  Grouping by_memory{*x};
  if (!by_memory.group(order, mask)) return {};
  return alias(x, by_memory.shape, by_memory.strides, x->storage_offset());
}

Shape shape_after(const Shape& shape, unsigned mask, bool keepdim) {
  Shape out;
  for (int d = 0; d < shape.rank(); ++d) {
    if (!(mask >> d & 1u)) out.push_back(shape[d]);
    else if (keepdim) out.push_back(1);
  }
  return out;
}

struct OpInfo {
  std::string_view name;
  kernels::ReduceKind kind;
};

template <class... Ops> constexpr auto infos(kernels::List<Ops...>) {
  return std::array<OpInfo, sizeof...(Ops)>{OpInfo{Ops::kName, Ops::kKind}...};
}
constexpr auto kInfo = infos(kernels::ReduceOps{});

/// Whether the result is one of the elements, so that there must be one.
bool selects_element(int op) { return op == kReduce<kernels::Max> || op == kReduce<kernels::Min>; }

DType result_dtype(int op, const OpInfo& info, const In& x) {
  const DType dtype = x->dtype();
  if (info.kind == kernels::ReduceKind::kPredicate) return DType::bool_;
  if (info.kind == kernels::ReduceKind::kNumeric)
    return is_integral(dtype) && !selects_element(op) ? DType::int64 : dtype;
  if (is_integral(dtype))
    throw DTypeError(message("needs a floating-point tensor", {{"self", *x}}, "convert first: .to(float32)"));
  return dtype;
}

void require_elements(const In& x, std::int64_t n) {
  if (n == 0)
    throw ShapeError(message("a dimension without elements has no largest or smallest one", {{"self", *x}},
                             "reduce over a dimension that has elements"));
}

}  // namespace

Shape reduced_shape(const In& x, const Dims& dims, bool keepdim) {
  return shape_after(x->shape(), mask_of(x, dims), keepdim);
}

std::int64_t reduced_count(const In& x, const Dims& dims) {
  const unsigned mask = mask_of(x, dims);
  std::int64_t n = 1;
  for (int d = 0; d < x->dim(); ++d)
    if (mask >> d & 1u) n = wrapping_mul(n, x->shape()[d]);
  return n;
}

namespace {

/// A reduction in two stages: the operation that reduces the elements, and the one that reduces the partial results.
struct Stages {
  int first, second;
  DType between;  ///< of the partial results: wide enough to lose nothing
};

/// False if the operation cannot be done in stages.
bool stages_of(int op, DType in, DType out, Stages& stages) {
  using namespace kernels;
  const bool then_sum = op == kReduce<Norm0> || op == kReduce<NanSum>;
  stages = {op, then_sum ? kReduce<Sum> : op, is_floating_point(in) ? DType::float64 : out};
  return op != kReduce<NormP>;
}

/// The reduced dimensions that are innermost in memory, which the first stage reduces.
unsigned innermost_reduced(const Tensor& x, unsigned mask) {
  int order[kMaxRank];
  for (int d = 0; d < x.dim(); ++d) order[d] = d;
  std::stable_sort(order, order + x.dim(), [&](int a, int b) { return x.strides()[a] > x.strides()[b]; });
  unsigned found = 0;
  for (int i = x.dim() - 1; i >= 0; --i) {
    if (x.shape()[order[i]] == 1) continue;
    const bool reduced = mask >> order[i] & 1u;
    if (!reduced && found) break;
    if (reduced) found |= 1u << order[i];
  }
  return found;
}

void run(Backend& backend, int op, double p, const Tensor& in, const In& out) {
  const Shape shape{in.size(0), in.size(2)};
  backend.run(calls::Reduce{op, in, View(out->storage(), out->dtype(), shape, contiguous_strides(shape)), p});
}

/// For reduced and kept dimensions that alternate (sums over all but the channels of NCHW): reduces one group of
/// adjacent dimensions after the other instead of copying x.  On the CPU and sim only; returns false if it would not be
/// faster.
bool reduce_in_stages(Backend& backend, int op, const In& x, unsigned mask, double p, const Tensor& out) {
  constexpr std::int64_t kMinFirstStage = 8;  // elements that the first stage must reduce to one, to pay
  const unsigned inner = innermost_reduced(*x, mask), outer = mask & ~inner;
  Stages stages;
  std::int64_t n = 1;
  for (int d = 0; d < x->dim(); ++d)
    if (inner >> d & 1u) n = saturating_mul(n, x->shape()[d]);
  if (!backend.computes_on_host() || !outer || n < kMinFirstStage || !stages_of(op, x->dtype(), out.dtype(), stages))
    return false;
  const Tensor in = group_view(x, inner, true);
  if (!in.defined()) return false;
  const Tensor parts = empty(shape_after(x->shape(), inner, true), {stages.between, x->device()});
  const Tensor joined = group_view(parts, outer, true);
  if (!joined.defined()) return false;
  run(backend, stages.first, p, in, parts);
  run(backend, stages.second, p, joined, out);
  return true;
}

}  // namespace

Tensor reduce(int op, const In& x, const Dims& dims, bool keepdim, double p) {
  const CallSite site(kInfo[static_cast<std::size_t>(op)].name.data(), x.where);
  return reduce(dispatch({{"self", *x}}), op, x, dims, keepdim, p);
}

/// Where the dimensions that are kept are in another order in memory, they are reduced in that, and the result is
/// transposed: it is smaller.
Tensor reduce(Backend& backend, int op, const In& x, const Dims& dims, bool keepdim, double p) {
  const OpInfo& info = kInfo[static_cast<std::size_t>(op)];
  const DType dtype = result_dtype(op, info, x);
  const unsigned mask = mask_of(x, dims);
  const Tensor out = new_result(backend, shape_after(x->shape(), mask, keepdim), dtype, x->device());
  if (!out.numel()) return out;
  if (selects_element(op)) require_elements(x, reduced_count(x, dims));
  const Tensor seen = group_view(x, mask, true);
  if (seen.defined()) {
    run(backend, op, p, seen, out);
  } else if (int order[kMaxRank]; !memory_order(*x, mask, order)) {
    Shape permutation, inverse = x->shape();
    Shape reduced;
    for (int i = 0; i < x->dim(); ++i) {
      permutation.push_back(order[i]);
      inverse[order[i]] = i;
      if (mask >> order[i] & 1u) reduced.push_back(i);
    }
    const Shape kept = shape_after(x->shape(), mask, true);
    copy_to(permute(reduce(backend, op, permute(x, permutation), reduced, true, p), inverse),
            alias(out, kept, contiguous_strides(kept), 0));
  } else if (!reduce_in_stages(backend, op, x, mask, p, out)) {
    run(backend, op, p, grouped_copy(x, mask), out);
  }
  return out;
}

ValuesIndices arg_reduce(bool largest, const In& x, int dim, bool keepdim) {
  const CallSite site(largest ? "max" : "min", x.where);
  Backend& backend = dispatch({{"self", *x}});
  const unsigned mask = x->dim() ? 1u << wrap_dim(x, dim) : (wrap_dim(x, dim), 0u);
  const Shape shape = shape_after(x->shape(), mask, keepdim);
  const ValuesIndices out{new_result(shape, x->dtype(), x->device()), new_result(shape, DType::int64, x->device())};
  if (!out.values.numel()) return out;
  require_elements(x, x->dim() ? x->shape()[wrap_dim(x, dim)] : 1);
  const Tensor seen = group_view(x, mask, false), in = seen.defined() ? seen : grouped_copy(x, mask);
  const auto flat = [&](const Tensor& t) {
    return View(t.storage(), t.dtype(), {in.size(0), in.size(2)}, {in.size(2), 1});
  };
  backend.run(calls::ArgReduce{in, flat(out.values), flat(out.indices), largest});
  return out;
}

}  // namespace minnow::detail::raw
