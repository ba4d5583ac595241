#include <minnow/data/detail/collate.h>

#include <cstring>
#include <minnow/data/detail/host.h>
#include <minnow/tensor/error.h>
#include <minnow/tensor/internal.h>

namespace minnow::data::detail {
namespace {

/// The batch's tensor for this field: made for the first row, checked for the others.
Tensor field_of(BatchBuffer& buffer, int field, std::int64_t row, std::int64_t rows, DType dtype, const Shape& shape,
                SourceLocation where) {
  if (row == 0) {
    Shape batch = shape;
    batch.insert(0, rows, where);
    return buffer.make(field, dtype, batch, where);
  }
  const Tensor& made = buffer.tensors()[static_cast<std::size_t>(field)];
  const std::string first = std::string(name_of(made.dtype())) + row_shape(made.shape()).str();
  const std::string lines =
      "\n  this sample  " + std::string(name_of(dtype)) + shape.str() + "\n  the first    " + first;
  if (made.dtype() != dtype)
    throw DTypeError("collate: field " + std::to_string(field) + " changes its dtype within a batch" + lines +
                         "\nconvert the samples to one dtype by a transform",
                     where);
  if (row_shape(made.shape()) != shape)
    throw ShapeError("collate: field " + std::to_string(field) + " changes its shape within a batch" + lines +
                         "\ngive the samples one shape by a transform, or use batch_size 1",
                     where);
  return made;
}

}  // namespace

void collate_field(BatchBuffer& buffer, int field, std::int64_t row, std::int64_t rows, const Tensor& value,
                   SourceLocation where) {
  if (!value.defined())
    throw ValueError("collate: field " + std::to_string(field) +
                         " is an undefined tensor\na sample needs a value in each of its fields",
                     where);
  if (!value.device().is_cpu())
    throw DeviceError("collate: samples must be on the cpu\n  field " + std::to_string(field) + "  " + describe(value) +
                          "\nlet the loader move whole batches: {.device = ...}",
                      where);
  const Tensor batch = field_of(buffer, field, row, rows, value.dtype(), value.shape(), where);
  const Tensor target(batch.storage(), batch.dtype(), value.shape(), contiguous_strides(value.shape()),
                      row * value.numel());
  copy_host(value, target);
}

void collate_number(BatchBuffer& buffer, int field, std::int64_t row, std::int64_t rows, DType dtype, const void* value,
                    SourceLocation where) {
  const Tensor batch = field_of(buffer, field, row, rows, dtype, Shape(), where);
  const std::size_t item = size_of(dtype);
  std::memcpy(static_cast<char*>(batch.raw_data()) + static_cast<std::size_t>(row) * item, value, item);
}

}  // namespace minnow::data::detail
