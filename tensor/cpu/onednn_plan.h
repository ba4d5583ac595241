#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <string_view>
#include <type_traits>
#include <minnow/tensor/backend/plan_cache.h>
#include <minnow/tensor/cpu/onednn.h>
#include <minnow/tensor/internal.h>

// What oneDNN prepared for a shape, kept with the objects that an execution needs: a settled step makes none.

namespace minnow::cpu::onednn {

/// Where an argument goes (DNNL_ARG_*), and its layout.  One without a layout, nothing(), is left out.
struct Slot {
  int kind;
  memory::desc desc;
};

/// A primitive with memory objects for its arguments, of which each execution changes the addresses only.  Several
/// threads may execute one at the same time.  Copies share it.
class Executable {
 public:
  Executable() = default;
  Executable(const dnnl::primitive& primitive, const memory::desc& scratchpad, std::initializer_list<Slot> slots);

  explicit operator bool() const { return state_ != nullptr; }
  std::size_t scratch_bytes() const;
  /// `data`: the arguments' addresses in the order of the slots.  `scratch`: scratch_bytes() bytes.
  void run(std::string_view op, std::initializer_list<const void*> data, void* scratch) const;
  /// With working memory from the allocator of tensors.
  void run(std::string_view op, std::initializer_list<const void*> data) const;

 private:
  struct State;
  std::shared_ptr<State> state_;
};

/// The primitive of a plan (a primitive descriptor that is not empty).
template <class Primitive, class Plan>
Executable executable(std::string_view op, const Plan& plan, std::initializer_list<Slot> slots) {
  check_room(op);
  try {
    return Executable(Primitive(plan), plan.scratchpad_desc(), slots);
  } catch (const dnnl::error& error) { fail(op, error); }
}

/// Copies between two layouts of the same sizes: arguments from, to.
Executable reorder(std::string_view op, const memory::desc& from, const memory::desc& to);

/// Brings an operand into the layout that a plan chose, where that is another.
class Relayout {
 public:
  Relayout() = default;
  Relayout(std::string_view op, const memory::desc& have, const memory::desc& want);
  /// Of the copy, in whole cache lines; 0 where none is made.
  std::size_t bytes() const { return bytes_; }
  /// The copy, made in `room` of bytes(); `data` itself where the layouts are the same.
  const void* run(std::string_view op, const void* data, void* room) const;

 private:
  Executable copy_;
  std::size_t bytes_ = 0;
};

/// The numbers that tell one plan from another.
class PlanKey {
 public:
  template <class... Numbers>
  requires(std::is_arithmetic_v<Numbers>&&...) PlanKey& add(Numbers... numbers) {
    (put(static_cast<std::int64_t>(numbers)), ...);
    return *this;
  }
  PlanKey& add(double number) {
    put(std::bit_cast<std::int64_t>(number));
    return *this;
  }
  PlanKey& add(const Shape& shape);

  friend bool operator==(const PlanKey&, const PlanKey&) = default;
  std::size_t hash() const;

 private:
  void put(std::int64_t number) { numbers_.at(size_++) = number; }

  std::array<std::int64_t, 32> numbers_{};
  std::size_t size_ = 0;
};

/// The plans of one kind.
template <class Plan> PlanCache<PlanKey, Plan>& plans() {
  static auto* cache = new PlanCache<PlanKey, Plan>(256);  // never destroyed
  return *cache;
}

}  // namespace minnow::cpu::onednn
