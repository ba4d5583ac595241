#pragma once

#include <utility>

namespace minnow::cuda {

/// Owns an object of a C library: a descriptor, a handle, an event.
template <class T, class Status> class Handle {
 public:
  using Destroy = Status (*)(T);

  Handle() = default;
  Handle(T object, Destroy destroy) : object_(object), destroy_(destroy) {}
  Handle(Handle&& other) noexcept
      : object_(std::exchange(other.object_, T())), destroy_(std::exchange(other.destroy_, nullptr)) {}
  Handle& operator=(Handle&& other) noexcept {
    std::swap(object_, other.object_);
    std::swap(destroy_, other.destroy_);
    return *this;
  }
  ~Handle() {
    if (destroy_) static_cast<void>(destroy_(object_));
  }

  T get() const { return object_; }
  explicit operator bool() const { return destroy_ != nullptr; }

 private:
  T object_ = T();
  Destroy destroy_ = nullptr;
};

}  // namespace minnow::cuda
