#pragma once

#include <functional>
#include <string>
#include <vector>
#include <minnow/tensor/source_location.h>

namespace minnow {

/// Receives the warnings of the library.
using WarningHandler = std::function<void(const std::string& text)>;

/// Sets the handler and returns the one before.  An empty handler, the default, prints to stderr.  The handler is
/// called on any thread, one at a time, and must not set another.
WarningHandler set_warning_handler(WarningHandler handler);

/// Passes a warning to the handler.  Exceptions of the handler are ignored.
void warn(const std::string& text) noexcept;

namespace detail {

/// Gives a warning that ends with its place, each text once per process; with a kind, each kind once for each place.
void warn_once(const std::string& text, SourceLocation where, const std::string& kind = {}) noexcept;
/// Keeps a warning about tensors that may be missing in training, until that is known.  Each text is kept once per
/// process.
void warn_later(const std::string& text, std::vector<const void*> tensor_ids);
/// Whether there are such warnings; cheap enough for every step.
bool has_late_warnings() noexcept;
/// Gives these warnings and forgets them; those whose tensors are all known are dropped.
void give_late_warnings(const std::function<bool(const void* tensor_id)>& known) noexcept;

}  // namespace detail

}  // namespace minnow
