#include <minnow/autograd/record.h>
#include <minnow/ops/detail/in_place.h>
#include <minnow/ops/elementwise/arithmetic.h>
#include <minnow/tensor/backend/dispatch.h>
#include <minnow/tensor/backend/tell.h>
#include <minnow/tensor/create.h>
#include <minnow/tensor/error.h>
#include <minnow/tensor/raw/copy.h>
#include <minnow/tensor/raw/create.h>
#include <minnow/tensor/raw/elementwise.h>
#include <minnow/tensor/raw/view.h>

namespace minnow {
namespace detail {

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

void require_power(const char* name, const Tensor& base, Scalar power) {
  if (is_floating_point(base.dtype()) || power.dtype() != DType::int64 || power.as_int() >= 0 || power.exceeds_int64())
    return;
  throw ValueError(message("the power " + std::to_string(power.as_int()) + " of an integer is not an integer",
                           {{name, base}}, "convert first: .to(float32)"));
}

void mark_written(const Tensor& self) {
  if (self.slot() && self.slot()->producer) self.slot()->produced_version = self.storage()->version();
}

}  // namespace detail

Tensor copy_(const In& self, const In& source) {
  return detail::in_place(
      "copy_", self, records(*self, *source),
      [&] { return source->to(self->device(), self->dtype(), {.copy = true}).expand(self->shape()).contiguous(); },
      [&] {
        raw::copy_to(*source, *self);
        if (is_heard()) [[unlikely]]
          tell("copy_", {*self}, {{"self", *self}, {"source", *source}});
      });
}

Tensor fill_(const In& self, Scalar value) {
  return detail::in_place(
      "fill_", self, records(*self), [&] { return full_like(self, value); },
      [&] {
        raw::fill_(self, value);
        if (is_heard()) [[unlikely]]
          tell("fill_", {*self}, {{"self", *self}}, {{"value", value.as_double()}});
      });
}

Tensor zero_(const In& self) {
  const CallSite site("zero_", self.where);
  return fill_(self, 0);
}

}  // namespace minnow
