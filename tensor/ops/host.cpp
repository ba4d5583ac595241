#include <cmath>
#include <limits>
#include <string>
#include <utility>
#include <minnow/tensor/backend/dispatch.h>
#include <minnow/tensor/dtype_switch.h>
#include <minnow/tensor/error.h>
#include <minnow/tensor/ops/copy.h>
#include <minnow/tensor/ops/transfer.h>
#include <minnow/tensor/step_recording.h>

/// The members of Tensor that bring values to the host.
namespace minnow {
namespace {

/// Row-major on the host, its copy finished.
Tensor at_home(const char* op, const In& x) {
  StepRecording::refuse_access(op, x->device(), x.where);
  const Tensor dense = raw::contiguous(x);
  Tensor home = raw::to_device({dense, x.where}, Device(), false, op);
  home.storage()->wait_ready();
  return home;
}

/// Whether a number of a tensor, truncated, is one of To.
template <class To, class Number> bool is_in_range(Number value) {
  if constexpr (!std::is_integral_v<To> || std::is_same_v<To, bool> || std::is_same_v<Number, bool>) return true;
  else if constexpr (std::is_integral_v<Number>) return std::in_range<To>(value);
  else {
    const Number whole = std::trunc(value);  // NaN is in no interval
    return whole >= static_cast<Number>(std::numeric_limits<To>::min()) &&
           whole < std::ldexp(Number(1), std::numeric_limits<To>::digits);
  }
}

/// Floating values that become integers are truncated; anything not zero becomes true.
template <class To, class From> To convert(const char* op, const Tensor& self, From element, SourceLocation where) {
  constexpr bool half = std::is_same_v<From, minnow::float16> || std::is_same_v<From, bfloat16>;
  const auto value = static_cast<std::conditional_t<half, float, From>>(element);
  if constexpr (std::is_same_v<To, bool>) return value != 0;
  else {
    if (!is_in_range<To>(value))
      throw ValueError(message(op, std::to_string(value) + " does not fit into " + std::string(name_of(dtype_of<To>())),
                               {{"self", self}}, "ask for a type that holds it: int64_t or double"),
                       where);
    return static_cast<To>(value);
  }
}

}  // namespace

template <class T> std::vector<T> Tensor::to_vector(SourceLocation where) const {
  require_defined("to_vector", where);
  const Tensor home = at_home("to_vector", {*this, where});
  std::vector<T> values(static_cast<std::size_t>(numel()));
  dtype_switch(dtype(), [&]<class U>() {
    const U* from = static_cast<const U*>(home.raw_data());
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = convert<T>("to_vector", *this, from[i], where);
  });
  return values;
}

template <class T> T Tensor::item(SourceLocation where) const {
  require_defined("item", where);
  if (numel() != 1)
    throw ShapeError(message("item", "the tensor does not have exactly one element", {{"self", *this}},
                             "index it, or reduce it first"),
                     where);
  const Tensor home = at_home("item", {*this, where});
  return dtype_switch(
      dtype(), [&]<class U>() { return convert<T>("item", *this, *static_cast<const U*>(home.raw_data()), where); });
}

template std::vector<float> Tensor::to_vector(SourceLocation) const;
template std::vector<double> Tensor::to_vector(SourceLocation) const;
template std::vector<std::int64_t> Tensor::to_vector(SourceLocation) const;
template std::vector<std::int32_t> Tensor::to_vector(SourceLocation) const;
template std::vector<std::uint8_t> Tensor::to_vector(SourceLocation) const;
template std::vector<bool> Tensor::to_vector(SourceLocation) const;
template float Tensor::item(SourceLocation) const;
template double Tensor::item(SourceLocation) const;
template std::int64_t Tensor::item(SourceLocation) const;
template std::int32_t Tensor::item(SourceLocation) const;
template std::uint8_t Tensor::item(SourceLocation) const;
template bool Tensor::item(SourceLocation) const;

}  // namespace minnow
