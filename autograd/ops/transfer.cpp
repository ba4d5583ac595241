#include <minnow/autograd/record.h>
#include <minnow/tensor/backend/dispatch.h>
#include <minnow/tensor/error.h>
#include <minnow/tensor/ops/copy.h>
#include <minnow/tensor/ops/transfer.h>

/// The members of Tensor that copy and move: recorded, so that the gradient returns to the source's device
/// and dtype.
namespace minnow {
namespace {

/// The engine converts a gradient's dtype by itself; its device is the operation's own.
Tensor recorded(const char* name, const In& x, Tensor y) {
  if (y.is_same(*x)) return y;
  if (!is_floating(y.dtype())) return y;
  return record(name, std::move(y), {x},
                [device = x->device(), where = x.where](const Tensor& g) { return g.to(device, ToOptions{}, where); });
}

}  // namespace

Tensor Tensor::to(Device device, DType dtype, ToOptions options, SourceLocation where) const {
  require_defined("to", where);
  const In self(*this, where);
  if (device == this->device() && dtype == this->dtype()) return options.copy ? clone(where) : *this;
  const Composed scope("to");
  if (device == this->device()) return recorded("to", self, raw::cast(self, dtype));
  backend_of(device, where);
  // Converted where the data is smaller on the way, so that fewer bytes move.
  const bool convert_first = size_of(dtype) < itemsize();
  const Tensor source = convert_first ? raw::cast(self, dtype) : *this;
  const Tensor moved = raw::to_device({source, where}, device, options.non_blocking);
  return recorded("to", self, raw::cast({moved, where}, dtype));
}

Tensor Tensor::to(Device device, ToOptions options, SourceLocation where) const {
  require_defined("to", where);
  return to(device, dtype(), options, where);
}
Tensor Tensor::to(DType dtype, ToOptions options, SourceLocation where) const {
  require_defined("to", where);
  return to(device(), dtype, options, where);
}
Tensor Tensor::to(const Tensor& other, ToOptions options, SourceLocation where) const {
  require_defined("to", where);
  other.require_defined("to", where);
  return to(other.device(), other.dtype(), options, where);
}
Tensor Tensor::cpu(SourceLocation where) const {
  require_defined("cpu", where);
  return to(Device(), ToOptions{}, where);
}
Tensor Tensor::cuda(SourceLocation where) const { return cuda(current_device(DeviceType::cuda).index(), where); }
Tensor Tensor::cuda(int index, SourceLocation where) const {
  const Composed scope("cuda");
  require_defined("cuda", where);
  return to(Device(DeviceType::cuda, index), ToOptions{}, where);
}

Tensor Tensor::pin_memory(SourceLocation where) const {
  require_defined("pin_memory", where);
  return recorded("pin_memory", {*this, where}, raw::pin_memory({*this, where}));
}

Tensor Tensor::contiguous(MemoryFormat format, SourceLocation where) const {
  require_defined("contiguous", where);
  const In self(*this, where);
  note_operation("contiguous", where);
  Tensor y = raw::contiguous(self, format);
  if (y.is_same(*this) || !records(*this)) return y;
  return record("contiguous", std::move(y), {self}, [](const Tensor& g) { return g; });
}

Tensor Tensor::clone(SourceLocation where) const {
  require_defined("clone", where);
  const In self(*this, where);
  note_operation("clone", where);
  Tensor y = raw::clone(self);
  if (!records(*this)) return y;
  return record("clone", std::move(y), {self}, [](const Tensor& g) { return g; });
}

}  // namespace minnow
