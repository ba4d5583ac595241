#pragma once

#include <concepts>
#include <string>
#include <type_traits>
#include <vector>
#include <minnow/tensor/backend/call_parameters.h>
#include <minnow/tensor/backend/capture_memory.h>
#include <minnow/tensor/scalar.h>

namespace minnow::detail {

/// What a captured call does, for comparing two captures of one step and for messages.
class CallText {
 public:
  explicit CallText(std::string name, const CaptureMemory& memory) : text_(std::move(name)), memory_(memory) {}

  void add(const View& view);
  void add(double number);
  template <std::integral T> void add(T number) { add_text(std::to_string(number)); }
  template <class E>
  requires std::is_enum_v<E>
  void add(E value) { add(static_cast<int>(value)); }
  void add(const Scalar& number) { add(number.as_double()); }
  void add(const MatmulParams& params);
  void add(const Conv2dParams& params);
  void add(const Pool2dParams& params);

  const std::string& text() const { return text_; }
  /// Whether both do the same with the same memory.
  bool operator==(const CallText& other) const { return text_ == other.text_ && outside_ == other.outside_; }

 private:
  void add_text(const std::string& text) { text_.append(text_.back() == ':' ? " " : ", ").append(text); }

  std::string text_;
  const CaptureMemory& memory_;
  std::vector<const Storage*> outside_;
};

}  // namespace minnow::detail
