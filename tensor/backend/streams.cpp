#include <minnow/tensor/backend/dispatch.h>
#include <minnow/tensor/stream.h>

namespace minnow {

void Event::State::settle() noexcept {
  try {
    synchronize();
  } catch (...) {  // nobody can be told in a destructor
  }
}

Stream::Stream(Device device, SourceLocation where) : Stream(backend_of(device, where).new_stream(device.index())) {}

Stream current_stream(Device device, SourceLocation where) {
  return backend_of(device, where).current_stream(device.index());
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
  Backend& backend = backend_of(device, where);
  note_operation("synchronize", where);
  backend.synchronize(device.index());
}

}  // namespace minnow
