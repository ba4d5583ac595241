#pragma once

#include <functional>
#include <string>
#include <vector>

namespace minnow {

/// Takes what the library has to say that is no error.
using WarningHandler = std::function<void(const std::string& text)>;

/// Sets where warnings go, and returns the handler before; an empty one prints them to stderr, as at first.  Any thread
/// may call the handler, one at a time; it may not set another.
WarningHandler set_warning_handler(WarningHandler handler);

/// Gives the handler a warning.  What the handler throws is lost.
void warn(const std::string& text) noexcept;

namespace detail {

/// A warning about tensors that training may miss, kept until it is known whether it does.  Each text is kept once in
/// the life of the process.
void warn_later(const std::string& text, std::vector<const void*> tensor_ids);
/// Whether there are such: cheap, for every step.
bool has_late_warnings() noexcept;
/// Warns of all of them and forgets them, without a word of those whose tensors are all known.
void give_late_warnings(const std::function<bool(const void* tensor_id)>& known) noexcept;

}  // namespace detail

}  // namespace minnow
