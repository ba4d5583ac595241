#include <minnow/tensor/profile.h>

#include <atomic>
#include <cstdlib>
#include <string_view>

namespace minnow::profile {
namespace {

std::atomic<bool>& enabled() {
  static std::atomic<bool> on = [] {
    const char* value = std::getenv("MINNOW_PROFILE");
    return value && *value && std::string_view(value) != "0";
  }();
  return on;
}

}  // namespace

void set_enabled(bool on) { enabled().store(on, std::memory_order_relaxed); }

bool is_enabled() { return enabled().load(std::memory_order_relaxed); }

Range::Range(const char* name) : open_(is_enabled()) {
  if (open_) detail::push_range(name);
}

Range::~Range() {
  if (open_) detail::pop_range();
}

}  // namespace minnow::profile
