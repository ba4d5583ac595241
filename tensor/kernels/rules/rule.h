#pragma once

#include <cstdint>
#include <iterator>
#include <limits>
#include <type_traits>
#include <utility>
#include <minnow/tensor/kernels/hd.h>
#include <minnow/tensor/kernels/math.h>

namespace minnow::detail::kernels {}
namespace minnow::optim {
template <class Rule> class RuleOptimizer;  // optim/optimizers.h
namespace detail {
namespace kernels = minnow::detail::kernels;
}
}  // namespace minnow::optim

/// An optimizer is one file in this folder and one entry in the list of kernels/update.h.  It is here, below the
/// backends, because their loops inline the update of one element; they name no rule.  A rule has
///   kName      the optimizer's name, for messages
///   Options    the user's options with their defaults; `lr` is one of them
///   options    calls f(name, number, range, example) or f(name, flag) for each option; used by checks and checkpoints
///   conflict   optional: an error text for options that do not go together, or nullptr
///   takes_rows  optional: whether an element of gradient 0 stays as it is, or may with a sparse gradient
///   kStates    the tensors that it keeps for each parameter, of the same shape
///   Loops      optional: another rule with the same step, whose Constants it computes
///   constants  the Constants<double> of one pass, from the options and the parameter's step (from 1); `first`: its state
///              was never updated.  The loops convert them to the type that they compute in.
///   step       updates one element: (constants, parameter, gradient, a reference for each state).  A state that the
///              options leave out is `Absent` (see kPresent).
namespace minnow::detail::kernels {

/// The allowed range of a number: finite, and in [low, high], or in [low, high) if `below`.
struct OptionRange {
  double low = -std::numeric_limits<double>::infinity();
  double high = std::numeric_limits<double>::infinity();
  bool below = false;
};
inline constexpr OptionRange kFinite{};
inline constexpr OptionRange kAtLeast0{0};
inline constexpr OptionRange kFrom0To1{0, 1};
inline constexpr OptionRange kFrom0Below1{0, 1, true};

/// A tensor that a rule keeps for each parameter: always, or only if a flag is set or a number is not 0.
template <class Options> struct RuleState {
  using Flag = bool Options::*;
  using Number = double Options::*;
  const char* name;
  Flag flag = nullptr;
  Number number = nullptr;

  constexpr RuleState(const char* always) : name(always) {}
  constexpr RuleState(const char* n, Flag where_set) : name(n), flag(where_set) {}
  constexpr RuleState(const char* n, Number where_not_0) : name(n), number(where_not_0) {}

  constexpr bool is_optional() const { return flag != nullptr || number != nullptr; }
  constexpr bool is_used(const Options& options) const {
    if (flag != nullptr) return options.*flag;
    return number == nullptr || options.*number != 0;
  }
};

/// Replaces a state that the options leave out.
struct Absent {};
template <class State> inline constexpr bool kPresent = !std::is_same_v<std::remove_cvref_t<State>, Absent>;

template <class Rule> inline constexpr int kNumStates = static_cast<int>(std::size(Rule::kStates));

/// A set of states is a number, bit k for state k.  All sets; allows() says which of them a rule can have.
template <class Rule> using StateSets = std::make_integer_sequence<unsigned, 1U << kNumStates<Rule>>;
template <class Rule> constexpr bool allows(unsigned states) {
  for (int k = 0; k < kNumStates<Rule>; ++k)
    if (!Rule::kStates[k].is_optional() && (states >> k & 1U) == 0) return false;
  return true;
}
/// The type of state k for step(): T or Absent.
template <class T, unsigned States, int K> using StateElement = std::conditional_t<(States >> K & 1U) != 0, T, Absent>;

template <class Rule>
inline constexpr int kNumConstants = sizeof(typename Rule::template Constants<double>) / sizeof(double);

/// The constants of a rule in T, from the doubles in a call.
template <class Rule, class T> MINNOW_HD typename Rule::template Constants<T> constants_in(const double* numbers) {
  using Constants = typename Rule::template Constants<T>;
  struct Numbers {
    T at[kNumConstants<Rule>];
  } values;
  static_assert(sizeof(Constants) == sizeof(Numbers), "constants are all of type T");
  for (int k = 0; k < kNumConstants<Rule>; ++k) values.at[k] = static_cast<T>(numbers[k]);
  return __builtin_bit_cast(Constants, values);
}

}  // namespace minnow::detail::kernels
