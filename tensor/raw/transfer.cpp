#include <minnow/tensor/raw/transfer.h>

#include <atomic>
#include <chrono>
#include <cstring>
#include <minnow/tensor/backend/dispatch.h>
#include <minnow/tensor/error.h>
#include <minnow/tensor/profile/observers.h>
#include <minnow/tensor/profile/transfer_report.h>
#include <minnow/tensor/raw/copy.h>
#include <minnow/tensor/runtime/capture_rules.h>
#include <minnow/tensor/runtime/warning.h>

namespace minnow::detail::raw {
namespace {

TransferDirection direction_of(Device from, Device to) {
  if (from.is_cpu()) return TransferDirection::to_device;
  return to.is_cpu() ? TransferDirection::to_host : TransferDirection::between_devices;
}

/// x, or a copy of it that is dense.
Tensor to_dense(const In& x) { return is_dense(x->shape(), x->strides()) ? *x : contiguous(x); }

Tensor allocate_like(const Tensor& x, Device device, Allocator& allocator, bool pinned) {
  const auto bytes = static_cast<std::size_t>(x.nbytes());
  const Wanted wanted{x.dtype(), x.shape()};
  return Tensor(make_storage(allocator, device, bytes, pinned, {}, &wanted), x.dtype(), x.shape(), x.strides());
}

/// Host memory for a copy from a device: pinned, so that the copy does not block, or pageable if no memory can be
/// pinned.
Tensor allocate_on_host(const Tensor& x, Backend& source) {
  if (Allocator* allocator = source.pinned_allocator()) {
    try {
      return allocate_like(x, Device(), *allocator, true);
    } catch (const OutOfMemoryError&) {}
  }
  return allocate_like(x, Device(), cpu_allocator(), false);
}

constexpr const char* kNames[kTransferDirections] = {"copy to device", "copy to host", "copy between devices"};

/// Copies, and enters the copy in the transfer report.
void transfer(const Tensor& from, const Tensor& to, bool non_blocking) {
  CaptureRules::forbid_access(CallSite::op(), from.device());
  CaptureRules::forbid_access(CallSite::op(), to.device());
  const Device device = from.device().is_cpu() ? to.device() : from.device();
  Backend& backend = backend_of(device);
  const TransferDirection direction = direction_of(from.device(), to.device());
  const ScopeKind kind = direction == TransferDirection::to_device ? ScopeKind::copy : ScopeKind::range;
  const OpenScope scope(kind, kNames[static_cast<int>(direction)], from.nbytes());
  if (non_blocking) {
    const Stream stream = backend.current_stream(device.index());
    const Event start = stream.record();
    backend.transfer(from, to, true);
    const Event end = stream.record();
    scope.on_device(device, start, end);
    detail::note_transfer(direction, from.nbytes(), start, end, CallSite::where());
    return;
  }
  const auto start = std::chrono::steady_clock::now();
  backend.transfer(from, to, false);
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
  detail::note_transfer(direction, from.nbytes(), seconds.count(), CallSite::where());
}

void warn_once(const char* why) {
  static std::atomic<bool> warned = false;
  if (!warned.exchange(true)) warn(std::string("pin_memory: using pageable memory, copies will block: ") + why);
}

}  // namespace

Tensor to_device(const In& x, Device device, bool non_blocking, const char* op) {
  const CallSite site(op, x.where);
  x->require_defined(op);
  if (x->device() == device) return *x;
  Backend& target = backend_of(device);
  const Tensor from = to_dense(x);
  if (from.device().type() != device.type() && !from.device().is_cpu() && !device.is_cpu())
    return to_device(to_device(from, Device(), false, op), device, non_blocking, op);
  const bool async_to_host = device.is_cpu() && non_blocking;
  const Tensor out = async_to_host ? allocate_on_host(from, backend_of(from.device()))
                                   : allocate_like(from, device, target.allocator(device.index()), false);
  if (from.numel()) transfer(from, out, non_blocking);
  return out;
}

void transfer_to(const In& x, const Tensor& to) {
  if (x->device().is_cpu() || to.device().is_cpu() || x->device().type() == to.device().type()) {
    const CallSite site("copy_", x.where);
    if (x->numel()) transfer(*x, to, x->is_pinned() && !to.device().is_cpu());
  } else {
    transfer_to(to_device(x, Device()), to);
  }
}

Tensor pin_memory(const In& x) {
  const CallSite site("pin_memory", x.where);
  x->require_defined("pin_memory");
  if (!x->device().is_cpu())
    throw DeviceError("pin_memory: cannot pin a tensor of " + x->device().str() +
                      ", only CPU tensors can be pinned\n  self  " + describe(*x) +
                      "\ncopy it to the host first: .cpu()");
  if (x->is_pinned()) return *x;
  Allocator* allocator = pinned_allocator();
  if (!allocator)
    throw DeviceError("pin_memory: no device copies from pinned memory\n  self  " + describe(*x) +
                      "\nleave it out on a machine without a GPU; this one has: " + available_devices());
  CaptureRules::forbid_access("pin_memory", x->device());
  const Tensor from = to_dense(x);
  from.storage()->wait_ready();
  try {
    const Tensor out = allocate_like(from, Device(), *allocator, true);
    if (from.numel()) std::memcpy(out.raw_data(), from.raw_data(), static_cast<std::size_t>(from.nbytes()));
    return out;
  } catch (const OutOfMemoryError& error) {
    warn_once(error.what());
    return *x;
  }
}

}  // namespace minnow::detail::raw
