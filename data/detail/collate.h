#pragma once

#include <cstdint>
#include <vector>
#include <minnow/data/batch.h>
#include <minnow/data/detail/fields.h>
#include <minnow/data/loader_options.h>

namespace minnow::data::detail {

/// Writes field `field` of sample `row` of `rows` into the batch; the first row decides dtype and shape.
/// ShapeError, DTypeError or DeviceError when another row differs.
void collate_field(BatchBuffer& buffer, int field, std::int64_t row, std::int64_t rows, const Tensor& value,
                   SourceLocation where);
/// The same for a number of this dtype; the batch's field is [rows].
void collate_number(BatchBuffer& buffer, int field, std::int64_t row, std::int64_t rows, DType dtype, const void* value,
                    SourceLocation where);

/// Writes all fields of one sample.
template <class Sample>
void collate(BatchBuffer& buffer, std::int64_t row, std::int64_t rows, const Sample& sample, SourceLocation where) {
  int field = 0;
  const auto collate_one = [&](const auto& value) {
    using T = std::remove_cvref_t<decltype(value)>;
    if constexpr (std::is_base_of_v<Tensor, T>) {
      collate_field(buffer, field++, row, rows, value, where);
    } else {
      collate_number(buffer, field++, row, rows, dtype_of<T>(), &value, where);
    }
  };
  std::apply([&](const auto&... value) { (collate_one(value), ...); }, tie_fields(sample));
}

/// A 0-dim tensor of a number.
Tensor number_tensor(DType dtype, const void* value, SourceLocation where);

/// The fields of a sample as tensors.
template <class Sample> std::vector<Tensor> field_tensors(const Sample& sample, SourceLocation where) {
  std::vector<Tensor> fields;
  const auto add = [&](const auto& value) {
    using T = std::remove_cvref_t<decltype(value)>;
    if constexpr (std::is_base_of_v<Tensor, T>) fields.push_back(value);
    else fields.push_back(number_tensor(dtype_of<T>(), &value, where));
  };
  std::apply([&](const auto&... value) { (add(value), ...); }, tie_fields(sample));
  return fields;
}

/// Writes what a Collate returned into a batch.  ValueError for another number of fields or an undefined one,
/// DeviceError for one that is not on the cpu.
void put_fields(BatchBuffer& buffer, const std::vector<Tensor>& fields, std::size_t expected, SourceLocation where);

/// Throws a SampleError or BatchError in which the current exception is nested.
[[noreturn]] void throw_sample_error(std::int64_t sample, SourceLocation where, std::string_view loader = "DataLoader");
[[noreturn]] void throw_batch_error(std::int64_t batch, SourceLocation where, std::string_view loader = "DataLoader");

void check_stream_options(std::int64_t batch_size, SourceLocation where);
/// A batch of samples on a device, stacked or by a Collate.
std::vector<Tensor> stream_batch(const std::vector<std::vector<Tensor>>& samples, const Collate& collate,
                                 std::size_t expected, Device device, SourceLocation where);

}  // namespace minnow::data::detail
