#pragma once

#include <cstddef>

namespace minnow::data::detail {

/// Copies to memory that other cores read next, past this core's cache where the processor can.  The readers of the
/// batch before still hold its lines, and a cache would have to take back each: ten times what the copy takes.
/// What was copied is another thread's to read after finish_copies().
void copy_past_cache(const void* from, void* to, std::size_t bytes);
void finish_copies();

}  // namespace minnow::data::detail
