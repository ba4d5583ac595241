#pragma once

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
  Gradients backward(const Tensor& grad, Needs needs) override {
    if constexpr (std::invocable<F&, const Tensor&, Needs>) return gradients((*f_)(grad, needs));
    else return gradients((*f_)(grad));
  }
  void release() override {
    if constexpr (!GivesPart<F>) f_.reset();  // a part's function holds only numbers, which part_of() still needs
  }

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

}  // namespace autograd

/// Records that `out` was computed from `inputs`; `f` gives the gradients.  This is how every differentiable
/// operation is recorded; yours can be, too:
///
///     Tensor cube(const In& x) {
///       const CallSite site("cube", x.where);
///       const Tensor y = raw_cube(x);
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
  if (!is_grad_enabled()) return out;
  bool needed = false;
  SourceLocation where;
  for (const autograd::Input& in : inputs) {
    if (!in.tensor.defined()) continue;
    needed = needed || needs_grad(in.tensor);
    if (!where.line) where = in.where;
  }
  if (!needed) return out;
  out.require_defined(name, where);
  const auto node = autograd::make_node<autograd::FunctionNode<F>>(name, where, std::move(f));
  autograd::attach(node, out, std::span(inputs.begin(), inputs.size()));
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
