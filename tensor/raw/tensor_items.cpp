#include <cmath>
#include <fmt/format.h>
#include <limits>
#include <string>
#include <utility>
#include <minnow/tensor/backend/dispatch.h>
#include <minnow/tensor/dtype_switch.h>
#include <minnow/tensor/error.h>
#include <minnow/tensor/profile/observers.h>
#include <minnow/tensor/raw/copy.h>
#include <minnow/tensor/raw/transfer.h>
#include <minnow/tensor/runtime/capture_rules.h>

// The members of Tensor that copy values to the host.
namespace minnow {
namespace {

/// A row-major copy on the host, complete.
Tensor on_host(const Tensor& x) {
  CaptureRules::forbid_access(CallSite::op(), x.device());
  if (calling_thread.observer) [[unlikely]]
    calling_thread.observer->read("item", x);
  Tensor host = raw::to_device(raw::contiguous(x), Device());
  host.storage()->wait_ready();
  return host;
}

/// Whether To can hold the truncated number.
template <class To, class Number> bool is_in_range(Number value) {
  if constexpr (!std::is_integral_v<To> || std::is_same_v<To, bool> || std::is_same_v<Number, bool>) return true;
  else if constexpr (std::is_integral_v<Number>) return std::in_range<To>(value);
  else {
    const Number whole = std::trunc(value);  // NaN is outside of every range
    return whole >= static_cast<Number>(std::numeric_limits<To>::min()) &&
           whole < std::ldexp(Number(1), std::numeric_limits<To>::digits);
  }
}

/// The dtype's name for a C++ type: "uint8", "int64".
template <class T> std::string number_name() {
  return (std::is_signed_v<T> ? "int" : "uint") + std::to_string(8 * sizeof(T));
}

/// Floating-point to integer truncates; to bool, everything but 0 is true.
template <class To, class From> To convert(const Tensor& self, From element) {
  constexpr bool half = std::is_same_v<From, float16_t> || std::is_same_v<From, bfloat16_t>;
  const auto value = static_cast<std::conditional_t<half, float, From>>(element);
  if constexpr (std::is_same_v<To, bool>) return value != 0;
  else {
    if (!is_in_range<To>(value))
      throw ValueError(message(fmt::format("{} does not fit into {}", value, number_name<To>()), {{"self", self}},
                               "use a type that can hold it: int64_t or double"));
    return static_cast<To>(value);
  }
}

}  // namespace

void Tensor::require_one_element(SourceLocation where) const {
  const CallSite site("item", where);
  require_defined();
  if (numel() != 1)
    throw ShapeError(
        message("the tensor does not have exactly one element", {{"self", *this}}, "index it, or reduce it first"));
}

Tensor::operator bool() const {
  const CallSite site("if (tensor)", {});
  if (!defined()) throw ValueError("if (tensor): the tensor is undefined\nask x.defined() first");
  if (numel() != 1)
    throw ValueError(message("a condition needs a tensor with exactly one element", {{"self", *this}},
                             "reduce it: all(x), any(x); x.equal(y) compares whole tensors, x.defined() asks whether "
                             "there is one"));
  bool value = false;
  copy_out("if (tensor)", &value, detail::number_type<bool>(), {});
  return value;
}

namespace {

template <class T> void convert_all(const Tensor& self, void* to) {
  const Tensor host = on_host(self);
  T* out = static_cast<T*>(to);
  dtype_switch(self.dtype(), [&]<class U>() {
    const U* from = static_cast<const U*>(host.raw_data());
    for (std::int64_t i = 0; i < self.numel(); ++i) out[i] = convert<T>(self, from[i]);
  });
}

}  // namespace

void Tensor::refuse_vector(std::size_t bytes_of_number, SourceLocation where) const {
  const CallSite site("to_vector", where);
  throw OutOfMemoryError(message(fmt::format("no memory for {} numbers of {} bytes", numel(), bytes_of_number),
                                 {{"self", *this}}, "copy a part: x.narrow(0, start, length).to_vector<T>()"));
}

void Tensor::copy_out(const char* op, void* to, detail::NumberType type, SourceLocation where) const {
  const CallSite site(op, where);
  require_defined();
  const auto as = [&]<class T>(T) { convert_all<T>(*this, to); };
  using enum detail::NumberType::Kind;
  switch (type.kind) {
    case kBool: return as(bool{});
    case kFloating:
      return type.size == 4 ? as(float{}) : type.size == 8 ? as(double{}) : as(static_cast<long double>(0));
    case kSigned:
      return type.size == 1   ? as(std::int8_t{})
             : type.size == 2 ? as(std::int16_t{})
             : type.size == 4 ? as(std::int32_t{})
                              : as(std::int64_t{});
    case kUnsigned:
      return type.size == 1   ? as(std::uint8_t{})
             : type.size == 2 ? as(std::uint16_t{})
             : type.size == 4 ? as(std::uint32_t{})
                              : as(std::uint64_t{});
  }
}

}  // namespace minnow
