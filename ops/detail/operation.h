#pragma once

#include <array>
#include <cstddef>
#include <initializer_list>
#include <utility>
#include <minnow/autograd/record.h>
#include <minnow/ops/detail/autocast.h>
#include <minnow/tensor/backend/dispatch.h>
#include <minnow/tensor/internal.h>
#include <minnow/tensor/raw/create.h>

namespace minnow::detail {

/// The operands of an operation whose CallSite is open, as it computes with them: converted under an Autocast guard,
/// defined, and on one device, whose backend is looked up.  As Operands they are those of its errors.  Takes nothing
/// from the heap unless a guard converts something.  It refers to the given tensors, which must have names of their
/// own.
template <std::size_t N> class BoundOperands {
 public:
  BoundOperands(const CallSite& site, Precision precision, const Operand (&given)[N],
                HostScalars scalars = HostScalars::refused)
      : BoundOperands(site.name(), autocast(site, precision, given), given, scalars, std::make_index_sequence<N>()) {}
  BoundOperands(const CallSite& site, const Operand (&given)[N], HostScalars scalars = HostScalars::refused)
      : BoundOperands(site.name(), {}, given, scalars, std::make_index_sequence<N>()) {}
  BoundOperands(const BoundOperands&) = delete;
  BoundOperands& operator=(const BoundOperands&) = delete;

  operator Operands() const { return operands_; }
  const Tensor& operator[](std::size_t i) const { return operands_[i].tensor; }
  const char* name() const { return name_; }
  /// The same operation on other operands.
  BoundOperands with(const Operand (&others)[N]) const {
    return BoundOperands(name_, {}, others, HostScalars::refused, std::make_index_sequence<N>());
  }

  Backend& backend() const { return backend_; }
  template <class C> auto run(const C& call) const { return backend_.run(call); }
  /// Uninitialized memory for a result, on the device of the first operand.
  Tensor result(const Shape& shape, DType dtype) const {
    return raw::new_result(backend_, shape, dtype, operands_[0].tensor.device());
  }

  /// Whether one of them needs a gradient and the operation is recorded.
  bool records() const {
    for (const Operand& o : operands_)
      if (needs_grad(o.tensor)) return is_grad_enabled();
    return false;
  }
  /// minnow::record with the name of the operation, of all operands or of some.
  template <class F> Tensor record(Tensor out, F f) const {
    return records() ? record_all(std::move(out), std::move(f), std::make_index_sequence<N>()) : out;
  }
  template <class F> Tensor record(Tensor out, std::initializer_list<autograd::Input> inputs, F f) const {
    return minnow::record(name_, std::move(out), inputs, std::move(f));
  }
  /// The same with several outputs.
  template <std::size_t M, class F> std::array<Tensor, M> record(const Tensor (&outputs)[M], F f) const {
    return record_joint(outputs, std::move(f), std::make_index_sequence<N>());
  }

 private:
  template <std::size_t... I>
  BoundOperands(const char* name, AutocastOperands cast, const Operand (&given)[N], HostScalars scalars,
                std::index_sequence<I...>)
      : name_(name),
        cast_(std::move(cast)),
        operands_{{given[I].name, cast_ ? cast_[I] : given[I].tensor, given[I].optional}...},
        backend_(dispatch(operands_, scalars)) {}
  template <class F, std::size_t... I> Tensor record_all(Tensor out, F f, std::index_sequence<I...>) const {
    const autograd::Input inputs[] = {operands_[I].tensor...};
    autograd::attach(autograd::make_node<autograd::FunctionNode<F>>(name_, SourceLocation(), std::move(f)), out,
                     inputs);
    return out;
  }

  template <std::size_t M, class F, std::size_t... I>
  std::array<Tensor, M> record_joint(const Tensor (&outputs)[M], F f, std::index_sequence<I...>) const {
    return minnow::record(name_, outputs, {operands_[I].tensor...}, std::move(f));
  }

  const char* const name_;
  const AutocastOperands cast_;
  const Operand operands_[N];
  Backend& backend_;
};

/// What opens an Operation before its operands.
struct OpenSite {
  const CallSite site;
};

/// The first line of a public function, one gate for all: it opens the CallSite and binds the operands.
///
///     Tensor softmax(const In& x_, int dim) {
///       const Operation op("softmax", x_.where, {kKept, kWide}, {{"x", *x_}});
///       const Tensor& x = op[0];
///       ...
///       op.run(calls::Softmax{...});
///       return op.record(y, [...](const Tensor& g) { ... });
///     }
template <std::size_t N> class Operation : OpenSite, public BoundOperands<N> {
 public:
  [[nodiscard]] Operation(const char* name, SourceLocation where, Precision precision, const Operand (&given)[N],
                          HostScalars scalars = HostScalars::refused)
      : OpenSite{{name, where}}, BoundOperands<N>(site, precision, given, scalars) {}
  [[nodiscard]] Operation(const char* name, SourceLocation where, const Operand (&given)[N],
                          HostScalars scalars = HostScalars::refused)
      : OpenSite{{name, where}}, BoundOperands<N>(site, given, scalars) {}
  const CallSite& call_site() const { return site; }
};

}  // namespace minnow::detail
