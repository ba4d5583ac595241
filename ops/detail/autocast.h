#pragma once

#include <initializer_list>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>
#include <minnow/autograd/autocast_scope.h>
#include <minnow/tensor/call_site.h>
#include <minnow/tensor/calling_thread.h>
#include <minnow/tensor/tensor.h>

namespace minnow::detail {

/// The operands of an operation as an Autocast guard wants them; none if they stay as they are.
class AutocastOperands {
 public:
  AutocastOperands() = default;
  explicit AutocastOperands(std::unique_ptr<Tensor[]> operands) : operands_(std::move(operands)) {}
  explicit operator bool() const { return operands_ != nullptr; }
  const Tensor& operator[](std::size_t i) const { return operands_[i]; }
  std::vector<Tensor> list(std::size_t count) const { return {operands_.get(), operands_.get() + count}; }

 private:
  std::unique_ptr<Tensor[]> operands_;
};

AutocastOperands autocast_operands(const CallSite& site, std::span<const Tensor* const> operands);
AutocastOperands autocast_list(const CallSite& site, std::span<const Tensor> operands);

/// What a function of the table in ops/autocast.cpp asks first, after it has opened its site.  It calls itself with the
/// operands that it gets: they are not converted again, because the site is no longer the outermost.
///
///     Tensor mm(const In& a, const In& b) {
///       const CallSite site("mm", a.where);
///       if (const auto cast = autocast(site, *a, *b)) return mm({cast[0], a.where}, {cast[1], b.where});
template <class... T> AutocastOperands autocast(const CallSite& site, const T&... operands) {
  if (!calling_thread.autocast.enabled) [[likely]]
    return {};
  const Tensor* const list[] = {&operands...};
  return autocast_operands(site, list);
}
inline AutocastOperands autocast(const CallSite& site, std::span<const Tensor> operands) {
  if (!calling_thread.autocast.enabled) [[likely]]
    return {};
  return autocast_list(site, operands);
}

/// The same for a layer that is made of several operations, as long as it lives: these are not converted themselves.
class AutocastLayer {
 public:
  /// op: its name in the table  operands: those that the rule looks at
  AutocastLayer(std::string_view op, std::initializer_list<const Tensor*> operands);
  Tensor operator()(const Tensor& x) const;

 private:
  static AutocastMode without(AutocastMode mode);
  std::optional<DType> dtype_;
  autograd::AutocastScope scope_;
};

}  // namespace minnow::detail
