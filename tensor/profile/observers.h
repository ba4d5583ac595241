#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <typeinfo>
#include <vector>
#include <minnow/tensor/device.h>
#include <minnow/tensor/source_location.h>

namespace minnow {
class Event;
class Tensor;
}  // namespace minnow

namespace minnow::detail {

class CallSite;
class Operands;
struct Told;

/// Told of the operations of the thread that made it, and of gradient functions, whose sites are is_earlier(), while it
/// lives.  Gets begin and end in pairs, nested, but for the operations that were open when it was made.  Observers
/// nest: what one does not override goes on to the one before, and so should what it does.
class CallObserver {
 public:
  CallObserver(const CallObserver&) = delete;
  CallObserver& operator=(const CallObserver&) = delete;

  virtual void begin(const CallSite& site) noexcept;
  virtual void end(const CallSite& site) noexcept;
  /// The open operation asks a backend to compute with these; it may do so several times.  What this throws it throws.
  virtual void operands(const Operands& operands);
  /// A function, the open one or one that it is made of, has computed something (tensor/backend/tell.h).  What this
  /// throws it throws.
  virtual void told(const Told& told);
  /// The host gets the elements of a tensor, in the open operation or outside of one, by `op` (a literal).
  virtual void read(const char* op, const Tensor& x) noexcept;
  /// The open operation has recorded a node with this number (autograd::Node::order).
  virtual void recorded(std::uint64_t node) noexcept;
  /// The gradient function that begins next is that of this node.
  virtual void runs(std::uint64_t node) noexcept;

 protected:
  CallObserver() noexcept;
  ~CallObserver();

 private:
  CallObserver* outer_;
};

/// What a Scope is of, for those who add up the parts of a step.
enum class ScopeKind : std::uint8_t { range, module, backward, step, wait, batch, copy };

/// A coarse part of a thread's work: a call of a module, a backward, the wait for a batch.
struct Scope {
  const void* key;  ///< ends it
  ScopeKind kind;
  const char* name;                      ///< of a module its path, which is empty if it has none
  SourceLocation where{};                ///< if it is known
  std::int64_t bytes = 0;                ///< that are copied
  const std::type_info* type = nullptr;  ///< of a module
  std::string (*type_name)(const void* key) = nullptr;
  const void* module = nullptr;  ///< the same for all handles of a module
  bool records = false;          ///< a module whose operations are recorded for backward
};

/// A trace of a thread, for others that work for it.  Programs without traces have only this of them.
class SharedTrace {
 public:
  virtual ~SharedTrace() = default;
  /// Puts the calling thread, `name` and `number`, into the trace for as long as the result lives; nothing if memory
  /// runs out.
  virtual std::shared_ptr<const void> follow(const char* name, int number) noexcept = 0;
};

/// The same for scopes, of which there are few: none for each operation.
class ScopeObserver {
 public:
  ScopeObserver(const ScopeObserver&) = delete;
  ScopeObserver& operator=(const ScopeObserver&) = delete;

  virtual void enter(const Scope& scope) noexcept;
  virtual void leave(const void* key) noexcept;
  /// A number that changes over time.
  virtual void count(const char* name, std::int64_t value) noexcept;
  /// Work of the open scope runs on a device between two events.
  virtual void on_device(Device device, const Event& start, const Event& end) noexcept;
  /// The innermost trace, for threads that work for this one; nullptr if there is none.
  virtual std::shared_ptr<SharedTrace> trace() const noexcept;

 protected:
  ScopeObserver() noexcept;
  ~ScopeObserver();

 private:
  ScopeObserver* outer_;
};

/// Ends, by `end`, what is open down to the scope of this key, the innermost first: scopes need not end in order.
/// Nothing if that began before the observer was made.
template <class Open, class End> void end_down_to(const void* key, std::vector<Open>& open, const End& end) {
  const auto found = std::find_if(open.rbegin(), open.rend(), [&](const Open& o) { return o.key == key; });
  if (found == open.rend()) return;
  for (auto left = found - open.rbegin(); left >= 0; --left) {
    end(open.back());
    open.pop_back();
  }
}

/// A scope for as long as it lives.
class OpenScope {
 public:
  [[nodiscard]] OpenScope(ScopeKind kind, const char* name, std::int64_t bytes = 0) noexcept;
  ~OpenScope();
  OpenScope(const OpenScope&) = delete;
  OpenScope& operator=(const OpenScope&) = delete;

  /// Its work runs on a device between two events; it is the innermost scope.
  void on_device(Device device, const Event& start, const Event& end) const noexcept;

 private:
  void enter(ScopeKind kind, const char* name, std::int64_t bytes) const noexcept;
};

}  // namespace minnow::detail
