#pragma once

#include <functional>
#include <initializer_list>
#include <optional>
#include <span>
#include <vector>
#include <minnow/tensor/in.h>
#include <minnow/tensor/random.h>

namespace minnow {

/// Where and of what a new tensor is made.
struct TensorOptions {
  std::optional<DType> dtype{};  ///< default: float32, or what the values given say
  Device device{};
  bool pinned = false;  ///< page-locked host memory
};

struct RandomOptions {
  DType dtype = DType::float32;  ///< floating; randint and randperm: int64
  Device device{};
  Generator* generator = nullptr;  ///< default: default_generator()
};

// Creation.  None records; mark a leaf by .requires_grad_().  Sizes below 0: ShapeError.  A device that is
// not there: DeviceError.  No memory: OutOfMemoryError.

/// Uninitialised memory.
Tensor empty(const Shape& shape, const TensorOptions& options = {}, SourceLocation where = SourceLocation::current());
/// Uninitialised, dense, in the order of dimensions of `like` (strides of a shape of the same rank).
Tensor empty_strided_like(const Shape& shape, const Strides& like, DType dtype, Device device,
                          SourceLocation where = SourceLocation::current());
Tensor zeros(const Shape& shape, const TensorOptions& options = {}, SourceLocation where = SourceLocation::current());
Tensor ones(const Shape& shape, const TensorOptions& options = {}, SourceLocation where = SourceLocation::current());
/// dtype by default that of the value: bool, int64 or float32.  ValueError for a value that an integer dtype does not
/// hold; so in fill_() and tensor().
Tensor full(const Shape& shape, Scalar value, const TensorOptions& options = {},
            SourceLocation where = SourceLocation::current());
/// start, start + step, ... before stop.  dtype by default int64 if all are integers, else float32.
Tensor arange(Scalar start, Scalar stop, Scalar step = 1, const TensorOptions& options = {},
              SourceLocation where = SourceLocation::current());
Tensor arange(Scalar stop, const TensorOptions& options = {}, SourceLocation where = SourceLocation::current());
/// `steps` numbers from start to stop, both included.
Tensor linspace(double start, double stop, std::int64_t steps, const TensorOptions& options = {},
                SourceLocation where = SourceLocation::current());
/// Ones on the diagonal of a rows x columns matrix (columns = -1: square).
Tensor eye(std::int64_t rows, std::int64_t columns = -1, const TensorOptions& options = {},
           SourceLocation where = SourceLocation::current());

// Random numbers are a function of the generator's seed and of what was drawn before: the same on every
// device.

/// Uniform in [0, 1).
Tensor rand(const Shape& shape, const RandomOptions& options = {}, SourceLocation where = SourceLocation::current());
/// Normal, mean 0, deviation 1 (Box and Muller 1958).
Tensor randn(const Shape& shape, const RandomOptions& options = {}, SourceLocation where = SourceLocation::current());
/// Integers of [low, high), as int64.  ValueError unless low < high.
Tensor randint(std::int64_t low, std::int64_t high, const Shape& shape, const RandomOptions& options = {},
               SourceLocation where = SourceLocation::current());
/// A random order of 0 .. n - 1, as int64 (Fisher and Yates).
Tensor randperm(std::int64_t n, const RandomOptions& options = {}, SourceLocation where = SourceLocation::current());

// Like-variants: shape, order of dimensions, dtype and device of x.
Tensor empty_like(const In& x, std::optional<DType> dtype = {});
Tensor zeros_like(const In& x, std::optional<DType> dtype = {});
Tensor ones_like(const In& x, std::optional<DType> dtype = {});
Tensor full_like(const In& x, Scalar value, std::optional<DType> dtype = {});
Tensor rand_like(const In& x);
Tensor randn_like(const In& x);

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

/// tensor({{1, 2}, {3, 4}}): dtype by default float32 if any value is floating, else int64, or bool if all
/// are. ShapeError for ragged lists.
Tensor tensor(const Nested& values, const TensorOptions& options = {},
              SourceLocation where = SourceLocation::current());
/// A copy of the caller's elements, one-dimensional.
template <class T>
Tensor tensor(std::span<const T> values, const TensorOptions& options = {},
              SourceLocation where = SourceLocation::current());
template <class T>
Tensor tensor(const std::vector<T>& values, const TensorOptions& options = {},
              SourceLocation where = SourceLocation::current()) {
  return tensor(std::span<const T>(values), options, where);
}

/// A view of the caller's host memory.  `deleter` is called once, when the last tensor that shares it is
/// gone; empty: the caller keeps the memory alive.
Tensor from_blob(void* data, const Shape& shape, DType dtype = DType::float32, std::function<void(void*)> deleter = {},
                 SourceLocation where = SourceLocation::current());

namespace raw {

/// A 0-dim CPU tensor, as elementwise families take it.
Tensor scalar_tensor(Scalar value, DType dtype);
/// ValueError for a number that an integer dtype does not hold.  Negative ones wrap into uint8, as in PyTorch.
void require_representable(const char* op, Scalar value, DType dtype, SourceLocation where);

}  // namespace raw

}  // namespace minnow
