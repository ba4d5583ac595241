#pragma once

#include <functional>
#include <utility>

namespace minnow {

/// A hook on a tensor's gradient or on a module's forward: it is called while its handle lives.  Keep the handle, end
/// the hook by remove(), or let it stay for as long as the tensor or module by detach().
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

  /// The hook is called no more.
  void remove() noexcept {
    if (remove_) std::exchange(remove_, nullptr)();
  }
  /// The hook stays; this handle has nothing to do with it any more.
  void detach() noexcept { remove_ = nullptr; }

 private:
  std::function<void()> remove_;
};

}  // namespace minnow
