#pragma once

#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <minnow/tensor/backend/backend.h>
#include <minnow/tensor/in.h>
#include <minnow/tensor/runtime/call_site.h>

namespace minnow::detail {

/// An operand and its name in messages.  One that is optional may be undefined, and is then left out.
struct Operand {
  const char* name;
  const Tensor& tensor;
  bool optional = false;

  bool left_out() const { return optional && !tensor.defined(); }
};
inline constexpr bool kOptional = true;

/// Those of an operation, for the time of a call: a braced list, or an array.
class Operands : public std::span<const Operand> {
 public:
  Operands() = default;
  Operands(std::initializer_list<Operand> list) : span(list.begin(), list.size()) {}
  template <std::size_t N> Operands(const Operand (&list)[N]) : span(list) {}
};

/// Whether 0-dim CPU tensors are allowed beside operands on another device (elementwise operations).
enum class HostScalars : bool { refused, allowed };

/// The device of these operands; the only place that compares devices.  DeviceError that lists every operand if they
/// are on different devices; ValueError for an undefined operand that is not optional.
Device require_same_device(Operands operands, HostScalars scalars = HostScalars::refused);

/// The backend for the open operation (CallSite) on these operands, with the errors of require_same_device.
Backend& dispatch(Operands operands, HostScalars scalars = HostScalars::refused);
/// The same; if no operation is open, errors name `op` (a literal).
Backend& dispatch(std::string_view op, Operands operands, SourceLocation where,
                  HostScalars scalars = HostScalars::refused);

/// The backend of a device.  DeviceError if the device does not exist, with the devices that do.
Backend& backend_of(Device device, SourceLocation where = {});

/// Runs a call that can find wrong data.  If it does, refuse(tensors...) throws the error.
template <class C, class Refuse, class... Tensors>
void run_checked(Backend& backend, const C& call, const Refuse& refuse, const Tensors&... tensors) {
  if (backend.run(call) != Outcome::ok) [[unlikely]]
    refuse(tensors...);
}

/// The text of an error about operands: "op: text", a line for each operand, and the hint.  `op` is the open operation.
std::string message(std::string_view text, Operands operands, std::string_view hint = "");
/// The same, with a name for the case that no operation is open.
std::string message(std::string_view op, std::string_view text, Operands operands, std::string_view hint = "");

/// A hint which operand to convert, and to what, for an operation that needs one floating-point dtype: a module's
/// parameter only if there is no other operand.
std::string dtype_hint(Operands operands);

/// The allocator of pinned host memory, of CUDA or else sim; nullptr if no device copies from pinned memory.
Allocator* pinned_allocator();

}  // namespace minnow::detail
