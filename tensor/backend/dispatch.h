#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <minnow/tensor/backend/backend.h>
#include <minnow/tensor/call_site.h>
#include <minnow/tensor/in.h>

namespace minnow::detail {

/// An operand by the name that messages use.
struct Operand {
  const char* name;
  const Tensor& tensor;
};
using Operands = std::initializer_list<Operand>;

/// Whether 0-dim CPU tensors may accompany operands of another device (elementwise families).
enum class HostScalars : bool { refused, allowed };

/// The backend for the operation under way (CallSite) on these operands: the one place where devices are compared.
/// DeviceError, listing every operand, when they are on different devices; ValueError for an undefined operand.
Backend& dispatch(Operands operands, HostScalars scalars = HostScalars::refused);
/// The same; where no operation is under way it is called `op`, a literal.
Backend& dispatch(std::string_view op, Operands operands, SourceLocation where,
                  HostScalars scalars = HostScalars::refused);

/// The backend of a device.  DeviceError when this machine has no such device, saying what is missing.
Backend& backend_of(Device device, SourceLocation where = {});

/// "op: text", one line for each operand, the hint: the body of every error about operands.  `op` is the operation under
/// way.
std::string message(std::string_view text, Operands operands, std::string_view hint = "");
/// The same where no operation may be under way: `op` is what it is called then.
std::string message(std::string_view op, std::string_view text, Operands operands, std::string_view hint = "");

/// Which operand of an operation on floating-point tensors of one dtype to convert, and to what: never a module's
/// parameter where another one will do.
std::string dtype_hint(Operands operands);

/// Where pinned host memory comes from: the CUDA backend, else sim; nullptr when no device would copy from
/// it.
Allocator* pinned_allocator();

}  // namespace minnow::detail
