#include <minnow/tensor/runtime/stream.h>

#include <minnow/tensor/backend/dispatch.h>
#include <minnow/tensor/error.h>
#include <minnow/tensor/runtime/capture_rules.h>

namespace minnow {
namespace {

/// The backend of a device; errors name `op`.
Backend& backend_for(const char* op, Device device, SourceLocation where) {
  const CallSite site(op, where);
  return backend_of(device, where);
}

}  // namespace

void Event::State::settle() noexcept {
  try {
    synchronize();
  } catch (...) {  // a destructor cannot report it
  }
}

Stream::Stream(Device device, SourceLocation where)
    : Stream(backend_for("Stream", device, where).new_stream(device.index())) {}

Stream current_stream(Device device, SourceLocation where) {
  return backend_for("current_stream", device, where).current_stream(device.index());
}

StreamGuard::StreamGuard(const Stream& stream) : previous_(current_stream(stream.device())) {
  backend_of(stream.device()).set_current_stream(stream.device().index(), stream);
}

StreamGuard::~StreamGuard() {
  try {
    const Device device = previous_.device();
    backend_of(device).set_current_stream(device.index(), previous_);
  } catch (...) {  // the device does not exist any more, nor does its current stream
  }
}

void synchronize(Device device, SourceLocation where) {
  const CallSite site("synchronize", where);
  CaptureRules::forbid_access("synchronize", device, where);
  backend_of(device, where).synchronize(device.index());
}

}  // namespace minnow
