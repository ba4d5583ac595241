#include <minnow/tensor/tensor.h>

#include <minnow/tensor/error.h>
#include <minnow/tensor/profile/observers.h>
#include <minnow/tensor/runtime/capture_rules.h>

namespace minnow {

Tensor::Tensor(std::shared_ptr<Storage> storage, DType dtype, const Shape& shape, const Strides& strides,
               std::int64_t offset)
    : impl_(std::make_shared<detail::TensorImpl>(std::move(storage), dtype, shape, strides, offset)) {}

void Tensor::throw_undefined(const char* op, SourceLocation where) {
  throw ValueError(std::string(CallSite::op_or(op)) +
                       ": the tensor is undefined\n  self  undefined tensor\n"
                       "it was default-constructed, moved from, or is a gradient that was never computed",
                   where);
}

namespace {

int checked_dim(const Tensor& t, const char* op, int dim, SourceLocation where) {
  t.require_defined(op, where);
  const int rank = t.dim();
  if (dim < -rank || dim >= rank)
    throw IndexError(std::string(CallSite::op_or(op)) + ": dimension " + std::to_string(dim) +
                         " is out of range\n  self  " + describe(t) + "\ndimensions go from " + std::to_string(-rank) +
                         " to " + std::to_string(rank - 1),
                     where);
  return dim < 0 ? dim + rank : dim;
}

}  // namespace

std::int64_t Tensor::size(int dim, SourceLocation where) const {
  dim = checked_dim(*this, "size", dim, where);
  return shape()[dim];
}

std::int64_t Tensor::stride(int dim, SourceLocation where) const {
  dim = checked_dim(*this, "stride", dim, where);
  return strides()[dim];
}

bool Tensor::is_contiguous(MemoryFormat format, SourceLocation where) const {
  require_defined("is_contiguous", where);
  return layout().is_contiguous(format);
}

const std::string& Tensor::name(SourceLocation where) const {
  require_defined("name", where);
  static const auto* none = new std::string();  // never destroyed: global tensors may be destroyed last
  return impl()->name ? *impl()->name : *none;
}

void Tensor::set_name(std::string name, SourceLocation where) {
  require_defined("set_name", where);
  impl_->name = std::make_shared<const std::string>(std::move(name));
}

void* Tensor::host_data(DType expected, SourceLocation where) const {
  require_defined("data", where);
  if (!device().is_cpu())
    throw DeviceError("data: the host cannot read memory of " + device().str() + "\n  self  " + describe(*this) +
                          "\ncopy it first: .cpu()",
                      where);
  if (expected != dtype())
    throw DTypeError("data: elements are not " + std::string(name_of(expected)) + "\n  self  " + describe(*this) +
                         "\nuse the C++ type of the dtype, or convert first: .to(...)",
                     where);
  CaptureRules::forbid_access("data", device(), where);
  if (detail::calling_thread.observer) [[unlikely]]
    detail::calling_thread.observer->read("data", *this);
  storage()->wait_ready();
  storage()->forget_prepared();
  return raw_data();
}

void Tensor::require_contiguous(const char* op, SourceLocation where) const {
  require_defined(op, where);
  if (!is_contiguous())
    throw ShapeError(std::string(op) + ": the elements are not contiguous\n  self  " + describe(*this) +
                         " with strides " + strides().str() + "\ncall .contiguous() first",
                     where);
}

void Tensor::set_data(const Tensor& other, SourceLocation where) const {
  require_defined("set_data", where);
  other.require_defined("set_data", where);
  View& mine = impl()->view;
  if (!mine.is_same(other)) mine.storage()->note_rebinding();
  mine = other;
}

std::string describe(const View& view) {
  if (!view.defined()) return "undefined tensor";
  return std::string(name_of(view.dtype())) + view.shape().str() + " on " + view.device().str();
}

std::string describe(const Tensor& tensor) {
  std::string text = describe(tensor.layout());
  if (tensor.defined() && !tensor.name().empty()) text += "   parameter '" + tensor.name() + "'";
  return text;
}

}  // namespace minnow
