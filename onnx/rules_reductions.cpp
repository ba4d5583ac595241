#include <algorithm>
#include <cmath>
#include <minnow/onnx/detail/call.h>
#include <minnow/onnx/detail/rules.h>

namespace minnow::onnx::detail {
namespace {

std::string reduced(Call& c, const char* op, const std::string& x, bool keepdim) {
  std::vector<std::int64_t> dims = c.list("dims");
  if (c.x(0).dim() == 0) return x;
  if (dims.empty())
    for (int d = 0; d < c.x(0).dim(); ++d) dims.push_back(d);
  return c.g.add(op, {x, c.axes(dims)}, {{"keepdims", std::int64_t{keepdim}}});
}

void reduce(Call& c, const char* op) { c.give(reduced(c, op, c.in_as_result(0), c.flag("keepdim"))); }

/// Of bool, by numbers.
void of_bool(Call& c, const char* op) {
  const std::string truth = c.as(c.in(0), c.x(0).dtype(), DType::bool_);
  const std::string y = reduced(c, op, c.as(truth, DType::bool_, DType::int32), c.flag("keepdim"));
  c.give(c.as(y, DType::int32, DType::bool_));
}

void norm(Call& c, const char*) {
  const double p = c.number("p");
  const bool keepdim = c.flag("keepdim");
  const std::string x = c.in_as_result(0);
  if (p == 1 || p == 2) return c.give(reduced(c, p == 1 ? "ReduceL1" : "ReduceL2", x, keepdim));
  const auto n = [&](double value) { return c.g.number(value, c.y().dtype()); };
  if (p == 0) c.refuse("a norm with p = 0 counts\nuse count_nonzero");
  const std::string powers = c.g.add("Pow", {c.g.add("Abs", {x}), n(p)});
  c.give(c.g.add("Pow", {reduced(c, "ReduceSum", powers, keepdim), n(1 / p)}));
}

void variance(Call& c, const char*) {
  const std::string& x = c.in(0);
  const std::string off = c.g.add("Sub", {x, reduced(c, "ReduceMean", x, true)}), squares = c.g.add("Mul", {off, off});
  const bool keepdim = c.flag("keepdim");
  const double correction = c.number("correction");
  if (correction == 0) return c.give(reduced(c, "ReduceMean", squares, keepdim));
  std::vector<std::int64_t> dims = c.list("dims");
  const Sizes sizes = c.sizes(0);
  double count = 1;
  for (std::size_t d = 0; d < sizes.size(); ++d) {
    const auto is = [&](std::int64_t given) {
      return (given < 0 ? given + static_cast<std::int64_t>(sizes.size()) : given) == static_cast<std::int64_t>(d);
    };
    if (!dims.empty() && std::none_of(dims.begin(), dims.end(), is)) continue;
    if (!sizes[d].fixed())
      c.refuse("the number of elements is left open, of which the correction takes one\nuse a correction of 0");
    count *= static_cast<double>(sizes[d].a);
  }
  const std::string divisor = c.g.number(std::max(count - correction, 0.0), c.y().dtype());
  c.give(c.g.add("Div", {reduced(c, "ReduceSum", squares, keepdim), divisor}));
}

void arg_reduce(Call& c, const char* op) {
  if (c.x(0).dim() == 0) return c.give(c.g.number(0, DType::int64));
  c.give(c.g.add(op, {c.in(0)}, {{"axis", c.list("dims")[0]}, {"keepdims", std::int64_t{c.flag("keepdim")}}}));
}

void cumsum(Call& c, const char*) {
  if (c.x(0).dim() == 0) return c.give(c.in_as_result(0));
  const std::string axis = c.g.number(static_cast<double>(c.integer("dim")), DType::int64);
  c.give(c.g.add("CumSum", {c.in_as_result(0), axis}, {{"reverse", std::int64_t{c.flag("reverse")}}}));
}

constexpr Rule kRules[] = {
    {"sum", reduce, "ReduceSum"},
    {"mean", reduce, "ReduceMean"},
    {"prod", reduce, "ReduceProd"},
    {"amax", reduce, "ReduceMax"},
    {"amin", reduce, "ReduceMin"},
    {"max", reduce, "ReduceMax"},
    {"min", reduce, "ReduceMin"},
    {"logsumexp", reduce, "ReduceLogSumExp"},
    {"any", of_bool, "ReduceMax"},
    {"all", of_bool, "ReduceMin"},
    {"norm", norm},
    {"var", variance},
    {"argmax", arg_reduce, "ArgMax"},
    {"argmin", arg_reduce, "ArgMin"},
    {"cumsum", cumsum},
};

}  // namespace

std::span<const Rule> reduction_rules() { return kRules; }

}  // namespace minnow::onnx::detail
