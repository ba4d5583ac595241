#pragma once

#include <initializer_list>
#include <span>
#include <string_view>
#include <minnow/tensor/backend/backend.h>
#include <minnow/tensor/in.h>

namespace minnow {

/// An operand by the name that messages use.
struct Operand {
  const char* name;
  const Tensor& tensor;
};

/// The backend for an operation on these operands: the one place where devices are compared.  0-dim CPU tensors may
/// accompany operands of another device when `scalars` allows it (elementwise families).
/// DeviceError, listing every operand, when they are on different devices; ValueError for an undefined operand.
Backend& dispatch(std::string_view op, std::initializer_list<Operand> operands, SourceLocation where,
                  bool scalars = false);

/// The backend of a device.  DeviceError when this machine has no such device, saying what is missing.
Backend& backend_of(Device device, SourceLocation where = {});

/// Lines "  name  float32[2, 3] on cpu" for messages.
std::string list_operands(std::span<const Operand> operands);

/// Where pinned host memory comes from: the CUDA backend, else sim; nullptr when no device would copy from it.
Allocator* pinned_allocator();

/// The backends that exist in this build; nullptr where there is none.
Backend* cpu_backend();
Backend* sim_backend();
Backend* cuda_backend();

}  // namespace minnow
