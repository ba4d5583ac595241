#include <minnow/ops/products/attention.h>

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <limits>
#include <minnow/ops/detail/matmul.h>
#include <minnow/ops/detail/operation.h>
#include <minnow/ops/detail/softmax.h>
#include <minnow/ops/elementwise/arithmetic.h>
#include <minnow/ops/elementwise/unary.h>
#include <minnow/ops/indexing/index.h>
#include <minnow/ops/indexing/masked.h>
#include <minnow/ops/norms/softmax.h>
#include <minnow/ops/products/matmul.h>
#include <minnow/ops/random/dropout.h>
#include <minnow/ops/reductions/reduce.h>
#include <minnow/tensor/backend/tell.h>
#include <minnow/tensor/create.h>
#include <minnow/tensor/error.h>
#include <minnow/tensor/internal.h>
#include <minnow/tensor/raw/create.h>
#include <minnow/tensor/raw/view.h>

namespace minnow {
namespace {

constexpr double kNever = -std::numeric_limits<double>::infinity();

/// operands: query, key, value, mask.
void check(Operands operands, const AttentionOptions& options) {
  const Tensor &q = operands[0].tensor, &k = operands[1].tensor, &v = operands[2].tensor, &mask = operands[3].tensor;
  if (q.dim() < 2 || k.dim() < 2 || v.dim() < 2)
    throw ShapeError(message("query, key and value must have two dimensions or more", operands,
                             "[batch, heads, length, size of a head]"));
  if (!q.is_floating_point() || k.dtype() != q.dtype() || v.dtype() != q.dtype())
    throw DTypeError(
        message("query, key and value must have one floating-point dtype", operands, dtype_hint(operands)));
  if (q.size(-1) != k.size(-1)) throw ShapeError(message("query and key have vectors of different sizes", operands));
  if (k.size(-2) != v.size(-2)) throw ShapeError(message("key and value have different lengths", operands));
  if (!(options.dropout_p >= 0 && options.dropout_p <= 1))
    throw ValueError(message(fmt::format("dropout_p must be in [0, 1], got {}", options.dropout_p), operands));
  if (!mask.defined()) return;
  if (options.is_causal)
    throw ValueError(message("is_causal is a mask of its own", operands, "give one of them, or both as one mask"));
  if (mask.dtype() != DType::bool_ && mask.dtype() != q.dtype())
    throw DTypeError(message("attn_mask must be bool, or of the dtype of the query", operands,
                             "bool: true where a position takes part"));
}

/// Whether several heads of the query share one of key and value.
bool shares_heads(const Tensor& q, const Tensor& k, const Tensor& v) {
  return q.dim() > 2 && k.dim() > 2 && v.dim() > 2 && k.size(-3) == v.size(-3) && k.size(-3) > 0 &&
         q.size(-3) % k.size(-3) == 0;
}

/// What the leading dimensions of query, key and value are broadcast to; with `shared` that of the heads is the
/// query's.
Shape leading(Operands operands, bool shared) {
  Shape lead;
  for (int d = std::max({operands[0].tensor.dim(), operands[1].tensor.dim(), operands[2].tensor.dim()}); d > 2; --d) {
    std::int64_t size = 1;
    for (const Operand& o : operands.first(shared && d == 3 ? 1 : 3)) {
      const std::int64_t own = d > o.tensor.dim() ? 1 : o.tensor.size(-d);
      if (own != 1 && size != 1 && own != size)
        throw ShapeError(message("the leading dimensions differ", operands,
                                 "heads of key and value may be fewer with {.enable_gqa = true}, if they divide those "
                                 "of the query"));
      if (own != 1) size = own;
    }
    lead.push_back(size);
  }
  return lead;
}

Tensor with_leading(const Tensor& x, Shape lead, bool own_heads = false) {
  if (own_heads) lead[-1] = x.size(-3);
  lead.push_back(x.size(-2));
  lead.push_back(x.size(-1));
  return x.shape() == lead ? x : x.expand(lead);
}

/// [..., L, E] as [N, L, E].
Tensor flat(const Tensor& x) {
  if (x.dim() == 3) return x;
  const Shape lead(x.shape().span().first(static_cast<std::size_t>(x.dim() - 2)));
  return x.reshape({lead.numel(), x.size(-2), x.size(-1)});
}

/// Each head of key or value, for every head of the query that shares it.
Tensor for_heads(const Tensor& x, std::int64_t heads) {
  if (x.dim() < 3 || x.size(-3) == heads) return x;
  Shape shape = x.shape(), joined = x.shape();
  shape[-2] = heads / x.size(-3);
  shape.push_back(x.size(-1));
  shape[-2] = x.size(-2);
  joined[-3] = heads;
  return x.unsqueeze(-3).expand(shape).reshape(joined);
}

/// What is known of an attention but its operands.
struct Plan {
  Tensor mask;  ///< [1 or N, L, S], or undefined
  bool causal;
  double scale;
  std::int64_t n, rows, columns;  ///< N, L, S
};

/// A part of the matrices [N, L, S].
struct Part {
  std::int64_t n, count, row, rows, columns;
};

Tensor of_part(const Tensor& x, const Part& p, std::int64_t start, std::int64_t length) {
  return x.narrow(0, p.n, p.count).narrow(1, start, length);
}

/// query keyᵀ scale; of halves on the host in float32, but not of a row or two that would have to be converted.
Tensor scores(const Tensor& q, const Tensor& k, double scale) {
  const Tensor columns = k.transpose(1, 2);
  constexpr std::int64_t kFew = 2;
  const Backend& backend = dispatch({{"query", q}});
  if (!backend.computes_on_host() && !is_grad_enabled()) return raw::matmul(q, columns, {}, scale);
  if (!is_half(q.dtype()) || !backend.computes_on_host() || (q.size(1) <= kFew && !backend.computes_half(q.dtype())))
    return matmul(mul(q, scale), columns);
  return record("scaled_dot_product_attention", raw::matmul(q, columns, DType::float32, scale), {q, k},
                [q = Saved(q), k = Saved(k), scale](const Tensor& g, Needs) -> Gradients {
                  const Tensor grad = g.to(q().dtype()), rows = grad.transpose(1, 2);
                  if (is_grad_enabled()) return {mul(matmul(grad, k()), scale), mul(matmul(rows, q()), scale)};
                  return {raw::matmul(grad, k(), {}, scale), raw::matmul(rows, q(), {}, scale)};
                });
}

/// The softmax of rows, in a dtype that may be narrower.
Tensor softmax_of_rows(const Tensor& x, DType dtype) {
  if (x.dtype() == dtype || records(x)) return softmax(x, -1).to(dtype);
  return raw::softmax(x, -1, false, dtype);
}

/// The weights of rows, softmax(query keyᵀ scale + mask).
Tensor weights(const Tensor& q, const Tensor& k, const Plan& plan, const Part& p) {
  Tensor products = scores(q, k, plan.scale);
  if (plan.causal) {
    // Row i takes columns up to i; the first p.row + 1 columns are taken by all rows.
    const std::int64_t all = std::min(p.row + 1, p.columns);
    if (all < p.columns) {
      const TensorOptions numbers{DType::int64, q.device()};
      const Tensor blocked =
          lt(arange(p.row, p.row + p.rows, 1, numbers).unsqueeze(1), arange(all, p.columns, 1, numbers));
      const Tensor last = products.narrow(2, all, p.columns - all);
      if (!is_grad_enabled()) masked_fill_(last, blocked, kNever);
      else products = cat({products.narrow(2, 0, all), masked_fill(last, blocked, kNever)}, 2);
    }
  } else if (plan.mask.defined()) {
    Tensor mask = plan.mask.size(0) == 1 ? plan.mask : plan.mask.narrow(0, p.n, p.count);
    if (mask.size(1) != 1) mask = mask.narrow(1, p.row, p.rows);
    if (mask.dtype() != DType::bool_) return softmax_of_rows(add(products, mask), q.dtype());
    const Tensor y = softmax_of_rows(masked_fill(products, logical_not(mask), kNever), q.dtype());
    return masked_fill(y, logical_not(any(mask, {-1}, true)), 0);
  }
  return softmax_of_rows(products, q.dtype());
}

Part whole(const Plan& plan) { return {0, plan.n, 0, plan.rows, plan.columns}; }

/// Calls f(part) for parts of which each has as many weights as a cache holds; on a GPU many more, since each part
/// launches some twenty kernels.
template <class F> void for_parts(const Tensor& q, const Plan& plan, const F& f) {
  constexpr std::int64_t kFewRows = 64, kManyRows = 128;
  const std::int64_t most = std::int64_t{1} << (dispatch({{"query", q}}).computes_on_host() ? 19 : 27);
  // Keys are packed for the product with each part: many rows share it.
  const std::int64_t room = most / std::max<std::int64_t>(plan.columns, 1),
                     least = std::min(plan.rows, std::clamp(room, kFewRows, kManyRows));
  const std::int64_t rows = std::clamp(room / plan.n, least, plan.rows);
  const std::int64_t count =
      std::clamp<std::int64_t>(most / (rows * std::max<std::int64_t>(plan.columns, 1)), 1, plan.n);
  for (std::int64_t n = 0; n < plan.n; n += count)
    for (std::int64_t row = 0; row < plan.rows; row += rows) {
      const std::int64_t some = std::min(rows, plan.rows - row);
      f(Part{n, std::min(count, plan.n - n), row, some,
             plan.causal ? std::min(plan.columns, row + some) : plan.columns});
    }
}

/// out += a b, of matrices.
void add_product(const Tensor& out, const Tensor& a, const Tensor& b) {
  if (dispatch({{"out", out}}).computes_on_host()) raw::matmul_add_(out, a, b);
  else add_(out, matmul(a, b));
}

Tensor forward_in_parts(const Tensor& q, const Tensor& k, const Tensor& v, const Plan& plan) {
  const NoGradGuard guard;
  const Tensor y = empty({plan.n, plan.rows, v.size(2)}, {q.dtype(), q.device()});
  for_parts(q, plan, [&](const Part& p) {
    const Tensor w = weights(of_part(q, p, p.row, p.rows), of_part(k, p, 0, p.columns), plan, p);
    copy_(of_part(y, p, p.row, p.rows), matmul(w, of_part(v, p, 0, p.columns)));
  });
  return y;
}

Gradients gradients_in_parts(const Tensor& grad, const Tensor& q, const Tensor& k, const Tensor& v, const Plan& plan) {
  const Tensor g_q = empty_like(q), g_k = zeros_like(k), g_v = zeros_like(v);
  for_parts(q, plan, [&](const Part& p) {
    const Tensor rows = mul(of_part(q, p, p.row, p.rows), plan.scale), g = of_part(grad, p, p.row, p.rows),
                 columns = of_part(k, p, 0, p.columns);
    const Tensor w = weights(of_part(q, p, p.row, p.rows), columns, plan, p);
    add_product(of_part(g_v, p, 0, p.columns), w.transpose(1, 2), g);
    const Tensor g_w = matmul(g, of_part(v, p, 0, p.columns).transpose(1, 2));
    const Tensor slope = raw::softmax_backward(g_w, w, 2, false);
    copy_(of_part(g_q, p, p.row, p.rows), mul(matmul(slope, columns), plan.scale));
    add_product(of_part(g_k, p, 0, p.columns), slope.transpose(1, 2), rows);
  });
  return {g_q, g_k, g_v};
}

/// The same of recorded functions, for derivatives of it.
Gradients recorded_gradients(const Tensor& grad, const Tensor& q, const Tensor& k, const Tensor& v, const Plan& plan) {
  const Tensor w = weights(q, k, plan, whole(plan)), g_w = matmul(grad, v.transpose(1, 2));
  const Tensor slope = mul(w, sub(g_w, sum(mul(w, g_w), {-1}, true)));
  return {mul(matmul(slope, k), plan.scale), mul(matmul(slope.transpose(1, 2), q), plan.scale),
          matmul(w.transpose(1, 2), grad)};
}

/// x as [B, H, L, E] with adjacent elements of vectors.
Tensor with_heads(const Tensor& x) {
  const Tensor y = x.dim() == 4 ? x : flat(x).unsqueeze(0);
  return y.strides()[3] == 1 || y.size(3) == 1 ? y : y.contiguous();
}

/// The same with vectors that tensor cores can load: each begins at a multiple of 32 bytes.
Tensor for_tensor_cores(const Tensor& x) {
  constexpr std::int64_t kBytes = 32;
  // Rows that are one row, of an expanded tensor, have no distance.
  bool fits = reinterpret_cast<std::uintptr_t>(x.layout().raw_data()) % kBytes == 0 && x.strides()[2] != 0;
  for (int d = 0; d < 3; ++d)
    fits = fits && (x.size(d) == 1 || x.strides()[d] * static_cast<std::int64_t>(x.itemsize()) % kBytes == 0);
  return fits ? x : x.clone();
}

/// Whether a GPU has a kernel for it.
bool has_kernel(const Tensor& q, const Tensor& k, const Tensor& v) {
  constexpr std::int64_t kTile = 16;
  return is_half(q.dtype()) && (q.size(-1) == 64 || q.size(-1) == 128) && v.size(-1) == q.size(-1) &&
         q.size(-2) >= kTile && k.size(-2) >= kTile;
}

/// Attention in one call.
Tensor forward_at_once(const Tensor& q, const Tensor& k, const Tensor& v, const Plan& plan) {
  Backend& backend = dispatch({{"query", q}});
  const bool on_host = backend.computes_on_host();
  // The strides of the query: where the heads were made side by side, so are the results.
  const Shape shape{q.size(0), q.size(1), q.size(2), v.size(3)};
  const Tensor y =
      raw::new_result(shape, q.size(3) == 1 ? contiguous_strides(shape) : q.strides(), q.dtype(), q.device());
  const bool keeps = !on_host && (records(q, k) || records(v));
  const Tensor stats = keeps ? empty({q.size(0), q.size(1), q.size(2)}, {DType::float32, q.device()}) : Tensor();
  backend.run(calls::Attention{q, k, v, y, stats, plan.scale, plan.causal});
  return record(
      "scaled_dot_product_attention", Tensor(y), {q, k, v},
      [q = Saved(q), k = Saved(k), v = Saved(v), y = keeps ? Saved::output(y) : Saved(), stats, plan](
          const Tensor& g, Needs) -> Gradients {
        const Tensor query = q(), key = k(), value = v();
        if (is_grad_enabled()) {
          const Gradients of_flat = recorded_gradients(flat(g), flat(query), flat(key), flat(value), plan);
          return {of_flat[0].reshape(query.shape()), of_flat[1].reshape(key.shape()),
                  of_flat[2].reshape(value.shape())};
        }
        const auto like = [](const Tensor& x) {
          return raw::new_result(x.shape(), x.strides(), x.dtype(), x.device());
        };
        const Tensor g_q = like(query), g_k = like(key), g_v = like(value), out = y.defined() ? y() : Tensor();
        const Tensor grad = out.defined() ? for_tensor_cores(with_heads(g)) : with_heads(g);
        dispatch({{"query", query}})
            .run(calls::AttentionBackward{grad, query, key, value, out, stats, g_q, g_k, g_v, plan.scale, plan.causal});
        return {g_q, g_k, g_v};
      });
}

/// The mask as [1 or N, 1 or L, S].
Tensor flat_mask(const Tensor& mask, const Shape& lead, std::int64_t rows, std::int64_t columns) {
  if (!mask.defined()) return mask;
  Shape full = lead;
  full.push_back(rows);
  full.push_back(columns);
  const bool one = std::all_of(mask.shape().begin(), mask.shape().begin() + std::max(0, mask.dim() - 2),
                               [](std::int64_t size) { return size == 1; });
  if (one && mask.dim() <= full.rank()) return mask.reshape({1, rows, columns});
  return mask.expand(full).reshape({lead.numel(), rows, columns});
}

}  // namespace

namespace {

/// Of one row of a query whose heads share keys and values (a token that is generated): the heads of a group are rows
/// of one head, so that no key or value is repeated.  Undefined where that cannot be.
Tensor attention_of_groups(const BoundOperands<4>& op, const AttentionOptions& options) {
  const Tensor &q = op[0], &k = op[1], &v = op[2], &mask = op[3];
  if (q.size(-2) != 1 || q.size(-3) == k.size(-3) || options.is_causal) return {};
  if (mask.defined() && mask.dim() > 2 && mask.size(-3) != 1) return {};
  Shape shape = q.shape();
  shape[-3] = k.size(-3);
  shape[-2] = q.size(-3) / k.size(-3);
  AttentionOptions own = options;
  own.enable_gqa = false;
  const Tensor y = scaled_dot_product_attention(q.reshape(shape), k, v, mask, own);
  Shape result = y.shape();
  result[-3] = q.size(-3);
  result[-2] = 1;
  return y.reshape(result);
}

Tensor attention(const BoundOperands<4>& op, const AttentionOptions& options) {
  const Tensor& attn_mask = op[3];
  check(op, options);
  const bool shared = options.enable_gqa && shares_heads(op[0], op[1], op[2]);
  if (shared)
    if (const Tensor y = attention_of_groups(op, options); y.defined()) return y;
  const Shape lead = leading(op, shared);
  const Tensor query = with_leading(op[0], lead);
  Shape shape = query.shape();
  const std::int64_t rows = shape[-2], columns = op[1].size(-2), heads = lead.empty() ? 1 : shape[-3];
  shape[-1] = op[2].size(-1);
  const Tensor key_heads = for_heads(with_leading(op[1], lead, shared), heads),
               value_heads = for_heads(with_leading(op[2], lead, shared), heads);
  const double scale =
      options.scale.value_or(1 / std::sqrt(static_cast<double>(std::max<std::int64_t>(query.size(-1), 1))));
  Tensor mask = attn_mask, none;
  if (mask.defined()) {
    Shape full = lead;
    full.push_back(rows);
    full.push_back(columns);
    for (int d = 1; d <= mask.dim(); ++d)
      if (d > full.rank() || (mask.size(-d) != 1 && mask.size(-d) != full[-d]))
        throw ShapeError(message("the mask cannot be broadcast with " + full.str(), op,
                                 "one of padding, [N, S], is given as mask(all, newaxis, newaxis)"));
    if (mask.is_floating_point() && mask.numel()) {  // rows of -infinity alone, which softmax would make NaN
      none = eq(amax(mask.detach(), -1, true), kNever);
      mask = masked_fill(mask, none, 0);
    }
    mask = mask.expand(Shape(full.span().last(static_cast<std::size_t>(std::max(2, mask.dim())))));
    mask = flat_mask(mask, lead, rows, columns);
  }
  const Plan plan{mask, options.is_causal, scale, lead.numel(), rows, columns};
  constexpr std::int64_t kFew = 1 << 20;  // weights that are kept for backward
  const bool whole_at_once = plan.n * rows * columns <= kFew || options.dropout_p > 0 || needs_grad(mask);
  // Of shorter sequences several heads are multiplied at a time, and the threads divide the products of fewer heads.
  constexpr std::int64_t kLong = 64, kManyHeads = 8;
  if (!whole_at_once && !mask.defined() && rows >= kLong && plan.n >= kManyHeads && query.dtype() == DType::float32 &&
      shape.numel() > 0 && query.numel() > 0 && op.backend().computes_on_host())
    return forward_at_once(with_heads(query), with_heads(key_heads), with_heads(value_heads), plan).reshape(shape);
  if (!op.backend().computes_on_host() && !mask.defined() && options.dropout_p == 0 && shape.numel() > 0 &&
      has_kernel(query, key_heads, value_heads))
    return forward_at_once(for_tensor_cores(with_heads(query)), for_tensor_cores(with_heads(key_heads)),
                           for_tensor_cores(with_heads(value_heads)), plan)
        .reshape(shape);
  const Tensor q = flat(query), k = flat(key_heads), v = flat(value_heads);
  const auto result = [&](const Tensor& y) {
    return none.defined() ? masked_fill(y.reshape(shape), none, 0) : y.reshape(shape);
  };
  if (whole_at_once) {
    Tensor w = weights(q, k, plan, whole(plan));
    if (options.dropout_p > 0) w = dropout(w, {.p = options.dropout_p});
    return result(matmul(w, v));
  }
  Tensor y = forward_in_parts(q, k, v, plan);
  y = op.record(std::move(y), {q, k, v}, [q = Saved(q), k = Saved(k), v = Saved(v), plan](const Tensor& g, Needs) {
    return is_grad_enabled() ? recorded_gradients(g, q(), k(), v(), plan) : gradients_in_parts(g, q(), k(), v(), plan);
  });
  return result(y);
}

}  // namespace

Tensor scaled_dot_product_attention(const In& query, const In& key, const In& value, const Tensor& attn_mask,
                                    const AttentionOptions& options) {
  const Operation op("scaled_dot_product_attention", query.where, kLower,
                     {{"query", *query}, {"key", *key}, {"value", *value}, {"attn_mask", attn_mask, kOptional}});
  Tensor y = attention(op, options);
  if (is_heard()) [[unlikely]]
    tell("scaled_dot_product_attention", {y}, op,
         {{"is_causal", options.is_causal},
          {"scale", options.scale.value_or(0)},
          {"dropout", options.dropout_p},
          {"gqa", options.enable_gqa}});
  return y;
}

}  // namespace minnow
