#pragma once

#include <algorithm>
#include <array>
#include <concepts>
#include <initializer_list>
#include <optional>
#include <span>
#include <utility>
#include <minnow/autograd/grad_mode.h>
#include <minnow/autograd/node.h>
#include <minnow/autograd/saved.h>

namespace minnow {

using autograd::Gradients;
using autograd::Needs;

/// Whether a gradient can flow to x: it is a leaf that requires one, or the result of a recorded operation.
inline bool needs_grad(const Tensor& x) {
  return x.defined() && x.slot() && (x.slot()->producer || x.slot()->requires_grad);
}
inline bool records(const Tensor& a) { return needs_grad(a) && is_grad_enabled(); }
inline bool records(const Tensor& a, const Tensor& b) { return (needs_grad(a) || needs_grad(b)) && is_grad_enabled(); }
bool records(std::span<const Tensor> inputs);

namespace autograd {

/// A gradient function that gives the gradient of a part of its only input; part_of() is that part (Node::gives_part).
template <class F>
concept GivesPart = requires(const F& f, const Tensor& whole) {
  { f.part_of(whole) } -> std::same_as<Tensor>;
};

template <class F> class FunctionNode final : public Node {
 public:
  FunctionNode(const char* name, SourceLocation where, F&& f) : Node(name, where), f_(std::move(f)) {}

  bool gives_part() const override { return GivesPart<F>; }
  Tensor part_of(const Tensor& whole) const override {
    if constexpr (GivesPart<F>) return f_->part_of(whole);
    else return whole;
  }

 protected:
  Gradients backward(std::span<const Tensor> grads, Needs needs) override {
    if constexpr (std::invocable<F&, const Tensor&, Needs>) return gradients((*f_)(grads[0], needs));
    else return gradients((*f_)(grads[0]));
  }
  void release() override {
    if constexpr (!GivesPart<F>) f_.reset();  // a part's function holds only numbers, which part_of() still needs
  }

 private:
  static Gradients gradients(Gradients g) { return g; }
  static Gradients gradients(Tensor g) { return {std::move(g)}; }

  std::optional<F> f_;
};

/// The same for several outputs.
template <class F> class JointFunctionNode final : public JointNode {
 public:
  JointFunctionNode(const char* name, SourceLocation where, F&& f) : JointNode(name, where), f_(std::move(f)) {}

 protected:
  Gradients backward(std::span<const Tensor> grads, Needs needs) override {
    if constexpr (std::invocable<F&, std::span<const Tensor>, Needs>) return gradients((*f_)(grads, needs));
    else return gradients((*f_)(grads));
  }
  void release() override { f_.reset(); }

 private:
  static Gradients gradients(Gradients g) { return g; }
  static Gradients gradients(Tensor g) { return {std::move(g)}; }

  std::optional<F> f_;
};

/// An operand of record(): a tensor or an In.  Its line is the node's if no CallSite is open.
struct Input {
  Input(const In& in) : tensor(in.tensor), where(in.where) {}
  Input(const Tensor& t, SourceLocation l = SourceLocation::current()) : tensor(t), where(l) {}

  const Tensor& tensor;
  SourceLocation where;
};

/// Makes `out` the node's output.  If `out` is in the graph already (an input that was returned unchanged), its history
/// stays and `out` becomes another handle of the same memory.
void attach(const std::shared_ptr<Node>& node, Tensor& out, std::span<const Input> inputs);
void attach(const std::shared_ptr<JointNode>& node, std::span<Tensor> outputs, std::span<const Input> inputs);
/// The line of the first defined input if one of them needs a gradient and it is recorded.
std::optional<SourceLocation> recorded_at(std::span<const Input> inputs);

}  // namespace autograd

/// Records that `out` was computed from `inputs`; `f` gives the gradients.  This is how every differentiable
/// operation is recorded; yours can be, too:
///
///     Tensor cube(const In& x) {
///       Tensor y; { NoGradGuard no_grad; y = *x * *x * *x; }
///       return record("cube", y, {x}, [x = Saved(*x)](const Tensor& grad) { return grad * 3 * x() * x(); });
///     }
///
/// f: (grad) or (grad, needs) -> one Tensor for a single input, or Gradients {g0, g1, ...}, one for each input, which
/// may be undefined where needs[i] is false; another number of them is an AutogradError in backward.  A gradient may
/// have the shape of the broadcast output: the engine sums it to the input's.  f keeps inputs and outputs as Saved, and
/// calls functions that record if second derivatives are to work.  If no input needs a gradient, or under NoGradGuard,
/// nothing is recorded and f is dropped.  Returns `out`; ValueError if it is undefined.  `name` must outlive the graph
/// (a literal).
template <class F> Tensor record(const char* name, Tensor out, std::initializer_list<autograd::Input> inputs, F f) {
  const std::span operands(inputs.begin(), inputs.size());
  const auto where = autograd::recorded_at(operands);
  if (!where) return out;
  out.require_defined(name, *where);
  const auto node = autograd::make_node<autograd::FunctionNode<F>>(name, *where, std::move(f));
  autograd::attach(node, out, operands);
  return out;
}

/// The same for an operation with several outputs, which are returned as an array.
///
///     auto [q, r] = record("qr", {raw_q, raw_r}, {a}, [...](std::span<const Tensor> grads) { ... grads[0] ... grads[1] ... });
///
/// f: (grads) or (grads, needs), called once in a backward with the gradients of all outputs: grads[i] is undefined if
/// the result does not depend on output i, which counts as 0.  Outputs that are undefined or not floating-point
/// (indices) are returned as they are and get none.  A Saved::output is one of the tensors given here.
template <std::size_t N, class F>
std::array<Tensor, N> record(const char* name, const Tensor (&outputs)[N],
                             std::initializer_list<autograd::Input> inputs, F f) {
  std::array<Tensor, N> out;
  std::copy(outputs, outputs + N, out.begin());
  const std::span operands(inputs.begin(), inputs.size());
  if (const auto where = autograd::recorded_at(operands))
    autograd::attach(autograd::make_node<autograd::JointFunctionNode<F>>(name, *where, std::move(f)), out, operands);
  return out;
}

/// The same for a number of inputs that is known only at run time (cat).
template <class F>
Tensor record(const char* name, Tensor out, std::span<const Tensor> inputs, F f,
              SourceLocation where = SourceLocation::current()) {
  if (!records(inputs)) return out;
  const auto node = autograd::make_node<autograd::FunctionNode<F>>(name, where, std::move(f));
  const std::vector<autograd::Input> operands(inputs.begin(), inputs.end());
  autograd::attach(node, out, operands);
  return out;
}

}  // namespace minnow
