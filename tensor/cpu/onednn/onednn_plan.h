#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>
#include <minnow/tensor/backend/plan_cache.h>
#include <minnow/tensor/cpu/onednn/onednn.h>
#include <minnow/tensor/internal.h>

// Plans of oneDNN with the objects that an execution needs, kept so that a steady state makes none.

namespace minnow::cpu::onednn {

/// The kind of an argument (DNNL_ARG_*) and its layout.  Arguments with the layout nothing() are left out.
struct Argument {
  int kind;
  memory::desc desc;
};

/// A primitive with memory objects for its arguments; an execution only sets their addresses.  Copies share it.
/// Threads may execute one at the same time.
class Executable {
 public:
  Executable() = default;
  /// `implementation`: oneDNN's name of what computes it.
  Executable(const dnnl::primitive& primitive, const memory::desc& scratchpad, std::initializer_list<Argument> slots,
             std::string implementation);

  explicit operator bool() const { return impl_ != nullptr; }
  std::size_t scratch_bytes() const;
  std::string implementation() const;
  /// `data`: addresses in the order of the arguments.  `scratch`: scratch_bytes() bytes.
  void run(std::string_view op, std::initializer_list<const void*> data, void* scratch) const;
  /// With scratch memory from the allocator of tensors.
  void run(std::string_view op, std::initializer_list<const void*> data) const;

 private:
  struct Impl;
  std::shared_ptr<Impl> impl_;
};

/// Makes the primitive of a plan, which must not be empty.
template <class Primitive, class Plan>
Executable executable(std::string_view op, const Plan& plan, std::initializer_list<Argument> slots) {
  require_address_space(op);
  try {
    return Executable(Primitive(plan), plan.scratchpad_desc(), slots, plan.impl_info_str());
  } catch (const dnnl::error& error) { fail(op, error); }
}

/// A copy between two layouts of the same sizes, with the arguments from and to.
Executable reorder(std::string_view op, const memory::desc& from, const memory::desc& to);

/// Copies an operand to the layout that a plan chose, if it is another one.
class Relayout {
 public:
  Relayout() = default;
  Relayout(std::string_view op, const memory::desc& have, const memory::desc& want);
  /// The size of the copy, in whole cache lines; 0 if none is needed.
  std::size_t bytes() const { return bytes_; }
  /// Copies to `room`, which has bytes() bytes, and returns it; returns `data` if the layouts are the same.
  const void* run(std::string_view op, const void* data, void* room) const;

 private:
  Executable copy_;
  std::size_t bytes_ = 0;
};

/// The numbers that a plan depends on.
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

/// The cache of all plans of one type.
template <class Plan> PlanCache<PlanKey, Plan>& plans() {
  static auto* cache = new PlanCache<PlanKey, Plan>(256);  // never destroyed
  return *cache;
}

}  // namespace minnow::cpu::onednn
