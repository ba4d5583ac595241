#include <minnow/onnx/detail/call.h>
#include <minnow/onnx/detail/rules.h>
#include <minnow/tensor/create.h>

namespace minnow::onnx::detail {
namespace {

/// An operand, or a vector of these numbers.
std::string given_or(Call& c, std::size_t i, double number, std::int64_t size) {
  if (c.has(i)) return c.in_as_result(i);
  return c.g.constant(full({size}, number, {c.y().dtype()}));
}

void softmax(Call& c, const char* op) {
  if (c.x(0).dim() == 0) c.refuse("x has no dimension\ngive it one: unsqueeze(0)");
  c.give(c.g.add(op, {c.in_as_result(0)}, {{"axis", c.integer("dim")}}));
}

void layer_norm(Call& c, const char*) {
  const std::int64_t dims = c.integer("dims");
  Shape shape;
  for (std::int64_t d = -dims; d < 0; ++d) shape.push_back(c.x(0).size(static_cast<int>(d)));
  std::vector<std::string> inputs{c.in(0), c.has(1) ? c.in(1) : c.g.constant(ones(shape, {c.y().dtype()}))};
  if (c.has(2)) inputs.push_back(c.in(2));
  c.give(c.g.add("LayerNormalization", inputs, {{"axis", -dims}, {"epsilon", c.number("eps")}}));
}

void rms_norm(Call& c, const char*) {
  const std::int64_t dims = c.integer("dims");
  const std::string& x = c.in(0);
  if (c.g.opset() >= 23 && c.has(1))
    return c.give(c.g.add("RMSNormalization", {x, c.in(1)}, {{"axis", -dims}, {"epsilon", c.number("eps")}}));
  std::vector<std::int64_t> axes;
  for (std::int64_t d = -dims; d < 0; ++d) axes.push_back(d);
  const std::string mean = c.g.add("ReduceMean", {c.g.add("Mul", {x, x}), c.axes(axes)}, {{"keepdims", 1}});
  const std::string root = c.g.add("Sqrt", {c.g.add("Add", {mean, c.g.number(c.number("eps"), c.y().dtype())})});
  const std::string y = c.g.add("Div", {x, root});
  c.give(c.has(1) ? c.g.add("Mul", {y, c.in(1)}) : y);
}

void batch_norm(Call& c, const char*) {
  if (c.flag("training")) c.refuse("it takes the statistics of the batch\ncall eval() on the module that has it");
  const std::int64_t channels = c.x(0).size(1);
  c.give(
      c.g.add("BatchNormalization",
              {c.in(0), given_or(c, 3, 1, channels), given_or(c, 4, 0, channels), c.in_as_result(1), c.in_as_result(2)},
              {{"epsilon", c.number("eps")}}));
}

void instance_norm(Call& c, const char*) {
  const std::int64_t channels = c.x(0).size(1);
  c.give(c.g.add("InstanceNormalization", {c.in(0), given_or(c, 1, 1, channels), given_or(c, 2, 0, channels)},
                 {{"epsilon", c.number("eps")}}));
}

/// As that of instances: before opset 21 GroupNormalization scales groups, not channels.
void group_norm(Call& c, const char*) {
  const std::int64_t groups = c.integer("groups"), channels = c.x(0).size(1);
  const DType dtype = c.y().dtype();
  const auto vector = [&](double n) { return c.g.constant(full({groups}, n, {dtype})); };
  const std::string rows = c.g.add("Reshape", {c.in(0), c.g.list({0, groups, -1})});
  const std::string normalized =
      c.g.add("InstanceNormalization", {rows, vector(1), vector(0)}, {{"epsilon", c.number("eps")}});
  std::string y = c.g.add("Reshape", {normalized, c.g.add("Shape", {c.in(0)})});
  std::vector<std::int64_t> by_channel(static_cast<std::size_t>(c.x(0).dim()) - 1, 1);
  by_channel[0] = channels;
  const auto beside = [&](std::size_t i) { return c.g.add("Reshape", {c.in_as_result(i), c.g.list(by_channel)}); };
  if (c.has(1)) y = c.g.add("Mul", {y, beside(1)});
  if (c.has(2)) y = c.g.add("Add", {y, beside(2)});
  c.give(y);
}

constexpr Rule kRules[] = {
    {"softmax", softmax, "Softmax"}, {"log_softmax", softmax, "LogSoftmax"},
    {"layer_norm", layer_norm},      {"rms_norm", rms_norm},
    {"batch_norm", batch_norm},      {"instance_norm", instance_norm},
    {"group_norm", group_norm},
};

}  // namespace

std::span<const Rule> norm_rules() { return kRules; }

}  // namespace minnow::onnx::detail
