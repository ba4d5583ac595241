#pragma once

#include <initializer_list>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>
#include <minnow/autograd/autocast_scope.h>
#include <minnow/tensor/backend/dispatch.h>
#include <minnow/tensor/runtime/calling_thread.h>

namespace minnow::detail {

/// What a guard does with the operands of an operation.  Those that are not floating-point, or float64, stay.
enum class Cast : std::uint8_t {
  kKept,
  kLower,   ///< to the guard's dtype
  kWide,    ///< to float32
  kWidest,  ///< to float32 if one of them is, else to the guard's dtype
  kRefused  ///< DTypeError: its gradient would overflow
};
using enum Cast;

/// The rule of an operation, on cpu and sim and on cuda: PyTorch's lists (tests/golden/make_autocast.py).
struct Precision {
  constexpr Precision(Cast everywhere) : on_cpu(everywhere), on_cuda(everywhere) {}
  constexpr Precision(Cast cpu, Cast cuda) : on_cpu(cpu), on_cuda(cuda) {}
  constexpr bool changes() const { return on_cpu != kKept || on_cuda != kKept; }

  Cast on_cpu, on_cuda;
};

/// The operands of an operation as an Autocast guard wants them; none if they stay as they are.
class AutocastOperands {
 public:
  AutocastOperands() = default;
  explicit AutocastOperands(std::size_t count) : operands_(new Tensor[count]) {}
  explicit operator bool() const { return operands_ != nullptr; }
  Tensor& operator[](std::size_t i) { return operands_[i]; }
  const Tensor& operator[](std::size_t i) const { return operands_[i]; }

 private:
  struct Delete {
    void operator()(Tensor* operands) const noexcept;
  };
  std::unique_ptr<Tensor[], Delete> operands_;
};

AutocastOperands autocast_operands(const CallSite& site, Precision precision, Operands operands);

/// Converts the operands of an operation under a guard, unless it is a part of another one: that is converted as a
/// whole.
inline AutocastOperands autocast(const CallSite& site, Precision precision, Operands operands) {
  if (!precision.changes() || !calling_thread.autocast.enabled) [[likely]]
    return {};
  return autocast_operands(site, precision, operands);
}

/// The same for operands whose number is known only at run time.
class AutocastList {
 public:
  AutocastList(const CallSite& site, Precision precision, const std::vector<Tensor>& given);
  const std::vector<Tensor>& operands() const { return cast_.empty() ? given_ : cast_; }

 private:
  const std::vector<Tensor>& given_;
  std::vector<Tensor> cast_;
};

/// The same for a layer that is made of several operations, as long as it lives: these are not converted themselves.
class AutocastLayer {
 public:
  /// operands: those that the rule looks at
  AutocastLayer(Precision precision, std::initializer_list<const Tensor*> operands);
  Tensor operator()(const Tensor& x) const;

 private:
  static AutocastMode without(AutocastMode mode);
  std::optional<DType> dtype_;
  autograd::AutocastScope scope_;
};

}  // namespace minnow::detail
