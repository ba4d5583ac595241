#pragma once

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <functional>
#include <initializer_list>
#include <memory>
#include <optional>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>
#include <minnow/tensor/in.h>
#include <minnow/tensor/random.h>

namespace minnow {

/// Dtype and memory of a new tensor.
struct TensorOptions {
  std::optional<DType> dtype{};  ///< default: float32, or that of the given values
  Device device{};
  bool pinned = false;  ///< page-locked host memory
};

struct RandomOptions {
  std::optional<DType> dtype{};  ///< default: float32; of randint and randperm int64
  Device device{};
  RandomGenerator* generator = nullptr;  ///< default: default_generator()
};

/// A dtype or a device in place of options: zeros({2}, float64), zeros({2}, "cuda:0").
template <class T>
concept TensorOption = std::same_as<T, DType> || std::convertible_to<T, Device>;

namespace detail {

template <class Options, TensorOption T> Options options_of(const T& option, SourceLocation where) {
  Options options;
  if constexpr (std::same_as<T, DType>) options.dtype = option;
  else if constexpr (std::is_constructible_v<Device, const T&, SourceLocation>) options.device = Device(option, where);
  else options.device = option;
  return options;
}

}  // namespace detail

// Creation.  Nothing is recorded; .requires_grad_() makes the result a leaf.  ShapeError for negative sizes,
// DeviceError for a device that does not exist, OutOfMemoryError.

/// A tensor of this shape, uninitialized.  Default dtype: float32.  ShapeError for a negative size.
[[nodiscard]] Tensor empty(const Shape& shape, const TensorOptions& options = {},
                           SourceLocation where = SourceLocation::current());
template <TensorOption T>
[[nodiscard]] Tensor empty(const Shape& shape, const T& option, SourceLocation where = SourceLocation::current()) {
  return empty(shape, detail::options_of<TensorOptions>(option, where), where);
}
/// Uninitialized and dense, with the dimensions in the order of the strides `like` (of the same rank).
[[nodiscard]] Tensor empty_strided_like(const Shape& shape, const Strides& like, DType dtype, Device device,
                                        SourceLocation where = SourceLocation::current());
/// A tensor of this shape, each element 0.  Otherwise as empty().
[[nodiscard]] Tensor zeros(const Shape& shape, const TensorOptions& options = {},
                           SourceLocation where = SourceLocation::current());
template <TensorOption T>
[[nodiscard]] Tensor zeros(const Shape& shape, const T& option, SourceLocation where = SourceLocation::current()) {
  return zeros(shape, detail::options_of<TensorOptions>(option, where), where);
}
/// A tensor of this shape, each element 1.  Otherwise as empty().
[[nodiscard]] Tensor ones(const Shape& shape, const TensorOptions& options = {},
                          SourceLocation where = SourceLocation::current());
template <TensorOption T>
[[nodiscard]] Tensor ones(const Shape& shape, const T& option, SourceLocation where = SourceLocation::current()) {
  return ones(shape, detail::options_of<TensorOptions>(option, where), where);
}
/// A tensor of this shape, each element `value`.  Default dtype: that of the value, bool, int64 or float32.  ValueError
/// for a value that an integer dtype cannot hold; the same in fill_() and tensor().
[[nodiscard]] Tensor full(const Shape& shape, Scalar value, const TensorOptions& options = {},
                          SourceLocation where = SourceLocation::current());
template <TensorOption T>
[[nodiscard]] Tensor full(const Shape& shape, Scalar value, const T& option,
                          SourceLocation where = SourceLocation::current()) {
  return full(shape, value, detail::options_of<TensorOptions>(option, where), where);
}
/// start, start + step, ... up to, not including, stop.   ->  [⌈(stop - start) / step⌉].  Default dtype: int64 if all
/// three are integers, otherwise float32.  ValueError if step is 0 or leads away from stop.
[[nodiscard]] Tensor arange(Scalar start, Scalar stop, Scalar step = 1, const TensorOptions& options = {},
                            SourceLocation where = SourceLocation::current());
template <TensorOption T>
[[nodiscard]] Tensor arange(Scalar start, Scalar stop, Scalar step, const T& option,
                            SourceLocation where = SourceLocation::current()) {
  return arange(start, stop, step, detail::options_of<TensorOptions>(option, where), where);
}
[[nodiscard]] Tensor arange(Scalar stop, const TensorOptions& options = {},
                            SourceLocation where = SourceLocation::current());
template <TensorOption T>
[[nodiscard]] Tensor arange(Scalar start, Scalar stop, const T& option,
                            SourceLocation where = SourceLocation::current()) {
  return arange(start, stop, 1, detail::options_of<TensorOptions>(option, where), where);
}
template <TensorOption T>
[[nodiscard]] Tensor arange(Scalar stop, const T& option, SourceLocation where = SourceLocation::current()) {
  return arange(stop, detail::options_of<TensorOptions>(option, where), where);
}
/// `steps` numbers from start to stop, both included.   ->  [steps].  Default dtype: float32.  ValueError for fewer
/// than 0.
[[nodiscard]] Tensor linspace(double start, double stop, std::int64_t steps, const TensorOptions& options = {},
                              SourceLocation where = SourceLocation::current());
template <TensorOption T>
[[nodiscard]] Tensor linspace(double start, double stop, std::int64_t steps, const T& option,
                              SourceLocation where = SourceLocation::current()) {
  return linspace(start, stop, steps, detail::options_of<TensorOptions>(option, where), where);
}
/// A rows x columns matrix with ones on the diagonal (columns = -1: square).
[[nodiscard]] Tensor eye(std::int64_t rows, std::int64_t columns = -1, const TensorOptions& options = {},
                         SourceLocation where = SourceLocation::current());
[[nodiscard]] inline Tensor eye(std::int64_t rows, const TensorOptions& options,
                                SourceLocation where = SourceLocation::current()) {
  return eye(rows, -1, options, where);
}
template <TensorOption T>
[[nodiscard]] Tensor eye(std::int64_t rows, const T& option, SourceLocation where = SourceLocation::current()) {
  return eye(rows, -1, detail::options_of<TensorOptions>(option, where), where);
}

// Random numbers depend only on the generator's seed and on how many were drawn before: they are the same on every
// device.

/// A tensor of this shape, uniform in [0, 1).  DTypeError unless the dtype is floating-point.
[[nodiscard]] Tensor rand(const Shape& shape, const RandomOptions& options = {},
                          SourceLocation where = SourceLocation::current());
template <TensorOption T>
[[nodiscard]] Tensor rand(const Shape& shape, const T& option, SourceLocation where = SourceLocation::current()) {
  return rand(shape, detail::options_of<RandomOptions>(option, where), where);
}
/// A tensor of this shape, normal with mean 0 and standard deviation 1 (Box and Muller 1958).  DTypeError unless the
/// dtype is floating-point.
[[nodiscard]] Tensor randn(const Shape& shape, const RandomOptions& options = {},
                           SourceLocation where = SourceLocation::current());
template <TensorOption T>
[[nodiscard]] Tensor randn(const Shape& shape, const T& option, SourceLocation where = SourceLocation::current()) {
  return randn(shape, detail::options_of<RandomOptions>(option, where), where);
}
/// A tensor of this shape, normal with a mean and a standard deviation.  ValueError for one below 0; otherwise as
/// randn.
[[nodiscard]] Tensor normal(double mean, double std, const Shape& shape, const RandomOptions& options = {},
                            SourceLocation where = SourceLocation::current());
template <TensorOption T>
[[nodiscard]] Tensor normal(double mean, double std, const Shape& shape, const T& option,
                            SourceLocation where = SourceLocation::current()) {
  return normal(mean, std, shape, detail::options_of<RandomOptions>(option, where), where);
}
/// A tensor of this shape, integers in [low, high), of any dtype, by default int64.  ValueError unless low < high, and
/// the dtype can hold both ends.
[[nodiscard]] Tensor randint(std::int64_t low, std::int64_t high, const Shape& shape, const RandomOptions& options = {},
                             SourceLocation where = SourceLocation::current());
template <TensorOption T>
[[nodiscard]] Tensor randint(std::int64_t low, std::int64_t high, const Shape& shape, const T& option,
                             SourceLocation where = SourceLocation::current()) {
  return randint(low, high, shape, detail::options_of<RandomOptions>(option, where), where);
}
/// The numbers 0 ... n - 1 in random order (Fisher and Yates)   ->  [n], of any dtype that holds them all (ValueError),
/// by default int64.  ValueError for n below 0.
[[nodiscard]] Tensor randperm(std::int64_t n, const RandomOptions& options = {},
                              SourceLocation where = SourceLocation::current());

// With the shape, order of dimensions, dtype and device of x.
[[nodiscard]] Tensor empty_like(const In& x, std::optional<DType> dtype = {});
[[nodiscard]] Tensor zeros_like(const In& x, std::optional<DType> dtype = {});
[[nodiscard]] Tensor ones_like(const In& x, std::optional<DType> dtype = {});
/// With the shape, order of dimensions, dtype and device of x, each element `value`.
[[nodiscard]] Tensor full_like(const In& x, Scalar value, std::optional<DType> dtype = {});
/// As rand and randn, with the shape, order of dimensions, dtype and device of x.
[[nodiscard]] Tensor rand_like(const In& x);
[[nodiscard]] Tensor randn_like(const In& x);

/// Values in nested braces, for tensor(): numbers, or lists of equal shape.
class Nested {
 public:
  template <class T>
  requires std::is_arithmetic_v<T> Nested(T value) : value_(value) {}
  Nested(std::initializer_list<Nested> list) : value_(false), list_(list), is_list_(true) {}

  bool is_list() const { return is_list_; }
  Scalar value() const { return value_; }
  const std::vector<Nested>& list() const { return list_; }

 private:
  Scalar value_;
  std::vector<Nested> list_;
  bool is_list_ = false;
};

/// tensor({{1, 2}, {3, 4}}).  Default dtype: float32 if a value is floating-point, bool if all are bool, otherwise
/// int64. ShapeError if the lists of one level differ in length.
[[nodiscard]] Tensor tensor(const Nested& values, const TensorOptions& options = {},
                            SourceLocation where = SourceLocation::current());
template <TensorOption T>
[[nodiscard]] Tensor tensor(const Nested& values, const T& option, SourceLocation where = SourceLocation::current()) {
  return tensor(values, detail::options_of<TensorOptions>(option, where), where);
}
struct BlobOptions;
namespace detail {

/// ValueError for a number that an integer dtype cannot hold.  Numbers from -255 to -1 wrap into uint8, as in PyTorch.
void require_representable(Scalar value, DType dtype);
Tensor copy_of(const void* values, std::size_t count, DType dtype, const TensorOptions& options, SourceLocation where);
void require_one_width(std::size_t found, std::size_t first, SourceLocation where);
[[nodiscard]] Tensor as_rows(const Tensor& values, std::size_t rows, std::size_t width);
[[nodiscard]] Tensor view_of(void* data, const Shape& shape, std::optional<DType> own, const BlobOptions& options,
                             SourceLocation where);

}  // namespace detail

/// A one-dimensional copy of the caller's numbers; nested vectors give two dimensions (ShapeError if their lengths
/// differ).  Default dtype: that of T, or int64 for integer types without a dtype.  ValueError for a number that the
/// dtype cannot hold.
template <class T>
[[nodiscard]] Tensor tensor(std::span<const T> values, const TensorOptions& options = {},
                            SourceLocation where = SourceLocation::current()) {
  static_assert(std::is_arithmetic_v<T> || detail::is_element_v<T>,
                "tensor() takes numbers: there is no dtype for this type");
  if constexpr (detail::is_element_v<T>) {
    return detail::copy_of(values.data(), values.size(), dtype_of<T>(), options, where);
  } else if constexpr (std::is_integral_v<T>) {
    const detail::CallSite site("tensor", where);
    std::vector<std::int64_t> wide(values.size());
    for (std::size_t i = 0; i < values.size(); ++i) {
      if (!std::in_range<std::int64_t>(values[i])) detail::require_representable(Scalar(values[i]), DType::int64);
      wide[i] = static_cast<std::int64_t>(values[i]);
    }
    return detail::copy_of(wide.data(), wide.size(), DType::int64, options, where);
  } else {
    return {};
  }
}
template <class T>
[[nodiscard]] Tensor tensor(const std::vector<T>& values, const TensorOptions& options = {},
                            SourceLocation where = SourceLocation::current()) {
  if constexpr (std::is_same_v<T, bool>) {
    const std::unique_ptr<bool[]> flags(new bool[values.size()]);
    std::copy(values.begin(), values.end(), flags.get());
    return detail::copy_of(flags.get(), values.size(), DType::bool_, options, where);
  } else {
    return tensor(std::span<const T>(values), options, where);
  }
}
template <class T>
[[nodiscard]] Tensor tensor(const std::vector<std::vector<T>>& rows, const TensorOptions& options = {},
                            SourceLocation where = SourceLocation::current()) {
  const std::size_t width = rows.empty() ? 0 : rows.front().size();
  std::vector<T> values;
  for (const std::vector<T>& row : rows) {
    detail::require_one_width(row.size(), width, where);
    values.insert(values.end(), row.begin(), row.end());
  }
  return detail::as_rows(tensor(values, options, where), rows.size(), width);
}

template <class V, TensorOption T>
[[nodiscard]] Tensor tensor(const std::vector<V>& values, const T& option,
                            SourceLocation where = SourceLocation::current()) {
  return tensor(values, detail::options_of<TensorOptions>(option, where), where);
}

struct BlobOptions {
  std::optional<DType> dtype{};             ///< default: that of the pointer
  std::optional<Strides> strides{};         ///< in elements, 0 or more; default: row-major
  std::function<void(void*)> deleter = {};  ///< called once, when the last tensor of the memory is destroyed
  Device device{};                          ///< of the memory: the host, or CUDA
};

/// A tensor of this shape that is a view of the caller's memory; no gradient leads there.  Without a deleter the caller
/// keeps the memory alive.  Memory of const elements is shared too: such a tensor must not be written to.  ValueError
/// for a null pointer or negative strides, DeviceError for a device that does not exist or is simulated, DTypeError for
/// a void*, char* or std::byte* without a dtype, or for another dtype than the pointer's.
template <class T>
[[nodiscard]] Tensor from_blob(T* data, const Shape& shape, const BlobOptions& options = {},
                               SourceLocation where = SourceLocation::current()) {
  static_assert(std::is_void_v<T> || detail::is_element_v<T> || std::is_same_v<std::remove_cv_t<T>, char> ||
                    std::is_same_v<std::remove_cv_t<T>, std::byte>,
                "from_blob takes a pointer to elements of a dtype, or void*, char*, std::byte* and a dtype");
  std::optional<DType> own;
  if constexpr (detail::is_element_v<T>) own = dtype_of<T>();
  return detail::view_of(const_cast<std::remove_const_t<T>*>(data), shape, own, options, where);
}
template <class T>
[[nodiscard]] Tensor from_blob(T* data, const Shape& shape, std::same_as<DType> auto dtype,
                               std::function<void(void*)> deleter = {},
                               SourceLocation where = SourceLocation::current()) {
  return from_blob(data, shape, BlobOptions{dtype, {}, std::move(deleter)}, where);
}
template <class T>
[[nodiscard]] Tensor from_blob(T* data, const Shape& shape, const Strides& strides,
                               SourceLocation where = SourceLocation::current()) {
  return from_blob(data, shape, BlobOptions{{}, strides, {}}, where);
}

}  // namespace minnow
