#pragma once

#include <cstdint>
#include <minnow/tensor/internal.h>

namespace minnow::cpu {

/// The windows of a row: elements begin[o], begin[o] + step, ... before end[o] for each of `count` outputs.  Elements
/// are columns of `inner` numbers.
struct RowWindows {
  const std::int64_t *begin, *end;
  std::int64_t count, step, inner;
};

/// `count` windows, each `apart` (1 or 2) elements after the one before, of the elements 0, step, ... of `taps`;
/// `column` is the first element's number.
struct ColumnWindows {
  std::int64_t count, step, column;
  int taps, apart;
};

/// Pooling in float or double.  Of equal elements the first is the largest, of several NaNs the last.
struct WindowLoops {
  /// best = the largest elements of `count` rows (1 or more), and `at` = position + row * rows_apart.
  void (*largest_rows)(const void* x, std::int64_t stride, std::int64_t count, std::int64_t n, std::int32_t position,
                       std::int32_t rows_apart, void* best, std::int32_t* at);
  /// best = the largest element of each window, where `rows` + the element's column is its place, which becomes `at`;
  /// without `rows` its column alone.
  void (*take_columns)(const void* x, const std::int32_t* rows, const ColumnWindows& windows, void* best,
                       std::int32_t* at);
  /// The same of other windows; -infinity and 0 of one without elements.
  void (*largest_windows)(const void* x, const std::int32_t* rows, const RowWindows& windows, void* best,
                          std::int32_t* at);
  /// y += x.
  void (*add)(const void* x, std::int64_t n, void* y);
  /// The sum of rows (1 or more), each divided by its count.
  void (*sum_rows)(const void* x, std::int64_t stride, const double* counts, std::int64_t rows, std::int64_t n,
                   void* y);
  /// The sum of each window.
  void (*sum_windows)(const void* x, const RowWindows& windows, void* y);
  /// Adds an element for each window to all elements of it.
  void (*add_to_windows)(const void* x, const RowWindows& windows, void* y);
  /// Columns divided by their counts times `times`.
  void (*divide)(void* y, const double* counts, double times, std::int64_t n, std::int64_t inner);
};
struct WindowTable {
  WindowLoops loops[2];  ///< of float, of double
};

/// Those of the current instruction set.
const WindowTable& window_loops();

}  // namespace minnow::cpu
