#include <minnow/tensor/backend/dispatch.h>

#include <algorithm>
#include <minnow/tensor/error.h>
#include <minnow/tensor/profile/observers.h>
#include <minnow/tensor/runtime/calling_thread.h>
#include <minnow/tensor/runtime/capture_session.h>

namespace minnow::detail {

constinit const View calls::kUndefined = {};

namespace {

/// A hint which of two operands to move.
std::string move_hint(Operands operands, const Tensor& first, const Tensor& other) {
  const auto moved_to = [](const Tensor& target) { return ".to(\"" + target.device().str() + "\")"; };
  // An operand that is written in place keeps its device.
  if (std::string_view(operands[0].name) == "self")
    for (const Operand& o : operands)
      if (!o.left_out() && o.tensor.device() != operands[0].tensor.device())
        return "the result is written to self: move the other one first, " + std::string(o.name) +
               moved_to(operands[0].tensor);
  // Suggest to move data to the model (operands with a name are parameters), and operands on the host to the device.
  const bool other_moves = first.device().is_cpu() == other.device().is_cpu()
                               ? first.name().size() > other.name().size()
                               : other.device().is_cpu();
  const Tensor& moved = other_moves ? other : first;
  const Tensor& target = other_moves ? first : other;
  if (!moved.name().empty()) return "move the whole module that has it, e.g. net" + moved_to(target);
  std::string name = "x";
  for (const Operand& o : operands)
    if (o.tensor.is_same(moved)) name = o.name;
  return "move one of them first, e.g. " + name + moved_to(target);
}

[[noreturn]] void refuse(Operands operands, const Tensor& first, const Tensor& other) {
  for (const Operand& o : operands)
    if (!o.tensor.defined() && !o.optional)
      throw ValueError(message("operand '" + std::string(o.name) + "' is undefined", operands,
                               "it was default-constructed, moved from, or is a gradient that was never computed"));
  throw DeviceError(message("operands are on different devices", operands, move_hint(operands, first, other)));
}

}  // namespace

std::string message(std::string_view op, std::string_view text, Operands operands, std::string_view hint) {
  std::string out{CallSite::op_or(op)};
  out.append(out.empty() ? "" : ": ").append(text);
  std::size_t width = 0;
  for (const Operand& o : operands)
    if (!o.left_out()) width = std::max(width, std::string_view(o.name).size());
  for (const Operand& o : operands) {
    if (o.left_out()) continue;
    std::string name = o.name;
    name.resize(width, ' ');
    out.append("\n  ").append(name).append("  ").append(describe(o.tensor));
  }
  if (!hint.empty()) out.append("\n").append(hint);
  return out;
}

std::string message(std::string_view text, Operands operands, std::string_view hint) {
  return message("", text, operands, hint);
}

std::string dtype_hint(Operands operands) {
  // Suggest to convert data rather than parameters, and integers rather than floating-point tensors.
  const auto rank = [](const Operand& o) { return o.tensor.is_floating_point() ? o.tensor.name().empty() ? 1 : 2 : 0; };
  const Operand* kept = operands.data();
  for (const Operand& o : operands)
    if (!o.left_out() && rank(o) > rank(*kept)) kept = &o;
  const bool floating = kept->tensor.is_floating_point();
  const std::string call = ".to(" + std::string(floating ? name_of(kept->tensor.dtype()) : "float32") + ")";
  for (const Operand& o : operands) {
    if (o.left_out() || (floating && o.tensor.dtype() == kept->tensor.dtype())) continue;
    if (rank(o) == 2) return "convert the whole module, e.g. net" + call;
    return "convert " + std::string(o.name) + " first: " + o.name + call;
  }
  return "";
}

Device require_same_device(Operands operands, HostScalars scalars) {
  const Tensor* first = nullptr;
  for (const Operand& o : operands) {
    if (o.left_out()) continue;
    if (!o.tensor.defined()) refuse(operands, o.tensor, o.tensor);
    o.tensor.storage()->wait_ready();  // a non-blocking copy into host memory
    if (scalars == HostScalars::allowed && o.tensor.dim() == 0 && o.tensor.device().is_cpu()) continue;
    if (!first) first = &o.tensor;
    else if (first->device() != o.tensor.device()) refuse(operands, *first, o.tensor);
  }
  return first ? first->device() : operands[0].tensor.device();
}

Backend& dispatch(Operands operands, HostScalars scalars) {
  const Device device = require_same_device(operands, scalars);
  if (calling_thread.observer) [[unlikely]]
    calling_thread.observer->operands(operands);
  const CaptureRules* rules = CaptureRules::current();
  if (!rules) return backend_of(device);
  if (CaptureSession* session = CaptureSession::current())
    for (const Operand& o : operands) session->use(o.tensor);
  if (rules->device != device)
    throw DeviceError(
        message("computes on another device than the step that is being captured, " + rules->device.str(), operands,
                "a replay would not repeat it; move it out of the step, or the tensors to " + rules->device.str()));
  return backend_of(device);
}

Backend& dispatch(std::string_view op, Operands operands, SourceLocation where, HostScalars scalars) {
  const CallSite site(op.data(), where);
  return dispatch(operands, scalars);
}

}  // namespace minnow::detail
