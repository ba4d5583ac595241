#include <minnow/tensor/raw/elementwise.h>

#include <array>
#include <minnow/tensor/backend/dispatch.h>
#include <minnow/tensor/create.h>
#include <minnow/tensor/error.h>
#include <minnow/tensor/raw/copy.h>
#include <minnow/tensor/raw/create.h>
#include <minnow/tensor/raw/view.h>

namespace minnow::detail::raw {
namespace {

using kernels::compute_type;
using kernels::Kind;

/// What the checks need to know about an operation whose index is known only at run time.
struct OpInfo {
  std::string_view name;
  Kind kind;
  bool takes_bool;
  bool divides = false;  // an integer divisor may be 0
};

template <class Op> constexpr OpInfo info_of() {
  OpInfo info{Op::kName, Op::kKind, Op::kTakesBool};
  if constexpr (requires { Op::kDivides; }) info.divides = Op::kDivides;
  return info;
}

template <class... Ops> constexpr auto infos(kernels::List<Ops...>) {
  return std::array<OpInfo, sizeof...(Ops)>{info_of<Ops>()...};
}

constexpr auto kUnaryInfo = infos(kernels::UnaryOps{});
constexpr auto kBinaryInfo = infos(kernels::BinaryOps{});
constexpr auto kTernaryInfo = infos(kernels::TernaryOps{});

const OpInfo& unary_info(int op) { return kUnaryInfo[static_cast<std::size_t>(op)]; }
const OpInfo& binary_info(int op) { return kBinaryInfo[static_cast<std::size_t>(op)]; }

constexpr const char* kConvertBool = "convert first: .to(int64), or use the functions of logic";

DType unary_result(const OpInfo& info, const In& x) {
  const DType dtype = x->dtype();
  if (info.kind == Kind::kPredicate) return DType::bool_;
  if (info.kind == Kind::kIntegral && !is_integral(dtype))
    throw DTypeError(message("needs integers or bool", {{"self", *x}}, "convert first: .to(int64)"));
  if (info.kind == Kind::kFloating && is_integral(dtype)) return DType::float32;
  if (dtype == DType::bool_ && !info.takes_bool)
    throw DTypeError(message("bool has no arithmetic", {{"self", *x}}, kConvertBool));
  return dtype;
}

/// The category of a dtype in promotion: bool < integer < floating-point.
int category(DType d) { return d == DType::bool_ ? 0 : is_integral(d) ? 1 : 2; }

/// x broadcast to `shape`, which must be possible.
View broadcast(const View& x, const Shape& shape) {
  if (x.shape() == shape) return x;
  Strides strides = Shape::filled(shape.rank(), 0);
  for (int d = 1; d <= x.dim(); ++d)
    if (x.shape()[-d] == shape[-d]) strides[-d] = x.strides()[-d];
  return View(x.storage(), x.dtype(), shape, strides, x.storage_offset());
}

/// A dense result, in the order of dimensions of the first operand that has the result's shape.
Tensor allocate_like(Backend& backend, const Shape& shape, DType dtype, Device device,
                     std::initializer_list<const Tensor*> operands) {
  for (const Tensor* t : operands) {
    if (t->shape() != shape) continue;
    if (t->is_contiguous()) break;
    return new_result(backend, shape, t->strides(), dtype, device);
  }
  return new_result(backend, shape, dtype, device);
}

Device device_of(const Tensor& a, const Tensor& b) { return a.device().is_cpu() ? b.device() : a.device(); }

void require_same_shape_target(const In& out, const Shape& shape) {
  if (out->shape() != shape)
    throw ShapeError(message("the result " + shape.str() + " does not fit in place", {{"self", *out}},
                             "an in-place operation keeps the shape of self"));
}

void require_castable(const In& out, DType result) {
  if (category(result) > category(out->dtype()))
    throw DTypeError(message("the result is " + std::string(name_of(result)) + ", which self cannot hold",
                             {{"self", *out}}, "use the form that returns a new tensor, or convert self first"));
}

/// ValueError if an integer is divided by zero.
void run_binary(Backend& backend, const calls::Binary& call, const In& a, const In& b) {
  if (!binary_info(call.op).divides) return static_cast<void>(backend.run(call));
  run_checked(
      backend, call,
      [](const Tensor& left, const Tensor& right) {
        throw ValueError(message("an integer was divided by zero", {{"a", left}, {"b", right}},
                                 "check the divisor, or divide floating-point tensors"));
      },
      *a, *b);
}

DType binary_compute(const OpInfo& info, const In& a, const In& b, DType& result) {
  const DType promoted = result_type(*a, *b);
  result = info.kind == Kind::kPredicate                           ? DType::bool_
           : info.kind == Kind::kFloating && is_integral(promoted) ? DType::float32
                                                                   : promoted;
  if (info.kind == Kind::kIntegral && !is_integral(promoted))
    throw DTypeError(message("needs integers or bool", {{"a", *a}, {"b", *b}}, "convert first: .to(int64)"));
  if (result == DType::bool_ && !info.takes_bool)
    throw DTypeError(message("bool has no arithmetic", {{"a", *a}, {"b", *b}}, kConvertBool));
  return compute_type(info.kind == Kind::kPredicate ? promoted : result);
}

/// result_type() of three.
DType type_of(const Tensor& a, const Tensor& b, const Tensor& c) {
  DType dimensioned = DType::bool_, zero_dim = DType::bool_;
  bool has_dims = false;
  for (const Tensor* x : {&a, &b, &c}) {
    DType& of_rank = x->dim() == 0 ? zero_dim : dimensioned;
    of_rank = promote_types(of_rank, x->dtype());
    has_dims = has_dims || x->dim() != 0;
  }
  return !has_dims || category(zero_dim) > category(dimensioned) ? promote_types(zero_dim, dimensioned) : dimensioned;
}

}  // namespace

DType result_type(const Tensor& a, const Tensor& b) {
  if (a.dtype() == b.dtype()) return a.dtype();
  const bool a_zero = a.dim() == 0, b_zero = b.dim() == 0;
  if (a_zero == b_zero) return promote_types(a.dtype(), b.dtype());
  const DType dimensioned = a_zero ? b.dtype() : a.dtype(), zero_dim = a_zero ? a.dtype() : b.dtype();
  return category(zero_dim) > category(dimensioned) ? zero_dim : dimensioned;
}

DType scalar_type(const Tensor& x, Scalar value) {
  return category(value.dtype()) > category(x.dtype()) ? value.dtype() : x.dtype();
}

Tensor scalar_tensor(Scalar value, const Tensor& x) {
  const DType dtype = x.defined() ? scalar_type(x, value) : value.dtype();
  if (value.exceeds_int64()) require_representable(value, dtype);
  return scalar_tensor(value, dtype);
}

Shape broadcast_shape(const In& a, const In& b, const char* name_a, const char* name_b) {
  if (a->shape() == b->shape()) return a->shape();
  const int rank = std::max(a->dim(), b->dim());
  Shape shape = Shape::filled(rank, 1);
  for (int d = 1; d <= rank; ++d) {
    const std::int64_t m = d <= a->dim() ? a->shape()[-d] : 1, n = d <= b->dim() ? b->shape()[-d] : 1;
    if (m != n && m != 1 && n != 1)
      throw ShapeError(message("shapes cannot be broadcast together", {{name_a, *a}, {name_b, *b}},
                               "sizes must be equal or 1, counted from the last dimension; they differ in dimension " +
                                   std::to_string(rank - d)));
    shape[-d] = m == 1 ? n : m;
  }
  return shape;
}

namespace {

/// x -> out in place or not, of checked dtypes.
void run_unary(Backend& backend, int op, const View& x, const View& out, DType result, double p0, double p1) {
  if (op == kUnary<kernels::BitwiseNot> && result == DType::bool_) op = kUnary<kernels::LogicalNot>;
  const DType compute = compute_type(is_floating_point(result) ? result : x.dtype());
  if (out.numel()) backend.run(calls::Unary{op, compute, x, out, p0, p1});
}

}  // namespace

Tensor unary(int op, const In& x, double p0, double p1) { return unary(dispatch({{"self", *x}}), op, x, p0, p1); }

Tensor unary(Backend& backend, int op, const In& x, double p0, double p1) {
  const OpInfo& info = unary_info(op);
  const DType result = unary_result(info, x);
  const Tensor out = allocate_like(backend, x->shape(), result, x->device(), {&*x});
  run_unary(backend, op, *x, out, result, p0, p1);
  return out;
}

void unary_(int op, const In& x, double p0, double p1) {
  const OpInfo& info = unary_info(op);
  Backend& backend = dispatch({{"self", *x}});
  const DType result = unary_result(info, x);
  require_castable(x, result);
  require_writable(x);
  run_unary(backend, op, *x, *x, result, p0, p1);
  x->storage()->bump_version();
}

Tensor unary_slope(int op, const In& grad, const In& saved, double p0, double p1) {
  Backend& backend = dispatch({{"grad", *grad}, {"saved", *saved}});
  const Tensor g = expand(grad, saved->shape());
  const Tensor out = allocate_like(backend, saved->shape(), g.dtype(), g.device(), {&*saved});
  if (!out.numel()) return out;
  backend.run(calls::UnarySlope{op, g, *saved, out, p0, p1});
  return out;
}

Tensor binary(int op, const In& a, const In& b) {
  return binary(dispatch({{"a", *a}, {"b", *b}}, HostScalars::allowed), op, a, b);
}

Tensor binary(Backend& backend, int op, const In& a, const In& b) {
  const OpInfo& info = binary_info(op);
  DType result;
  const DType compute = binary_compute(info, a, b, result);
  if (a->shape() == b->shape() && a->is_contiguous() && b->is_contiguous()) {
    const Tensor out = new_result(backend, a->shape(), result, device_of(*a, *b));
    if (out.numel()) run_binary(backend, {op, compute, *a, *b, out}, a, b);
    return out;
  }
  const Shape shape = broadcast_shape(a, b);
  const Tensor out = allocate_like(backend, shape, result, device_of(*a, *b), {&*a, &*b});
  if (out.numel()) run_binary(backend, {op, compute, broadcast(*a, shape), broadcast(*b, shape), out}, a, b);
  return out;
}

void binary_(int op, const In& a, const In& b) {
  const OpInfo& info = binary_info(op);
  Backend& backend = dispatch({{"self", *a}, {"other", *b}}, HostScalars::allowed);
  DType result;
  const DType compute = binary_compute(info, a, b, result);
  require_same_shape_target(a, broadcast_shape(a, b, "self", "other"));
  require_castable(a, result);
  require_writable(a);
  if (a->device() != b->device() && a->device().is_cpu())
    throw DeviceError(message("self is on the CPU, other is not", {{"self", *a}, {"other", *b}},
                              "the result is written to self: move the other one first, other.cpu()"));
  const View other = broadcast(overlaps(*a, *b) ? clone(b) : *b, a->shape());
  if (info.divides && compute == DType::int64 && backend.computes_on_host() && a->numel()) {
    // The loop may find a divisor 0 halfway: self is written only after all of the result is computed.
    const Tensor whole = new_result(a->shape(), a->strides(), a->dtype(), a->device());
    run_binary(backend, {op, compute, *a, other, whole}, a, b);
    backend.run(calls::Copy{whole, *a});
  } else if (a->numel()) {
    run_binary(backend, {op, compute, *a, other, *a}, a, b);
  }
  a->storage()->bump_version();
}

Tensor ternary(int op, const In& a, const In& b, const In& c, double p, const char* name_c) {
  return ternary(dispatch({{"a", *a}, {"b", *b}, {name_c, *c}}, HostScalars::allowed), op, a, b, c, p, name_c);
}

Tensor ternary(Backend& backend, int op, const In& a, const In& b, const In& c, double p, const char* name_c) {
  const OpInfo& info = kTernaryInfo[static_cast<std::size_t>(op)];
  const DType promoted = type_of(*a, *b, *c);
  const DType result = info.kind == Kind::kFloating && is_integral(promoted) ? DType::float32 : promoted;
  const Shape ab = broadcast_shape(a, b);
  const Shape shape = ab == c->shape() ? ab : broadcast_shape(expand(a, ab), c, "a", name_c);
  const Device device = a->device().is_cpu() ? device_of(*b, *c) : a->device();
  const Tensor out = allocate_like(backend, shape, result, device, {&*a, &*b, &*c});
  if (out.numel())
    backend.run(calls::Ternary{op, compute_type(result), broadcast(*a, shape), broadcast(*b, shape),
                               broadcast(*c, shape), out, p});
  return out;
}

Tensor where(const In& condition, const In& a, const In& b) {
  return where(dispatch({{"condition", *condition}, {"a", *a}, {"b", *b}}, HostScalars::allowed), condition, a, b);
}

Tensor where(Backend& backend, const In& condition, const In& a, const In& b) {
  if (condition->dtype() != DType::bool_)
    throw DTypeError(message("the condition is not bool", {{"condition", *condition}, {"a", *a}, {"b", *b}},
                             "compare first, e.g. x > 0"));
  const DType result = result_type(*a, *b);
  const Shape ab = broadcast_shape(a, b);
  const Shape shape = ab == condition->shape() ? ab : broadcast_shape(condition, expand(a, ab), "condition", "a");
  const Device device = condition->device().is_cpu() ? device_of(*a, *b) : condition->device();
  const Tensor out = allocate_like(backend, shape, result, device, {&*a, &*b, &*condition});
  if (out.numel())
    backend.run(calls::Ternary{kTernary<kernels::Where>, compute_type(result), broadcast(*condition, shape),
                               broadcast(*a, shape), broadcast(*b, shape), out});
  return out;
}

}  // namespace minnow::detail::raw
