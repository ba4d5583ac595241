#pragma once

#include <memory>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>
#include <minnow/tensor/backend/call_text.h>
#include <minnow/tensor/backend/calls.h>
#include <minnow/tensor/backend/capture_memory.h>

// How a capture keeps the arguments of its calls for the replays.

namespace minnow::detail {

/// Arguments that are copied.
template <class T> inline constexpr bool kIsPlainArgument = std::is_arithmetic_v<T> || std::is_enum_v<T>;
template <> inline constexpr bool kIsPlainArgument<Scalar> = true;
template <> inline constexpr bool kIsPlainArgument<MatmulParams> = true;
template <> inline constexpr bool kIsPlainArgument<Conv2dParams> = true;
template <> inline constexpr bool kIsPlainArgument<Pool2dParams> = true;

/// An argument of a captured call.  value() is the argument of the replayed call; describe() adds what must not change if
/// the step is captured again.  There is a specialization for each
/// type of argument; one of another type could refer to memory that is freed before the replay.
template <class T> class CapturedArgument {
  static_assert(sizeof(T) == 0, "a captured call cannot keep an argument of this type");
};

template <class T>
requires kIsPlainArgument<T>
class CapturedArgument<T> {
 public:
  CapturedArgument(const T& argument, CaptureMemory&) : argument_(argument) {}
  const T& value() const { return argument_; }
  void describe(CallText& text) const { text.add(argument_); }

 private:
  T argument_;
};

template <> class CapturedArgument<View> {
 public:
  CapturedArgument(const View& argument, CaptureMemory& memory)
      : view_(memory.kept(argument)), is_counted_(memory.is_outside(argument)) {
    if (is_counted_) view_.storage()->add_graph_reference(1);
  }
  CapturedArgument(CapturedArgument&& other) noexcept
      : view_(std::exchange(other.view_, View())), is_counted_(other.is_counted_) {}
  CapturedArgument& operator=(CapturedArgument&&) = delete;
  ~CapturedArgument() {
    if (view_.defined() && is_counted_) view_.storage()->add_graph_reference(-1);
  }

  /// Waits for a copy from a device into this host memory, which may have begun since the capture.
  const View& value() const {
    if (view_.defined()) view_.storage()->wait_ready();
    return view_;
  }
  const View& view() const { return view_; }
  void describe(CallText& text) const { text.add(view_); }

 private:
  View view_;
  bool is_counted_;
};

/// The value has the seed and the offset of this replay.
template <> class CapturedArgument<PhiloxState> {
 public:
  CapturedArgument(const PhiloxState& argument, CaptureMemory&) : state_(argument) {}
  PhiloxState value() const {
    if (state_.replayed == nullptr) return state_;
    return {state_.replayed[0], state_.offset + state_.replayed[1]};
  }
  void describe(CallText& text) const {
    if (state_.replayed == nullptr) text.add(state_.offset);
  }

 private:
  PhiloxState state_;
};

/// The value has the constants of this replay.
template <> class CapturedArgument<UpdateParams> {
 public:
  CapturedArgument(const UpdateParams& argument, CaptureMemory&)
      : rule_(argument.rule),
        constants_(argument.constants.begin(), argument.constants.end()),
        replayed_(argument.replayed) {}
  void describe(CallText& text) const { text.add(rule_); }
  UpdateParams value() const { return {rule_, {replayed_ ? replayed_ : constants_.data(), constants_.size()}}; }

 private:
  int rule_;
  std::vector<double> constants_;
  const double* replayed_;
};

template <> class CapturedArgument<std::span<const UpdateItem>> {
 public:
  CapturedArgument(std::span<const UpdateItem> items, CaptureMemory& memory) {
    views_.reserve(items.size() * (2 + std::size(UpdateItem{}.state)));
    const auto keep = [&](const View* view) {
      return view && view->defined() ? &views_.emplace_back(*view, memory).view() : nullptr;
    };
    for (const UpdateItem& item : items) {
      UpdateItem& kept = items_.emplace_back(UpdateItem{keep(item.param), keep(item.grad), {}});
      for (std::size_t k = 0; k < std::size(item.state); ++k) kept.state[k] = keep(item.state[k]);
    }
  }
  std::span<const UpdateItem> value() const {
    for (const CapturedArgument<View>& view : views_) static_cast<void>(view.value());
    return items_;
  }
  void describe(CallText& text) const {
    for (const CapturedArgument<View>& view : views_) view.describe(text);
  }

 private:
  std::vector<CapturedArgument<View>> views_;
  std::vector<UpdateItem> items_;  // refer to views_
};

}  // namespace minnow::detail
