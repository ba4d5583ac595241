#pragma once

#include <memory>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>
#include <minnow/tensor/backend/calls.h>

// How a captured step keeps the arguments of its calls, and gives them to a replay.

namespace minnow::detail {

/// Copied as they are.
template <class T> inline constexpr bool kIsPlainArgument = std::is_arithmetic_v<T> || std::is_enum_v<T>;
template <> inline constexpr bool kIsPlainArgument<Scalar> = true;
template <> inline constexpr bool kIsPlainArgument<MatmulParams> = true;
template <> inline constexpr bool kIsPlainArgument<Conv2dParams> = true;
template <> inline constexpr bool kIsPlainArgument<Pool2dParams> = true;

/// Of memory from the pool of a captured step, replays are no owners: use counts, and what the step decides by them,
/// are those of a step that is not captured.
struct CaptureMemory {
  const Allocator& allocator;

  View without_owner(const View& view) const {
    const auto& storage = view.storage();
    return View(std::make_shared<Storage>(storage->data(), storage->bytes(), storage->device(), nullptr), view.dtype(),
                view.shape(), view.strides(), view.storage_offset());
  }
  bool owns(const View& view) const { return view.defined() && view.storage()->allocator() == &allocator; }
};

/// An argument of a captured call: made from (argument, pool); given() is what the call gets.  One for each kind of
/// argument: what is none of them may point to memory that is gone by the replay.
template <class T> class Kept {
  static_assert(sizeof(T) == 0, "a captured step does not know how to keep an argument of this type");
};

template <class T>
requires kIsPlainArgument<T>
class Kept<T> {
 public:
  Kept(const T& argument, const CaptureMemory&) : argument_(argument) {}
  const T& given() const { return argument_; }

 private:
  T argument_;
};

/// Memory that is not the pool's is kept alive, and counted as saved values are: nobody can read it who could mind that
/// it is overwritten.
template <> class Kept<View> {
 public:
  Kept(const View& argument, const CaptureMemory& pool)
      : view_(pool.owns(argument) ? pool.without_owner(argument) : argument), counts_(!pool.owns(argument)) {
    if (view_.defined() && counts_) view_.storage()->add_graph_reference(1);
  }
  Kept(Kept&& other) noexcept : view_(std::exchange(other.view_, View())), counts_(other.counts_) {}
  Kept& operator=(Kept&&) = delete;
  ~Kept() {
    if (view_.defined() && counts_) view_.storage()->add_graph_reference(-1);
  }

  /// A copy from a device into host memory may be under way again.
  const View& given() const {
    if (view_.defined()) view_.storage()->wait_ready();
    return view_;
  }
  const View& view() const { return view_; }

 private:
  View view_;
  bool counts_;
};

/// With the seed and the offset of this replay.
template <> class Kept<PhiloxState> {
 public:
  Kept(const PhiloxState& argument, const CaptureMemory&) : state_(argument) {}
  PhiloxState given() const {
    if (state_.replayed == nullptr) return state_;
    return {state_.replayed[0], state_.offset + state_.replayed[1]};
  }

 private:
  PhiloxState state_;
};

/// With the constants of this replay.
template <> class Kept<UpdateParams> {
 public:
  Kept(const UpdateParams& argument, const CaptureMemory&)
      : rule_(argument.rule),
        constants_(argument.constants.begin(), argument.constants.end()),
        replayed_(argument.replayed) {}
  UpdateParams given() const { return {rule_, {replayed_ ? replayed_ : constants_.data(), constants_.size()}}; }

 private:
  int rule_;
  std::vector<double> constants_;
  const double* replayed_;
};

template <> class Kept<std::span<const UpdateItem>> {
 public:
  Kept(std::span<const UpdateItem> items, const CaptureMemory& pool) {
    views_.reserve(items.size() * (2 + std::size(UpdateItem{}.state)));
    const auto keep = [&](const View* view) {
      return view && view->defined() ? &views_.emplace_back(*view, pool).view() : nullptr;
    };
    for (const UpdateItem& item : items) {
      UpdateItem& kept = items_.emplace_back(UpdateItem{keep(item.param), keep(item.grad), {}});
      for (std::size_t k = 0; k < std::size(item.state); ++k) kept.state[k] = keep(item.state[k]);
    }
  }
  std::span<const UpdateItem> given() const {
    for (const Kept<View>& view : views_) static_cast<void>(view.given());
    return items_;
  }

 private:
  std::vector<Kept<View>> views_;
  std::vector<UpdateItem> items_;  // of these views
};

}  // namespace minnow::detail
