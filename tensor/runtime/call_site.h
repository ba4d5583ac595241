#pragma once

#include <string_view>
#include <minnow/tensor/source_location.h>

namespace minnow::detail {

/// The operation that a thread works for, and the user's line.  Errors, graph nodes, device faults and profile ranges
/// read both from here.  Every public function opens a CallSite first, for as long as it runs.  The outermost open one
/// on a thread counts, so that a function composed of others is named by what the user called:
///
///     Tensor distance(const In& a, const In& b) {
///       const CallSite site("distance", a.where);
///       return sqrt(sum(square(a - b)));
///     }
///
/// Costs a few loads and stores.  `op` must outlive the scope (a literal).
class CallSite {
 public:
  [[nodiscard]] CallSite(const char* op, SourceLocation where) noexcept;
  /// Only the line: operations inside have their own names.
  [[nodiscard]] explicit CallSite(SourceLocation where) noexcept;
  ~CallSite();
  CallSite(const CallSite&) = delete;
  CallSite& operator=(const CallSite&) = delete;

  /// Replaces the open ones, for work that belongs to an earlier call, such as a gradient function.
  [[nodiscard]] static CallSite instead(const char* op, SourceLocation where) noexcept;
  /// Hides the open ones while the library calls a function of the user: operations that it calls open their own.
  [[nodiscard]] static CallSite none() noexcept;

  /// Whether this is the one that counts.
  bool is_outermost() const noexcept;
  /// Its own operation; nullptr of one that has only a line.
  const char* name() const noexcept { return op_; }
  /// Whether it is of an earlier call (instead).
  bool is_earlier() const noexcept { return earlier_; }

  /// Whether an operation is open on this thread.
  static bool is_open() noexcept;
  /// Its name (a C string); empty if none is open.
  static std::string_view op() noexcept;
  static std::string_view op_or(std::string_view other) noexcept;
  /// The user's line; line 0 if it is not known.
  static SourceLocation where() noexcept;
  static SourceLocation where_or(SourceLocation other) noexcept;

 private:
  CallSite(const char* op, SourceLocation where, bool has_line) noexcept;
  void count() noexcept;

  // Read only if this is the site that counts.
  const char* op_ = nullptr;
  SourceLocation where_{};
  bool has_line_ = false;  // where_ was given, though it may be unknown
  bool earlier_ = false;
  const CallSite* const outer_;
};

}  // namespace minnow::detail
