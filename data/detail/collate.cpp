#include <minnow/data/detail/collate.h>

#include <algorithm>
#include <cstring>
#include <exception>
#include <minnow/data/detail/host.h>
#include <minnow/tensor/error.h>
#include <minnow/tensor/internal.h>
#include <minnow/tensor/raw/copy.h>
#include <minnow/tensor/raw/transfer.h>

namespace minnow::data {
namespace {

/// "DataLoader: sample 3 could not be read", and what was thrown.
std::string failure(std::string_view loader, const char* part, std::int64_t number, const char* verb,
                    std::string_view what) {
  return std::string(loader) + ": " + part + " " + std::to_string(number) + " could not be " + verb + "\n  " +
         std::string(what) + "\nthis exception is nested in the error: std::rethrow_if_nested";
}

}  // namespace

SampleError::SampleError(std::int64_t sample, std::string_view what, SourceLocation where, std::string_view loader)
    : Error("SampleError", failure(loader, "sample", sample, "read", what), where), sample_(sample) {}

BatchError::BatchError(std::int64_t batch, std::string_view what, SourceLocation where, std::string_view loader)
    : Error("BatchError", failure(loader, "batch", batch, "made", what), where), batch_(batch) {}

}  // namespace minnow::data

namespace minnow::data::detail {
namespace {

constexpr std::string_view kNoText = "an exception that is not a std::exception";

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
                         "\ngive the samples one shape by a transform, or pad them: {.collate = data::pad_collate()}",
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

Tensor number_tensor(DType dtype, const void* value, SourceLocation where) {
  const Tensor out = host_tensor(dtype, Shape(), where);
  std::memcpy(out.raw_data(), value, size_of(dtype));
  return out;
}

void put_fields(BatchBuffer& buffer, const std::vector<Tensor>& fields, std::size_t expected, SourceLocation where) {
  if (fields.size() != expected)
    throw ValueError("collate: the function returned " + std::to_string(fields.size()) + " tensors, a sample has " +
                         std::to_string(expected) + " fields\nreturn one tensor for each field of a sample",
                     where);
  for (std::size_t k = 0; k < fields.size(); ++k) {
    const Tensor& field = fields[k];
    if (!field.defined())
      throw ValueError("collate: the function returned an undefined tensor for field " + std::to_string(k) +
                           "\nreturn a tensor for each field",
                       where);
    if (!field.device().is_cpu())
      throw DeviceError("collate: the function returned a tensor that is not on the cpu\n  field " + std::to_string(k) +
                            "  " + describe(field) + "\nlet the loader move whole batches: {.device = ...}",
                        where);
    copy_host(field, buffer.make(static_cast<int>(k), field.dtype(), field.shape(), where));
  }
}

void throw_sample_error(std::int64_t sample, SourceLocation where, std::string_view loader) {
  try {
    throw;
  } catch (const std::exception& error) {
    std::throw_with_nested(SampleError(sample, error.what(), where, loader));
  } catch (...) { std::throw_with_nested(SampleError(sample, kNoText, where, loader)); }
}

void throw_batch_error(std::int64_t batch, SourceLocation where, std::string_view loader) {
  try {
    throw;
  } catch (const std::exception& error) {
    std::throw_with_nested(BatchError(batch, error.what(), where, loader));
  } catch (...) { std::throw_with_nested(BatchError(batch, kNoText, where, loader)); }
}

void check_stream_options(std::int64_t batch_size, SourceLocation where) {
  if (batch_size < 1)
    throw ValueError(
        "StreamLoader: batch_size must be at least 1, got " + std::to_string(batch_size) + "\nit counts samples",
        where);
}

std::vector<Tensor> stream_batch(const std::vector<std::vector<Tensor>>& samples, const Collate& collate,
                                 std::size_t expected, Device device, SourceLocation where) {
  BatchBuffer buffer;
  const auto rows = static_cast<std::int64_t>(samples.size());
  if (collate) {
    put_fields(buffer, collate(samples), expected, where);
  } else {
    for (std::int64_t row = 0; row < rows; ++row)
      for (std::size_t k = 0; k < expected; ++k)
        collate_field(buffer, static_cast<int>(k), row, rows, samples[static_cast<std::size_t>(row)][k], where);
  }
  std::vector<Tensor> fields = buffer.take();
  if (!device.is_cpu())
    for (Tensor& field : fields) field = raw::to_device({field, where}, device, false, "StreamLoader");
  return fields;
}

namespace {

/// One field of all samples, padded to the longest.
Tensor pad_field(const std::vector<std::vector<Tensor>>& samples, std::size_t k, const PadOptions& options) {
  const Tensor& first = samples[0].at(k);
  Shape shape = first.shape();
  for (const auto& sample : samples) {
    const Tensor& field = sample.at(k);
    const std::string lines = "\n  this sample  " + describe(field) + "\n  the first    " + describe(first);
    if (field.dtype() != first.dtype())
      throw DTypeError("pad_collate: field " + std::to_string(k) + " changes its dtype within a batch" + lines +
                       "\nconvert the samples to one dtype by a transform");
    if (field.dim() != first.dim())
      throw ShapeError("pad_collate: field " + std::to_string(k) + " changes its rank within a batch" + lines +
                       "\ngive the samples one rank; their sizes may differ");
    for (int d = 0; d < shape.rank(); ++d) shape[d] = std::max(shape[d], field.shape()[d]);
  }
  const Shape row = shape;
  shape.insert(0, static_cast<std::int64_t>(samples.size()));
  const Tensor out = host_tensor(first.dtype(), shape, {});
  require_representable(Scalar(options.value), first.dtype());
  raw::fill_({out, {}}, options.value);
  for (std::size_t i = 0; i < samples.size(); ++i) {
    const Tensor& field = samples[i].at(k);
    std::int64_t at = static_cast<std::int64_t>(i) * row.numel();
    const Strides strides = contiguous_strides(row);
    if (options.left)
      for (int d = 0; d < row.rank(); ++d) at += (row[d] - field.shape()[d]) * strides[d];
    if (field.numel() == 0) continue;
    raw::copy_to(field, Tensor(out.storage(), out.dtype(), field.shape(), strides, at));
  }
  return out;
}

}  // namespace
}  // namespace minnow::data::detail

namespace minnow::data {

Collate pad_collate(const PadOptions& options) {
  return [options](const std::vector<std::vector<Tensor>>& samples) {
    std::vector<Tensor> fields;
    for (std::size_t k = 0; k < samples.at(0).size(); ++k) fields.push_back(detail::pad_field(samples, k, options));
    return fields;
  };
}

}  // namespace minnow::data
