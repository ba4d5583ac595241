#pragma once

#include <exception>
#include <system_error>
#include <thread>
#include <vector>

namespace minnow::data::detail {

/// Calls part(k) for each k in [0, parts), on as many threads; where the system has no more threads, on this one.
/// Rethrows the exception of the first part that threw.
template <class F> void run_parts(int parts, const F& part) {
  std::vector<std::exception_ptr> errors(static_cast<std::size_t>(parts));
  const auto guarded = [&](int k) noexcept {
    try {
      part(k);
    } catch (...) { errors[static_cast<std::size_t>(k)] = std::current_exception(); }
  };
  int first = 0;  // of those that this thread does
  {
    std::vector<std::jthread> threads;
    try {
      threads.reserve(static_cast<std::size_t>(parts));
      for (; first + 1 < parts; ++first) threads.emplace_back(guarded, first);
    } catch (const std::system_error&) {  // no more threads
    }
    for (; first < parts; ++first) guarded(first);
  }
  for (const auto& error : errors)
    if (error) std::rethrow_exception(error);
}

}  // namespace minnow::data::detail
