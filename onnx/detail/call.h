#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>
#include <minnow/onnx/detail/graph.h>
#include <minnow/onnx/detail/recorder.h>

namespace minnow::onnx::detail {

/// A size or another integer in both runs.
struct Size {
  std::int64_t a = 0, b = 0;

  bool fixed() const { return a == b; }
  friend bool operator==(const Size&, const Size&) = default;
};
using Sizes = std::vector<Size>;

/// A dimension of an input that is left open.
struct Symbol {
  std::string name;
  std::size_t input;
  int dim;
  Size size;
};

/// Two recordings of a forward, and the graph that is made of them.
struct Export {
  const Recorder &a, &b;
  std::vector<Symbol> symbols;
  std::vector<std::string> input_names;
  Graph graph;
  std::unordered_map<std::size_t, std::size_t> other = {};  ///< values of a: those of b
  std::unordered_map<std::size_t, std::string> names = {};  ///< of values of a
  SourceLocation where;

  Sizes sizes_of(std::size_t value) const;
};

/// A call of a function in both recordings, for the rule that exports it.
class Call {
 public:
  Call(Export& e, const Record& a, const Record& b) : g(e.graph), e_(e), a_(a), b_(b) {}

  Graph& g;

  // Operands by their numbers.
  std::size_t count() const { return a_.operands.size(); }
  bool has(std::size_t i) const { return i < count() && a_.operands[i] != kNone; }
  const std::string& in(std::size_t i) const { return e_.names.at(a_.operands[i]); }
  /// The same, converted to the result's dtype.
  std::string in_as_result(std::size_t i) const { return as(in(i), x(i).dtype(), y().dtype()); }
  const Tensor& x(std::size_t i) const { return e_.a.value(a_.operands[i]).tensor; }
  Sizes sizes(std::size_t i) const { return e_.sizes_of(a_.operands[i]); }

  const Tensor& y(std::size_t i = 0) const { return e_.a.value(a_.results[i]).tensor; }
  bool has_result(std::size_t i) const { return i < a_.results.size() && a_.results[i] != kNone; }
  Sizes result_sizes(std::size_t i = 0) const { return e_.sizes_of(a_.results[i]); }
  void give(const std::string& name, std::size_t i = 0) { e_.names[a_.results[i]] = name; }
  /// What was given.
  const std::string& result_name() const { return e_.names.at(a_.results[0]); }

  // Arguments, which are equal in both: otherwise an error names the line.
  bool flag(const char* name) const;
  double number(const char* name) const;
  std::int64_t integer(const char* name) const;
  std::string text(const char* name) const;
  std::vector<std::int64_t> list(const char* name) const;
  std::vector<double> numbers(const char* name) const;
  // Integers that may differ.
  Size size(const char* name) const;
  Sizes integers(const char* name) const;

  /// A size as a vector of one element.  An error names the line where it is not one of an operand or an input, or a
  /// multiple of these.
  std::string sized(Size size) const;
  /// Several, as a vector.
  std::string sized(const Sizes& sizes) const;
  /// A value in another shape.   from: its sizes, if they are known.
  std::string reshaped(const std::string& value, const Sizes& from, const Sizes& to) const;
  std::string as(const std::string& value, DType from, DType to) const;
  std::string axes(const std::vector<std::int64_t>& dims) const { return g.list(dims); }

  [[noreturn]] void refuse(const std::string& why) const;

 private:
  const Argument& argument(const Record& record, const char* name) const;
  template <class T> const T& equal(const char* name) const;
  std::string found(Size size) const;

  Export& e_;
  const Record &a_, &b_;
};

}  // namespace minnow::onnx::detail
