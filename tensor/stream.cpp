#include <minnow/tensor/stream.h>

#include <minnow/tensor/backend/dispatch.h>
#include <minnow/tensor/error.h>

namespace minnow {
namespace {

/// The backend that serves a function of streams, by whose name errors go.
Backend& serving(const char* op, Device device, SourceLocation where) {
  const CallSite site(op, where);
  return backend_of(device, where);
}

}  // namespace

void Event::State::settle() noexcept {
  try {
    synchronize();
  } catch (...) {  // nobody can be told in a destructor
  }
}

Stream::Stream(Device device, SourceLocation where)
    : Stream(serving("Stream", device, where).new_stream(device.index())) {}

Stream current_stream(Device device, SourceLocation where) {
  return serving("current_stream", device, where).current_stream(device.index());
}

StreamGuard::StreamGuard(const Stream& stream) : previous_(current_stream(stream.device())) {
  backend_of(stream.device()).set_current_stream(stream.device().index(), stream);
}

StreamGuard::~StreamGuard() {
  try {
    const Device device = previous_.device();
    backend_of(device).set_current_stream(device.index(), previous_);
  } catch (...) {  // the device is gone; so is its current stream
  }
}

void synchronize(Device device, SourceLocation where) {
  const CallSite site("synchronize", where);
  backend_of(device, where).synchronize(device.index());
}

}  // namespace minnow
