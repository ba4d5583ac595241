#include <minnow/autograd/record.h>
#include <minnow/ops/arithmetic.h>
#include <minnow/ops/detail/in_place.h>
#include <minnow/tensor/backend/dispatch.h>
#include <minnow/tensor/create.h>
#include <minnow/tensor/error.h>
#include <minnow/tensor/raw/copy.h>
#include <minnow/tensor/raw/create.h>
#include <minnow/tensor/raw/elementwise.h>
#include <minnow/tensor/raw/view.h>

namespace minnow {
namespace autograd {

void require_recordable(const Tensor& self) {
  if (self.is_leaf() && self.requires_grad())
    throw AutogradError(message("a leaf that requires a gradient is written in place", {{"self", self}},
                                "update it under NoGradGuard, or use the form that returns a new tensor"));
  if (self.storage().use_count() - self.storage()->graph_references() > 1)
    throw AutogradError(
        message("memory that other tensors share is written in place while recording", {{"self", self}},
                "other views would keep the old value: give what is computed from them a line of its own, Tensor y = "
                "x(1) * 2; "
                "x(0) = y; or use the form that returns a new tensor (cat, stack or where to write a part)"));
}

void replace_value(const Tensor& self, const Tensor& value) {
  if (value.shape() != self.shape())
    throw ShapeError(message("the result " + value.shape().str() + " does not fit in place", {{"self", self}},
                             "an in-place operation keeps the shape of self"));
  if (is_floating_point(value.dtype()) && !is_floating_point(self.dtype()))
    throw DTypeError(message("the result is " + std::string(name_of(value.dtype())) + ", which self cannot hold",
                             {{"self", self}}, "use the form that returns a new tensor, or convert self first"));
  const Tensor fitted = value.to(self.dtype());
  const bool retains_grad = self.slot() && self.slot()->retains_grad;
  self.set_data(fitted);
  self.set_slot(fitted.slot());
  if (retains_grad) self.retain_grad();
}

void require_power(const Tensor& base, Scalar power) {
  if (is_floating_point(base.dtype()) || power.dtype() != DType::int64 || power.as_int() >= 0 || power.exceeds_int64())
    return;
  throw ValueError(message("the power " + std::to_string(power.as_int()) + " of integers is no integer",
                           {{"self", base}}, "convert first: .to(float32)"));
}

void written(const Tensor& self) {
  if (self.slot() && self.slot()->producer) self.slot()->produced_version = self.storage()->version();
}

}  // namespace autograd

namespace {

template <class Op> Tensor in_place(Tensor (*function)(const In&, const In&), const In& self, const In& other) {
  return autograd::in_place(
      autograd::kInPlaceName<Op>.data(), self, records(*self, *other), [&] { return function(self, other); },
      [&] { raw::binary_(raw::kBinary<Op>, self, other); });
}

/// An operation in place with a number.
Tensor beside(const char* op, Tensor (*function)(const In&, const In&), const In& self, Scalar other) {
  const CallSite site(op, self.where);
  return function(self, raw::scalar_tensor(other, *self));
}

}  // namespace

Tensor add_(const In& self, const In& other) { return in_place<kernels::Add>(add, self, other); }
Tensor add_(const In& self, const In& other, Scalar alpha) {
  const CallSite site("add_", self.where);
  return add_(self, mul(other, alpha));
}
Tensor sub_(const In& self, const In& other, Scalar alpha) {
  const CallSite site("sub_", self.where);
  return sub_(self, mul(other, alpha));
}
Tensor add_(const In& self, Scalar other) { return beside("add_", add_, self, other); }
Tensor sub_(const In& self, const In& other) { return in_place<kernels::Sub>(sub, self, other); }
Tensor sub_(const In& self, Scalar other) { return beside("sub_", sub_, self, other); }
Tensor mul_(const In& self, const In& other) { return in_place<kernels::Mul>(mul, self, other); }
Tensor mul_(const In& self, Scalar other) { return beside("mul_", mul_, self, other); }
Tensor div_(const In& self, const In& other) { return in_place<kernels::Div>(div, self, other); }
Tensor div_(const In& self, Scalar other) { return beside("div_", div_, self, other); }
Tensor floor_divide_(const In& self, const In& other) {
  return in_place<kernels::FloorDivide>(floor_divide, self, other);
}
Tensor floor_divide_(const In& self, Scalar other) { return beside("floor_divide_", floor_divide_, self, other); }
Tensor fmod_(const In& self, const In& other) { return in_place<kernels::Fmod>(fmod, self, other); }
Tensor fmod_(const In& self, Scalar other) { return beside("fmod_", fmod_, self, other); }
Tensor remainder_(const In& self, const In& other) { return in_place<kernels::Remainder>(remainder, self, other); }
Tensor remainder_(const In& self, Scalar other) { return beside("remainder_", remainder_, self, other); }
Tensor pow_(const In& self, const In& other) { return in_place<kernels::Pow>(pow, self, other); }
Tensor pow_(const In& self, Scalar other) {
  const CallSite site("pow_", self.where);
  self->require_defined("pow_", self.where);
  autograd::require_power(*self, other);
  return pow_(self, raw::scalar_tensor(other, *self));
}
Tensor maximum_(const In& self, const In& other) { return in_place<kernels::Maximum>(maximum, self, other); }
Tensor maximum_(const In& self, Scalar other) { return beside("maximum_", maximum_, self, other); }
Tensor minimum_(const In& self, const In& other) { return in_place<kernels::Minimum>(minimum, self, other); }
Tensor minimum_(const In& self, Scalar other) { return beside("minimum_", minimum_, self, other); }

Tensor copy_(const In& self, const In& source) {
  return autograd::in_place(
      "copy_", self, records(*self, *source),
      [&] { return source->to(self->device(), self->dtype(), {.copy = true}).expand(self->shape()).contiguous(); },
      [&] { raw::copy_to(*source, *self); });
}

Tensor fill_(const In& self, Scalar value) {
  return autograd::in_place(
      "fill_", self, records(*self), [&] { return full_like(self, value); }, [&] { raw::fill_(self, value); });
}

Tensor zero_(const In& self) {
  const CallSite site("zero_", self.where);
  return fill_(self, 0);
}

}  // namespace minnow
