#pragma once

#include <functional>
#include <utility>

namespace minnow {

/// Owns a hook on a tensor's gradient or on a module's forward: destroying the handle removes the hook, and so does
/// remove(); after detach() the hook stays for as long as the tensor or module.
class [[nodiscard]] HookHandle {
 public:
  HookHandle() = default;
  explicit HookHandle(std::function<void()> remove) : remove_(std::move(remove)) {}
  HookHandle(HookHandle&& other) noexcept : remove_(std::exchange(other.remove_, nullptr)) {}
  HookHandle& operator=(HookHandle&& other) noexcept {
    if (this == &other) return *this;
    remove();
    remove_ = std::exchange(other.remove_, nullptr);
    return *this;
  }
  ~HookHandle() { remove(); }

  /// Removes the hook.
  void remove() noexcept {
    if (remove_) std::exchange(remove_, nullptr)();
  }
  /// Lets the hook stay, without a handle.
  void detach() noexcept { remove_ = nullptr; }

 private:
  std::function<void()> remove_;
};

}  // namespace minnow
