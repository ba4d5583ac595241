#include <minnow/autograd/ops/in_place.h>

#include <minnow/autograd/ops/arithmetic.h>
#include <minnow/autograd/record.h>
#include <minnow/tensor/backend/dispatch.h>
#include <minnow/tensor/error.h>
#include <minnow/tensor/ops/copy.h>
#include <minnow/tensor/ops/create.h>
#include <minnow/tensor/ops/elementwise.h>
#include <minnow/tensor/ops/view.h>

namespace minnow {
namespace autograd {

void require_recordable(const char* op, const In& self) {
  if (self->is_leaf() && self->requires_grad())
    throw AutogradError(message(op, "a leaf that requires a gradient is written in place", {{"self", *self}},
                                "update it under NoGradGuard, or use the form that returns a new tensor"),
                        self.where);
  if (self->storage().use_count() - self->storage()->graph_references() > 1)
    throw AutogradError(
        message(op, "memory that other tensors share is written in place while recording", {{"self", *self}},
                "other views would keep the old value: give what is computed from them a line of its own, Tensor y = "
                "x(1) * 2; "
                "x(0) = y; or use the form that returns a new tensor (cat, stack or where to write a part)"),
        self.where);
}

void replace_value(const char* op, const In& self, const Tensor& value) {
  if (value.shape() != self->shape())
    throw ShapeError(message(op, "the result " + value.shape().str() + " does not fit in place", {{"self", *self}},
                             "an in-place operation keeps the shape of self"),
                     self.where);
  if (is_floating(value.dtype()) && !is_floating(self->dtype()))
    throw DTypeError(message(op, "the result is " + std::string(name_of(value.dtype())) + ", which self cannot hold",
                             {{"self", *self}}, "use the form that returns a new tensor, or convert self first"),
                     self.where);
  const Tensor fitted = value.to(self->dtype(), {}, self.where);
  const bool retains_grad = self->slot() && self->slot()->retains_grad;
  self->set_data(fitted);
  self->set_slot(fitted.slot());
  if (retains_grad) self->retain_grad(self.where);
}

void require_power(const char* op, const In& base, Scalar power) {
  if (is_floating(base->dtype()) || power.dtype() != DType::int64 || power.as_int() >= 0 || power.exceeds_int64())
    return;
  throw ValueError(message(op, "the power " + std::to_string(power.as_int()) + " of integers is no integer",
                           {{"self", *base}}, "convert first: .to(float32)"),
                   base.where);
}

void written(const In& self) {
  if (self->slot() && self->slot()->producer) self->slot()->produced_version = self->storage()->version();
}

}  // namespace autograd

namespace {

template <class Op> Tensor in_place(Tensor (*function)(const In&, const In&), const In& self, const In& other) {
  return autograd::in_place(
      autograd::kInPlaceName<Op>.data(), self, records(*self, *other), [&] { return function(self, other); },
      [&] { raw::binary_(raw::kBinary<Op>, self, other); });
}

}  // namespace

Tensor add_(const In& self, const In& other) { return in_place<kernels::Add>(add, self, other); }
Tensor add_(const In& self, const In& other, Scalar alpha) {
  const Composed scope("add_");
  const Tensor scaled = mul(other, alpha);
  return add_(self, {scaled, other.where});
}
Tensor sub_(const In& self, const In& other, Scalar alpha) {
  const Composed scope("sub_");
  const Tensor scaled = mul(other, alpha);
  return sub_(self, {scaled, other.where});
}
Tensor add_(const In& self, Scalar other) { return add_(self, {raw::scalar_tensor("add_", other, self), self.where}); }
Tensor sub_(const In& self, const In& other) { return in_place<kernels::Sub>(sub, self, other); }
Tensor sub_(const In& self, Scalar other) { return sub_(self, {raw::scalar_tensor("sub_", other, self), self.where}); }
Tensor mul_(const In& self, const In& other) { return in_place<kernels::Mul>(mul, self, other); }
Tensor mul_(const In& self, Scalar other) { return mul_(self, {raw::scalar_tensor("mul_", other, self), self.where}); }
Tensor div_(const In& self, const In& other) { return in_place<kernels::Div>(div, self, other); }
Tensor div_(const In& self, Scalar other) { return div_(self, {raw::scalar_tensor("div_", other, self), self.where}); }
Tensor floor_divide_(const In& self, const In& other) {
  return in_place<kernels::FloorDivide>(floor_divide, self, other);
}
Tensor floor_divide_(const In& self, Scalar other) {
  return floor_divide_(self, {raw::scalar_tensor("floor_divide_", other, self), self.where});
}
Tensor fmod_(const In& self, const In& other) { return in_place<kernels::Fmod>(fmod, self, other); }
Tensor fmod_(const In& self, Scalar other) {
  return fmod_(self, {raw::scalar_tensor("fmod_", other, self), self.where});
}
Tensor remainder_(const In& self, const In& other) { return in_place<kernels::Remainder>(remainder, self, other); }
Tensor remainder_(const In& self, Scalar other) {
  return remainder_(self, {raw::scalar_tensor("remainder_", other, self), self.where});
}
Tensor pow_(const In& self, const In& other) { return in_place<kernels::Pow>(pow, self, other); }
Tensor pow_(const In& self, Scalar other) {
  self->require_defined("pow_", self.where);
  autograd::require_power("pow_", self, other);
  return pow_(self, {raw::scalar_tensor("pow_", other, self), self.where});
}
Tensor maximum_(const In& self, const In& other) { return in_place<kernels::Maximum>(maximum, self, other); }
Tensor maximum_(const In& self, Scalar other) {
  return maximum_(self, {raw::scalar_tensor("maximum_", other, self), self.where});
}
Tensor minimum_(const In& self, const In& other) { return in_place<kernels::Minimum>(minimum, self, other); }
Tensor minimum_(const In& self, Scalar other) {
  return minimum_(self, {raw::scalar_tensor("minimum_", other, self), self.where});
}

Tensor copy_(const In& self, const In& source) {
  return autograd::in_place(
      "copy_", self, records(*self, *source),
      [&] {
        const Tensor moved = source->to(self->device(), self->dtype(), {.copy = true}, source.where);
        return moved.expand(self->shape(), source.where).contiguous(MemoryFormat::contiguous, source.where);
      },
      [&] { raw::copy_to(*source, *self, self.where); });
}

Tensor fill_(const In& self, Scalar value) {
  return autograd::in_place(
      "fill_", self, records(*self), [&] { return full_like(self, value); }, [&] { raw::fill_(self, value); });
}

Tensor zero_(const In& self) {
  const Composed scope("zero_");
  return fill_(self, 0);
}

}  // namespace minnow
