#pragma once

#include <cstdint>
#include <minnow/data/batch.h>
#include <minnow/data/detail/fields.h>

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

}  // namespace minnow::data::detail
