#include <minnow/autograd/functional.h>

#include <fmt/format.h>
#include <minnow/autograd/engine.h>
#include <minnow/autograd/grad_mode.h>
#include <minnow/ops/elementwise/arithmetic.h>
#include <minnow/ops/indexing/index.h>
#include <minnow/ops/reductions/reduce.h>
#include <minnow/tensor/backend/dispatch.h>
#include <minnow/tensor/create.h>
#include <minnow/tensor/error.h>

namespace minnow {
namespace {

using detail::CallSite;
using detail::message;
using Tensors = std::vector<Tensor>;

/// Handles of the inputs for which derivatives are computed; recorded ones of the inputs themselves for create_graph.
Tensors watched(const Tensors& inputs, bool create_graph) {
  if (inputs.empty()) throw ValueError(message("there are no inputs", {}, "give at least one tensor"));
  Tensors handles;
  for (const Tensor& x : inputs) {
    x.require_defined();
    if (!x.is_floating_point())
      throw AutogradError(
          message("an input is not floating-point", {{"input", x}}, "convert it, or let f refer to it"));
    handles.push_back(create_graph && x.requires_grad() ? x.view(x.shape()) : x.detach().requires_grad_());
  }
  return handles;
}

/// Calls f, so that errors inside of it name what it called.
Tensor result_of(const TensorFunction& f, const Tensors& x) {
  if (!f) throw ValueError(message("the function is empty", {}, "give a function of tensors"));
  Tensor y;
  {
    const CallSite users = CallSite::none();
    y = f(x);
  }
  if (!y.defined() || !y.is_floating_point())
    throw AutogradError(message("the function's result is not a floating-point tensor", {{"result", y}},
                                "return what it computes from its inputs"));
  return y;
}

void require_same_shapes(const char* what, const Tensors& v, const Tensors& x) {
  if (v.size() != x.size())
    throw ValueError(
        message(fmt::format("{} tensors in v for {} {}", v.size(), x.size(), what), {}, "give one for each"));
  for (std::size_t i = 0; i < x.size(); ++i)
    if (!v[i].defined() || !(v[i].shape() == x[i].shape()))
      throw ShapeError(message(fmt::format("v[{}] has another shape than what it is for", i),
                               {{"v", v[i]}, {what, x[i]}}, "give one of the same shape"));
}

void require_scalar(const Tensor& y) {
  if (y.numel() != 1)
    throw ShapeError(
        message("the function's result has more than one element", {{"result", y}}, "sum it, or use jacobian"));
}

/// d sum(v * y) / dx, 0 where y does not depend on x.
Tensors gradients(const Tensor& y, const Tensors& x, const Tensor& v, bool create_graph, bool retain_graph = false) {
  Tensors found(x.size());
  if (y.requires_grad())
    found =
        grad({y}, x,
             {.retain_graph = retain_graph, .create_graph = create_graph, .allow_unused = true, .grad_outputs = {v}});
  for (std::size_t i = 0; i < x.size(); ++i)
    if (!found[i].defined()) found[i] = zeros_like(x[i]);
  return found;
}

Tensor plain(const Tensor& y, bool create_graph) { return create_graph ? y : y.detach(); }

/// sum(a_i * b_i) over all tensors.
Tensor inner(const Tensors& a, const Tensors& b) {
  Tensor total = sum(a[0] * b[0]);
  for (std::size_t i = 1; i < a.size(); ++i) total = total + sum(a[i] * b[i]);
  return total;
}

/// The Jacobian matrices of y.
Tensors jacobian_of(const Tensor& y, const Tensors& x, bool create_graph) {
  std::vector<Tensors> rows(x.size());
  for (std::int64_t i = 0; i < y.numel(); ++i) {
    const Tensor one = zeros_like(y.detach());
    one.view({-1}).select(0, i).fill_(1);
    const Tensors row = gradients(y, x, one, create_graph, true);
    for (std::size_t k = 0; k < x.size(); ++k) rows[k].push_back(row[k]);
  }
  Tensors result;
  for (std::size_t k = 0; k < x.size(); ++k) {
    std::vector<std::int64_t> sizes(y.shape().begin(), y.shape().end());
    sizes.insert(sizes.end(), x[k].shape().begin(), x[k].shape().end());
    const Shape shape(sizes);
    result.push_back(rows[k].empty() ? zeros(shape, {x[k].dtype(), x[k].device()}) : stack(rows[k]).view(shape));
  }
  return result;
}

}  // namespace

std::pair<Tensor, Tensors> vjp(const TensorFunction& f, const Tensors& inputs, const Tensor& v,
                               FunctionalOptions options, SourceLocation where) {
  const CallSite site("vjp", where);
  const AutoGradMode recording(true);
  const Tensors x = watched(inputs, options.create_graph);
  const Tensor y = result_of(f, x);
  if (v.defined()) require_same_shapes("result", {v}, {y});
  else require_scalar(y);
  Tensors found = gradients(y, x, v.defined() ? v : ones_like(y.detach()), options.create_graph);
  return {plain(y, options.create_graph), std::move(found)};
}

std::pair<Tensor, Tensor> jvp(const TensorFunction& f, const Tensors& inputs, const Tensors& v,
                              FunctionalOptions options, SourceLocation where) {
  const CallSite site("jvp", where);
  const AutoGradMode recording(true);
  const Tensors x = watched(inputs, options.create_graph);
  require_same_shapes("inputs", v, x);
  const Tensor y = result_of(f, x);
  // The gradients are linear in w, so that the gradient of their product with v with respect to w is what v does to y.
  const Tensor w = zeros_like(y.detach()).requires_grad_();
  const Tensors back = gradients(y, x, w, true);
  Tensor along = gradients(inner(back, v), {w}, ones({}, {y.dtype(), y.device()}), options.create_graph)[0];
  return {plain(y, options.create_graph), std::move(along)};
}

Tensors jacobian(const TensorFunction& f, const Tensors& inputs, FunctionalOptions options, SourceLocation where) {
  const CallSite site("jacobian", where);
  const AutoGradMode recording(true);
  const Tensors x = watched(inputs, options.create_graph);
  return jacobian_of(result_of(f, x), x, options.create_graph);
}

std::vector<Tensors> hessian(const TensorFunction& f, const Tensors& inputs, FunctionalOptions options,
                             SourceLocation where) {
  const CallSite site("hessian", where);
  const AutoGradMode recording(true);
  const Tensors x = watched(inputs, options.create_graph);
  const Tensor y = result_of(f, x);
  require_scalar(y);
  std::vector<Tensors> rows;
  for (const Tensor& g : gradients(y, x, ones_like(y.detach()), true))
    rows.push_back(jacobian_of(g, x, options.create_graph));
  return rows;
}

std::pair<Tensor, Tensors> hvp(const TensorFunction& f, const Tensors& inputs, const Tensors& v,
                               FunctionalOptions options, SourceLocation where) {
  const CallSite site("hvp", where);
  const AutoGradMode recording(true);
  const Tensors x = watched(inputs, options.create_graph);
  require_same_shapes("inputs", v, x);
  const Tensor y = result_of(f, x);
  require_scalar(y);
  const Tensor along = inner(gradients(y, x, ones_like(y.detach()), true), v);
  Tensors product = gradients(along, x, ones_like(along.detach()), options.create_graph);
  return {plain(y, options.create_graph), std::move(product)};
}

}  // namespace minnow
