#include <minnow/autograd/record.h>
#include <minnow/tensor/backend/dispatch.h>
#include <minnow/tensor/backend/tell.h>
#include <minnow/tensor/error.h>
#include <minnow/tensor/raw/copy.h>
#include <minnow/tensor/raw/transfer.h>

// The members of Tensor that copy to another dtype, device or layout, recorded.
namespace minnow {
namespace {

/// The gradient returns to x's device; the engine converts its dtype.
Tensor record_copy(const char* name, const Tensor& x, Tensor y) {
  if (is_heard()) [[unlikely]]
    tell(name, {y}, {{"self", x}});
  if (y.is_same(x) || !is_floating_point(y.dtype())) return y;
  return record(name, std::move(y), {x}, [device = x.device()](const Tensor& g) { return g.to(device); });
}

}  // namespace

Tensor Tensor::to(Device device, DType dtype, ToOptions options, SourceLocation where) const {
  const CallSite site("to", where);
  require_defined();
  if (device == this->device() && dtype == this->dtype()) return options.copy ? clone() : *this;
  if (device == this->device()) return record_copy("to", *this, raw::cast(*this, dtype));
  backend_of(device);
  // Convert before the transfer if that makes it smaller, otherwise after it.
  const bool convert_first = size_of(dtype) < itemsize();
  const Tensor source = convert_first ? raw::cast(*this, dtype) : *this;
  const Tensor moved = raw::to_device(source, device, options.non_blocking);
  return record_copy("to", *this, raw::cast(moved, dtype));
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
  const CallSite site("to", where);
  require_defined();
  other.require_defined();
  return to(other.device(), other.dtype(), options);
}
Tensor Tensor::cpu(SourceLocation where) const {
  const CallSite site("cpu", where);
  return to(Device());
}
Tensor Tensor::cuda(SourceLocation where) const { return cuda(current_device(DeviceType::cuda).index(), where); }
Tensor Tensor::cuda(int index, SourceLocation where) const {
  const CallSite site("cuda", where);
  require_defined();
  return to(Device(DeviceType::cuda, index));
}

Tensor Tensor::pin_memory(SourceLocation where) const {
  const CallSite site("pin_memory", where);
  return record_copy("pin_memory", *this, raw::pin_memory(*this));
}

Tensor Tensor::contiguous(MemoryFormat format, SourceLocation where) const {
  const CallSite site("contiguous", where);
  Tensor y = raw::contiguous(*this, format);
  if (is_heard()) [[unlikely]]
    tell("contiguous", {y}, {{"self", *this}});
  if (y.is_same(*this) || !records(*this)) return y;
  return record("contiguous", std::move(y), {*this}, [](const Tensor& g) { return g; });
}

Tensor Tensor::clone(SourceLocation where) const {
  const CallSite site("clone", where);
  Tensor y = raw::clone(*this);
  if (is_heard()) [[unlikely]]
    tell("clone", {y}, {{"self", *this}});
  if (!records(*this)) return y;
  return record("clone", std::move(y), {*this}, [](const Tensor& g) { return g; });
}

}  // namespace minnow
