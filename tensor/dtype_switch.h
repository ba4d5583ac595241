#pragma once

#include <cstddef>
#include <cstdint>
#include <minnow/tensor/dtype.h>

namespace minnow::detail {

/// Calls f.template operator()<T>() with the element type of a dtype that is known only at run time.
template <class F> decltype(auto) dtype_switch(DType dtype, F&& f) {
  switch (dtype) {
    case DType::float32: return f.template operator()<float>();
    case DType::float64: return f.template operator()<double>();
    case DType::float16: return f.template operator()<float16_t>();
    case DType::bfloat16: return f.template operator()<bfloat16_t>();
    case DType::int64: return f.template operator()<std::int64_t>();
    case DType::int32: return f.template operator()<std::int32_t>();
    case DType::int16: return f.template operator()<std::int16_t>();
    case DType::int8: return f.template operator()<std::int8_t>();
    case DType::uint8: return f.template operator()<std::uint8_t>();
    case DType::bool_: break;
  }
  return f.template operator()<bool>();
}

/// The same with an unsigned integer of an element's size, to copy it unchanged.
template <class F> decltype(auto) size_switch(std::size_t size, F&& f) {
  switch (size) {
    case 1: return f.template operator()<std::uint8_t>();
    case 2: return f.template operator()<std::uint16_t>();
    case 4: return f.template operator()<std::uint32_t>();
    default: return f.template operator()<std::uint64_t>();
  }
}

}  // namespace minnow::detail
