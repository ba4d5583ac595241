#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <shared_mutex>
#include <string>
#include <string_view>
#include <type_traits>
#include <unordered_map>
#include <utility>
#include <minnow/capi/minnow_c.h>
#include <minnow/onnx/onnx.h>
#include <minnow/optim/optimizer.h>
#include <minnow/tensor/device.h>
#include <minnow/tensor/dtype.h>
#include <minnow/tensor/error.h>
#include <minnow/tensor/runtime/call_site.h>
#include <minnow/tensor/tensor.h>

// What each function of the C interface does first: it opens a call, finds what handles stand for, and turns
// exceptions into a status.
namespace minnow::capi {

/// What handles of one kind stand for.  A handle is a number, never an address, and no number is given twice: of one
/// that was freed nothing is read.
template <class T> class Handles {
 public:
  std::uintptr_t add(std::shared_ptr<T> object, std::atomic<std::uintptr_t>& last) {
    const std::unique_lock lock(mutex_);
    const std::uintptr_t handle = ++last;
    objects_.emplace(handle, std::move(object));
    return handle;
  }
  std::shared_ptr<T> find(std::uintptr_t handle) const {
    const std::shared_lock lock(mutex_);
    const auto at = objects_.find(handle);
    return at == objects_.end() ? nullptr : at->second;
  }
  /// The object, which ends outside of the lock: a deleter may call other functions.
  std::shared_ptr<T> remove(std::uintptr_t handle) {
    const std::unique_lock lock(mutex_);
    auto node = objects_.extract(handle);
    return node ? std::move(node.mapped()) : nullptr;
  }
  std::size_t size() const {
    const std::shared_lock lock(mutex_);
    return objects_.size();
  }

 private:
  mutable std::shared_mutex mutex_;
  std::unordered_map<std::uintptr_t, std::shared_ptr<T>> objects_;
};

struct AllHandles {
  std::atomic<std::uintptr_t> last{0};
  Handles<Tensor> tensors;
  Handles<onnx::Model> modules;
  Handles<optim::Optimizer> optimizers;
};
AllHandles& handles();

template <class Handle> struct Kind;
template <> struct Kind<minnow_tensor> {
  static constexpr const char* name = "tensor";
  static auto& table() { return handles().tensors; }
};
template <> struct Kind<minnow_module> {
  static constexpr const char* name = "module";
  static auto& table() { return handles().modules; }
};
template <> struct Kind<minnow_optimizer> {
  static constexpr const char* name = "optimizer";
  static auto& table() { return handles().optimizers; }
};

/// A call of a C function, while it runs.
struct Call {
  const char* op;
  SourceLocation where;

  [[noreturn]] void refuse(const std::string& why) const;
  /// The pointer, if it is none to nothing.
  template <class P> P* given(P* pointer, const char* name) const {
    if (!pointer) refuse(std::string(name) + " is NULL\npass its address");
    return pointer;
  }
  /// The device of a text, and the dtype of a number.
  Device device(const char* text) const { return Device(std::string_view(given(text, "the device")), where); }
  DType dtype(minnow_dtype dtype) const;
  /// What a handle stands for; the caller's share keeps it alive while another thread frees the handle.
  template <class Handle> auto get(const Handle* handle, const char* name = Kind<Handle>::name) const {
    auto object = Kind<Handle>::table().find(reinterpret_cast<std::uintptr_t>(given(handle, name)));
    if (!object)
      refuse(std::string(name) + " is no handle of a " + Kind<Handle>::name +
             "\nit was freed, or is a handle of another kind");
    return object;
  }
  template <class Handle, class T> void put(T object, Handle** result) const {
    auto& table = Kind<Handle>::table();
    *result = reinterpret_cast<Handle*>(table.add(std::move(object), handles().last));
  }
};

/// A text that lives until this thread's next.
const char* kept(std::string text);

SourceLocation take_line() noexcept;
/// The status of the exception that is being handled, whose text is kept.
minnow_status keep_error(const char* op) noexcept;

template <class F> minnow_status run(const char* op, const F& f) noexcept {
  const Call call{op, take_line()};
  try {
    const minnow::detail::CallSite site(call.where);
    f(call);
    return MINNOW_OK;
  } catch (...) { return keep_error(op); }
}
/// The same of a function with a result, which is given another value before.
template <class R, class F> minnow_status run(const char* op, R* result, const F& f) noexcept {
  if (result) *result = R{};
  return run(op, [&](const Call& call) {
    call.given(result, "the pointer for the result");
    f(call);
  });
}

}  // namespace minnow::capi
