#pragma once

#include <string_view>
#include <minnow/tensor/source_location.h>

namespace minnow::detail {

/// Who called: the operation, and the user's line.  Errors, nodes of the graph, failures of devices and ranges of a
/// profile read both from here.  Every public function opens one first, for as long as it runs; of those that are open
/// on a thread the outermost counts, so that what a function is composed of is named by what the user called:
///
///     Tensor distance(const In& a, const In& b) {
///       const CallSite site("distance", a.where);
///       return sqrt(sum(square(a - b)));
///     }
///
/// Costs a few loads and stores.  `op` is a literal, or outlives the scope.
class CallSite {
 public:
  [[nodiscard]] CallSite(const char* op, SourceLocation where) noexcept;
  /// The line alone: operations within have their own names.
  [[nodiscard]] explicit CallSite(SourceLocation where) noexcept;
  ~CallSite();
  CallSite(const CallSite&) = delete;
  CallSite& operator=(const CallSite&) = delete;

  /// In place of those that are open: for work that belongs to an earlier call, as a gradient does.
  [[nodiscard]] static CallSite instead(const char* op, SourceLocation where) noexcept;
  /// None, for a function of the user's that the library calls: what is called there is named as it is elsewhere.
  [[nodiscard]] static CallSite none() noexcept;

  /// Whether an operation is under way.
  static bool is_open() noexcept;
  /// Its name, a C string; empty where there is none.
  static std::string_view op() noexcept;
  static std::string_view op_or(std::string_view other) noexcept;
  /// The user's line; 0 where it is not known.
  static SourceLocation where() noexcept;
  static SourceLocation where_or(SourceLocation other) noexcept;

 private:
  CallSite(const char* op, SourceLocation where, bool has_line) noexcept;

  // Only read where this is the one that counts.
  const char* op_ = nullptr;
  SourceLocation where_{};
  bool has_line_ = false;  // it may be a line that is not known
  const CallSite* const outer_;
};

}  // namespace minnow::detail
