#pragma once

#include <memory>
#include <minnow/tensor/backend/backend.h>

namespace minnow {

/// From now on this thread's calls of `backend` for `device` are listed and not done; a replay makes them, on the
/// thread that asks for it.  For backends that compute before a call returns and whose memory the host can address.
/// What the calls allocate comes from a pool of the recording's own; other memory that they use is kept alive.
/// A replay throws what a call throws, IndexError or ValueError for what one finds in its data, with the operation and
/// the line of the recording; the calls after it are not made.
std::unique_ptr<Recording> record_calls(Backend& backend, Device device);

/// What stands in for the backend of `device` while this thread records its calls; nullptr while it does not.
Backend* call_recorder(Device device);

}  // namespace minnow
