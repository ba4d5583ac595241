#include <algorithm>
#include <minnow/onnx/detail/call.h>
#include <minnow/onnx/detail/rules.h>

namespace minnow::onnx::detail {
namespace {

/// Operands, in the order in which the layer tells of them.
enum Operand : std::size_t { kX, kH, kC, kInput, kHidden, kInputBias, kHiddenBias, kActive, kScale };

/// The gates of a weight or bias in ONNX's order: place i takes gate order[i].
std::string ordered(Call& c, std::size_t i, const std::vector<std::size_t>& order) {
  if (order.size() == 1) return c.in(i);
  const auto gates = c.g.add_all("Split", {c.in(i)},
                                 {{"axis", 0}, {"num_outputs", static_cast<std::int64_t>(order.size())}}, order.size());
  std::vector<std::string> parts(order.size());
  std::transform(order.begin(), order.end(), parts.begin(), [&](std::size_t gate) { return gates[gate]; });
  return c.g.add("Concat", parts, {{"axis", 0}});
}

void layer(Call& c, const std::string& op, const std::vector<std::size_t>& order, std::vector<Attribute> attributes) {
  if (c.has(kActive)) c.refuse("sequences of several lengths are not exported\npass padded ones");
  const std::string front = c.g.list({0});
  const auto with_direction = [&](const std::string& x) { return c.g.add("Unsqueeze", {x, front}); };
  std::vector<std::string> inputs{c.in(kX),
                                  with_direction(ordered(c, kInput, order)),
                                  with_direction(ordered(c, kHidden, order)),
                                  "",
                                  "",
                                  with_direction(c.in(kH))};
  if (c.has(kInputBias))
    inputs[3] = with_direction(
        c.g.add("Concat", {ordered(c, kInputBias, order), ordered(c, kHiddenBias, order)}, {{"axis", 0}}));
  const bool lstm = op == "LSTM";
  if (lstm) inputs.push_back(with_direction(c.in(kC)));
  attributes.push_back({"hidden_size", c.x(kHidden).size(1)});
  const auto y = c.g.add_all(op, inputs, std::move(attributes), lstm ? 3 : 1);
  c.give(c.g.add("Squeeze", {y[0], c.g.list({1})}));
  if (lstm && c.has_result(1)) c.give(c.g.add("Squeeze", {y[2], front}), 1);
}

constexpr Rule kRules[] = {
    {"lstm",
     [](Call& c, const char*) {
       layer(c, "LSTM", {0, 3, 1, 2}, {});
     }},
    {"gru",
     [](Call& c, const char*) {
       layer(c, "GRU", {1, 0, 2}, {{"linear_before_reset", 1}});
     }},
    {"rnn_tanh", [](Call& c, const char*) { layer(c, "RNN", {0}, {}); }},
    {"rnn_relu",
     [](Call& c, const char*) {
       layer(c, "RNN", {0}, {{"activations", std::vector<std::string>{"Relu"}}});
     }},
};

}  // namespace

std::span<const Rule> recurrent_rules() { return kRules; }

}  // namespace minnow::onnx::detail
