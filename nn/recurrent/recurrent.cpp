#include <minnow/nn/recurrent/recurrent.h>

#include <cmath>
#include <fmt/format.h>
#include <minnow/nn/detail/quantized.h>
#include <minnow/nn/module/init.h>
#include <minnow/ops/detail/autocast.h>
#include <minnow/ops/detail/recurrent.h>
#include <minnow/ops/elementwise/arithmetic.h>
#include <minnow/ops/indexing/index.h>
#include <minnow/ops/random/dropout.h>
#include <minnow/ops/shape/rearrange.h>
#include <minnow/tensor/backend/dispatch.h>
#include <minnow/tensor/create.h>
#include <minnow/tensor/error.h>
#include <minnow/tensor/internal.h>

namespace minnow::nn {
namespace {

using minnow::detail::Recurrence;
using minnow::detail::RecurrentState;
using minnow::detail::RecurrentWeights;

constexpr int of(Recurrence kind) { return static_cast<int>(kind); }

void check_sizes(const char* name, std::int64_t input_size, std::int64_t hidden_size, SourceLocation where) {
  if (input_size < 1 || hidden_size < 1)
    throw ValueError(
        fmt::format("{}: input_size and hidden_size must be positive, got {} and {}\ngive two sizes of 1 or "
                    "more",
                    name, input_size, hidden_size),
        where);
}

Tensor initial(const Shape& shape, std::int64_t hidden_size) {
  const double limit = 1 / std::sqrt(static_cast<double>(hidden_size));
  return init::uniform_(empty(shape), -limit, limit);
}

RecurrentWeights weights_of(const detail::Recurrent& net, const Module& module, std::int64_t layer,
                            std::int64_t direction) {
  const bool projected = net.options.proj_size > 0;
  const std::int64_t directions = net.options.bidirectional ? 2 : 1,
                     each = (net.options.bias ? 4 : 2) + (projected ? 1 : 0);
  const auto first = static_cast<std::size_t>((layer * directions + direction) * each);
  RecurrentWeights w{net.weights[first], net.weights[first + 1], {}, {}};
  if (net.options.bias) {
    w.input_bias = net.weights[first + 2];
    w.hidden_bias = net.weights[first + 3];
  }
  if (projected) w.projection = net.weights[first + static_cast<std::size_t>(each) - 1];
  if (w.input.dtype() == DType::int8) {
    w.input_scale = detail::scale_of(module, w.input);
    w.hidden_scale = detail::scale_of(module, w.hidden);
    if (projected) w.projection_scale = detail::scale_of(module, w.projection);
  }
  return w;
}

/// Where sequences of a batch end.
class Sequences {
 public:
  Sequences(const Tensor& x, const std::vector<std::int64_t>* lengths) {
    if (lengths == nullptr) return;
    const Tensor steps = arange(x.size(0), int64).unsqueeze(1), ends = tensor(*lengths).unsqueeze(0);
    const Tensor on = lt(steps, ends);
    active_ = on.unsqueeze(-1).to(x.device());
    order_ = where(on, ends - 1 - steps, steps).unsqueeze(-1).to(x.device());
  }

  /// bool [T, N, 1]; undefined if all have T steps.
  const Tensor& active() const { return active_; }
  /// Each sequence backwards.
  Tensor reversed(const Tensor& x) const {
    return order_.defined() ? gather(x, 0, order_.expand(x.shape())) : flip(x, {0});
  }
  /// x, and 0 behind the ends.
  Tensor masked(const Tensor& x) const { return active_.defined() ? where(active_, x, 0) : x; }

 private:
  Tensor active_, order_;
};

}  // namespace

namespace detail {

std::vector<InitialWeight> initial_weights(int kind, const char* name, const Recurrent& net, SourceLocation where) {
  check_sizes(name, net.input_size, net.hidden_size, where);
  const RecurrentOptions& o = net.options;
  if (o.num_layers < 1)
    throw ValueError(fmt::format("{}: num_layers must be positive, got {}\none or more", name, o.num_layers), where);
  if (!(o.dropout >= 0 && o.dropout <= 1))
    throw ValueError(
        fmt::format("{}: dropout must be in [0, 1], got {}\nit is the probability of a zero", name, o.dropout), where);
  if (o.proj_size != 0 && static_cast<Recurrence>(kind) != Recurrence::lstm)
    throw ValueError(fmt::format("{}: it has no projections, got proj_size {}\nan LSTM has", name, o.proj_size), where);
  if (o.proj_size < 0 || o.proj_size >= net.hidden_size)
    throw ValueError(fmt::format("{}: proj_size must be at least 0 and below hidden_size, got {} and {}\n0 is for none",
                                 name, o.proj_size, net.hidden_size),
                     where);
  const std::int64_t rows = gates_of(static_cast<Recurrence>(kind)) * net.hidden_size,
                     directions = o.bidirectional ? 2 : 1;
  const std::int64_t h_size = o.proj_size > 0 ? o.proj_size : net.hidden_size;
  std::vector<InitialWeight> list;
  for (std::int64_t layer = 0; layer < o.num_layers; ++layer)
    for (std::int64_t direction = 0; direction < directions; ++direction) {
      const std::string end = fmt::format("_l{}{}", layer, direction == 1 ? "_reverse" : "");
      const std::int64_t in = layer == 0 ? net.input_size : directions * h_size;
      list.push_back({"weight_ih" + end, initial({rows, in}, net.hidden_size)});
      list.push_back({"weight_hh" + end, initial({rows, h_size}, net.hidden_size)});
      if (o.bias) {
        list.push_back({"bias_ih" + end, initial({rows}, net.hidden_size)});
        list.push_back({"bias_hh" + end, initial({rows}, net.hidden_size)});
      }
      if (o.proj_size > 0) list.push_back({"weight_hr" + end, initial({h_size, net.hidden_size}, net.hidden_size)});
    }
  return list;
}

std::tuple<Tensor, Tensor, Tensor> run_layers(int kind, const char* name, const Recurrent& net, const Module& module,
                                              const Tensor& given, const Tensor& h, const Tensor& c,
                                              const std::vector<std::int64_t>* lengths) {
  const bool quantized = net.weights[0].dtype() == DType::int8;
  const minnow::detail::AutocastLayer cast(quantized ? kWide : kLower, {&given, &h, &c, &net.weights[0]});
  const bool lstm = static_cast<Recurrence>(kind) == Recurrence::lstm;
  const Operand operands[] = {{"x", given}, {"h", h, kOptional}, {"c", c, kOptional}};
  require_same_device(operands);
  if (lstm && h.defined() != c.defined())
    throw ValueError(message("LSTM: h and c belong together", operands, "give both, or none for zeros"));
  if (given.dim() < (lengths != nullptr ? 3 : 2) || given.dim() > 3 || given.size(-1) != net.input_size)
    throw ShapeError(message(fmt::format("{}: x must be [{}, {}] or [T, {}]", name,
                                         net.options.batch_first ? "N, T" : "T, N", net.input_size, net.input_size),
                             operands, "T steps of N sequences"));
  if (lengths != nullptr) {
    const CallSite site(name, {});
    require_lengths(given, *lengths, "x", given);
  }
  const bool batched = given.dim() == 3;
  const bool batch_first = batched && net.options.batch_first && lengths == nullptr;
  const Tensor in = cast(given);
  Tensor x = !batched ? in.unsqueeze(1) : batch_first ? in.transpose(0, 1) : in;
  if (x.size(0) == 0) throw ShapeError(message(fmt::format("{}: x has no steps", name), operands, "T is 1 or more"));
  const std::int64_t n = x.size(1), directions = net.options.bidirectional ? 2 : 1,
                     states = net.options.num_layers * directions;
  const bool projected = net.options.proj_size > 0;
  const Sequences sequences(x, lengths);
  x = sequences.masked(x);  // NaN behind an end would reach gradients
  const auto state_of = [&](const Tensor& t, std::int64_t size) {
    const Shape shape = batched ? Shape{states, n, size} : Shape{states, size};
    if (!t.defined()) return zeros({states, n, size}, {x.dtype(), x.device()});
    if (t.shape() != shape)
      throw ShapeError(message(fmt::format("{}: a state must be {}", name, shape.str()), operands,
                               "layers and directions, sequences, hidden_size"));
    return batched ? t : t.unsqueeze(1);
  };
  const Tensor h0 = state_of(cast(h), projected ? net.options.proj_size : net.hidden_size),
               c0 = lstm ? state_of(cast(c), net.hidden_size) : Tensor();
  std::vector<Tensor> last_h, last_c;
  for (std::int64_t layer = 0; layer < net.options.num_layers; ++layer) {
    std::vector<Tensor> results;
    for (std::int64_t direction = 0; direction < directions; ++direction) {
      const std::int64_t at = layer * directions + direction, length = x.size(0);
      const Tensor from = direction == 1 ? sequences.reversed(x) : x;
      const RecurrentState state{h0[at], lstm ? c0[at] : Tensor()};
      RecurrentWeights w = weights_of(net, module, layer, direction);
      for (Tensor* t : {&w.input, &w.hidden, &w.input_bias, &w.hidden_bias, &w.projection}) *t = cast(*t);
      const auto [y, c_end] = projected ? minnow::detail::projected_layer(from, state, w, sequences.active())
                                        : minnow::detail::recurrent_layer(static_cast<Recurrence>(kind), from, state, w,
                                                                          sequences.active());
      last_h.push_back(y[length - 1]);
      if (lstm) last_c.push_back(c_end);
      results.push_back(direction == 1 ? sequences.reversed(y) : y);
    }
    x = results.size() == 1 ? results[0] : cat(results, -1);
    if (net.options.dropout > 0 && layer + 1 < net.options.num_layers)
      x = dropout(x, {net.options.dropout, module.is_training()});
  }
  x = sequences.masked(x);
  const Tensor y = !batched ? x.squeeze(1) : batch_first ? x.transpose(0, 1) : x;
  const auto joined = [&](const std::vector<Tensor>& t) {
    if (t.empty()) return Tensor();
    return batched ? stack(t) : stack(t).squeeze(1);
  };
  return {y, joined(last_h), joined(last_c)};
}

std::string describe_recurrent(const char* name, const Recurrent& net) {
  const RecurrentOptions& o = net.options;
  return fmt::format("{}({}, {}{}{}{}{}{}{}{})", name, net.input_size, net.hidden_size,
                     o.num_layers > 1 ? fmt::format(", {} layers", o.num_layers) : "", o.bias ? "" : ", no bias",
                     o.batch_first ? ", batch first" : "", o.dropout > 0 ? fmt::format(", dropout {}", o.dropout) : "",
                     o.bidirectional ? ", bidirectional" : "",
                     o.proj_size > 0 ? fmt::format(", projected to {}", o.proj_size) : "",
                     net.weights[0].dtype() == DType::int8 ? ", int8" : "");
}

}  // namespace detail

LSTM::LSTM(std::int64_t input_size, std::int64_t hidden_size, RecurrentOptions options, SourceLocation where)
    : net_{input_size, hidden_size, options, {}} {
  for (auto& [name, value] : detail::initial_weights(of(Recurrence::lstm), "LSTM", net_, where))
    net_.weights.push_back(parameter(name, value));
}
std::tuple<Tensor, Tensor, Tensor> LSTM::forward(Tensor x, Tensor h, Tensor c) {
  const CallSite site = called();
  return detail::run_layers(of(Recurrence::lstm), "LSTM", net_, *this, x, h, c);
}
std::tuple<PackedSequence, Tensor, Tensor> LSTM::operator()(const PackedSequence& x, const Tensor& h, const Tensor& c,
                                                            SourceLocation where) const {
  const auto results = call_with(
      {x.padded, h, c},
      [&](std::span<const Tensor> in) -> std::vector<Tensor> {
        const CallSite site = called();
        auto [y, last_h, last_c] =
            detail::run_layers(of(Recurrence::lstm), "LSTM", net_, *this, in[0], in[1], in[2], &x.lengths);
        return {y, last_h, last_c};
      },
      where);
  return {PackedSequence{results[0], x.lengths}, results[1], results[2]};
}
std::string LSTM::describe() const { return detail::describe_recurrent("LSTM", net_); }

GRU::GRU(std::int64_t input_size, std::int64_t hidden_size, RecurrentOptions options, SourceLocation where)
    : net_{input_size, hidden_size, options, {}} {
  for (auto& [name, value] : detail::initial_weights(of(Recurrence::gru), "GRU", net_, where))
    net_.weights.push_back(parameter(name, value));
}
std::tuple<Tensor, Tensor> GRU::forward(Tensor x, Tensor h) {
  const CallSite site = called();
  auto [y, last, none] = detail::run_layers(of(Recurrence::gru), "GRU", net_, *this, x, h, {});
  return {y, last};
}
std::tuple<PackedSequence, Tensor> GRU::operator()(const PackedSequence& x, const Tensor& h,
                                                   SourceLocation where) const {
  const auto results = call_with(
      {x.padded, h},
      [&](std::span<const Tensor> in) -> std::vector<Tensor> {
        const CallSite site = called();
        auto [y, last, none] =
            detail::run_layers(of(Recurrence::gru), "GRU", net_, *this, in[0], in[1], {}, &x.lengths);
        return {y, last};
      },
      where);
  return {PackedSequence{results[0], x.lengths}, results[1]};
}
std::string GRU::describe() const { return detail::describe_recurrent("GRU", net_); }

RNN::RNN(std::int64_t input_size, std::int64_t hidden_size, RecurrentOptions options, Nonlinearity nonlinearity,
         SourceLocation where)
    : net_{input_size, hidden_size, options, {}}, nonlinearity_(nonlinearity) {
  for (auto& [name, value] : detail::initial_weights(of(Recurrence::tanh), "RNN", net_, where))
    net_.weights.push_back(parameter(name, value));
}
std::tuple<Tensor, Tensor> RNN::forward(Tensor x, Tensor h) {
  const CallSite site = called();
  const Recurrence kind = nonlinearity_ == Nonlinearity::tanh ? Recurrence::tanh : Recurrence::relu;
  auto [y, last, none] = detail::run_layers(of(kind), "RNN", net_, *this, x, h, {});
  return {y, last};
}
std::tuple<PackedSequence, Tensor> RNN::operator()(const PackedSequence& x, const Tensor& h,
                                                   SourceLocation where) const {
  const auto results = call_with(
      {x.padded, h},
      [&](std::span<const Tensor> in) -> std::vector<Tensor> {
        const CallSite site = called();
        auto [y, last, none] =
            detail::run_layers(of(nonlinearity_ == Nonlinearity::tanh ? Recurrence::tanh : Recurrence::relu), "RNN",
                               net_, *this, in[0], in[1], {}, &x.lengths);
        return {y, last};
      },
      where);
  return {PackedSequence{results[0], x.lengths}, results[1]};
}
std::string RNN::describe() const { return detail::describe_recurrent("RNN", net_); }

namespace {

Tensor cell_weight(const char* name, std::int64_t gates, std::int64_t columns, std::int64_t input_size,
                   std::int64_t hidden_size, SourceLocation where) {
  check_sizes(name, input_size, hidden_size, where);
  const Shape shape = columns > 0 ? Shape{gates * hidden_size, columns} : Shape{gates * hidden_size};
  return initial(shape, hidden_size);
}

void check_cell(const char* name, Operands operands, std::int64_t input_size, std::int64_t hidden_size) {
  require_same_device(operands);
  const Tensor& x = operands[0].tensor;
  for (const Operand& o : operands)
    if (o.tensor.dim() != 2 || o.tensor.size(0) != x.size(0) ||
        o.tensor.size(1) != (&o == operands.data() ? input_size : hidden_size))
      throw ShapeError(message(fmt::format("{}: x must be [N, {}] and a state [N, {}]", name, input_size, hidden_size),
                               operands, "one step of N sequences"));
}

/// One step, as PyTorch computes it under an Autocast guard: on CUDA as a whole, elsewhere by its operations.
RecurrentState cell_step(Recurrence kind, const Tensor& x, const RecurrentState& state, const RecurrentWeights& w) {
  if (!x.device().is_cuda()) return minnow::detail::recurrent_step(kind, x, state, w);
  const minnow::detail::AutocastLayer cast(kLower, {&x, &state.h, &state.c, &w.input});
  return minnow::detail::recurrent_step(kind, cast(x), {cast(state.h), cast(state.c)},
                                        {cast(w.input), cast(w.hidden), cast(w.input_bias), cast(w.hidden_bias), {}});
}

/// One sequence as a batch of it.
Tensor row_of(const Tensor& x) { return x.defined() ? x.unsqueeze(0) : x; }

/// `state`, or zeros where there is none.
Tensor state_of(const char* name, const Tensor& state, const Tensor& x, std::int64_t hidden_size) {
  if (state.defined()) return state;
  if (x.dim() == 0) throw ShapeError(message(name, {{"x", x}}, "one step of N sequences: [N, input_size]"));
  return zeros({x.size(0), hidden_size}, {.dtype = x.dtype(), .device = x.device()});
}

}  // namespace

LSTMCell::LSTMCell(std::int64_t input_size, std::int64_t hidden_size, bool bias, SourceLocation where)
    : weight_ih(parameter("weight_ih", cell_weight("LSTMCell", 4, input_size, input_size, hidden_size, where))),
      weight_hh(parameter("weight_hh", cell_weight("LSTMCell", 4, hidden_size, input_size, hidden_size, where))),
      bias_ih(bias ? parameter("bias_ih", cell_weight("LSTMCell", 4, 0, input_size, hidden_size, where)) : Parameter()),
      bias_hh(bias ? parameter("bias_hh", cell_weight("LSTMCell", 4, 0, input_size, hidden_size, where))
                   : Parameter()) {}

std::tuple<Tensor, Tensor> LSTMCell::forward(Tensor x, Tensor h, Tensor c) {
  const CallSite site = called();
  if (x.defined() && x.dim() == 1) {
    const auto [next_h, next_c] = forward(row_of(x), row_of(h), row_of(c));
    return {next_h.squeeze(0), next_c.squeeze(0)};
  }
  h = state_of("LSTMCell", h, x, weight_hh.size(1));
  c = state_of("LSTMCell", c, x, weight_hh.size(1));
  check_cell("LSTMCell", {{"x", x}, {"h", h}, {"c", c}}, weight_ih.size(1), weight_hh.size(1));
  const RecurrentState next = cell_step(Recurrence::lstm, x, {h, c}, {weight_ih, weight_hh, bias_ih, bias_hh, {}});
  return {next.h, next.c};
}
std::string LSTMCell::describe() const { return fmt::format("LSTMCell({}, {})", weight_ih.size(1), weight_hh.size(1)); }

GRUCell::GRUCell(std::int64_t input_size, std::int64_t hidden_size, bool bias, SourceLocation where)
    : weight_ih(parameter("weight_ih", cell_weight("GRUCell", 3, input_size, input_size, hidden_size, where))),
      weight_hh(parameter("weight_hh", cell_weight("GRUCell", 3, hidden_size, input_size, hidden_size, where))),
      bias_ih(bias ? parameter("bias_ih", cell_weight("GRUCell", 3, 0, input_size, hidden_size, where)) : Parameter()),
      bias_hh(bias ? parameter("bias_hh", cell_weight("GRUCell", 3, 0, input_size, hidden_size, where)) : Parameter()) {
}

Tensor GRUCell::forward(const Tensor& x) {
  const CallSite site = called();
  if (x.defined() && x.dim() == 1) return forward(row_of(x)).squeeze(0);
  return forward(x, state_of("GRUCell", {}, x, weight_hh.size(1)));
}
Tensor GRUCell::forward(const Tensor& x, const Tensor& h) {
  const CallSite site = called();
  if (x.defined() && x.dim() == 1) return forward(row_of(x), row_of(h)).squeeze(0);
  check_cell("GRUCell", {{"x", x}, {"h", h}}, weight_ih.size(1), weight_hh.size(1));
  return cell_step(Recurrence::gru, x, {h, {}}, {weight_ih, weight_hh, bias_ih, bias_hh, {}}).h;
}
std::string GRUCell::describe() const { return fmt::format("GRUCell({}, {})", weight_ih.size(1), weight_hh.size(1)); }

RNNCell::RNNCell(std::int64_t input_size, std::int64_t hidden_size, bool bias, Nonlinearity nonlinearity,
                 SourceLocation where)
    : weight_ih(parameter("weight_ih", cell_weight("RNNCell", 1, input_size, input_size, hidden_size, where))),
      weight_hh(parameter("weight_hh", cell_weight("RNNCell", 1, hidden_size, input_size, hidden_size, where))),
      bias_ih(bias ? parameter("bias_ih", cell_weight("RNNCell", 1, 0, input_size, hidden_size, where)) : Parameter()),
      bias_hh(bias ? parameter("bias_hh", cell_weight("RNNCell", 1, 0, input_size, hidden_size, where)) : Parameter()),
      nonlinearity_(nonlinearity) {}

Tensor RNNCell::forward(const Tensor& x) {
  const CallSite site = called();
  if (x.defined() && x.dim() == 1) return forward(row_of(x)).squeeze(0);
  return forward(x, state_of("RNNCell", {}, x, weight_hh.size(1)));
}
Tensor RNNCell::forward(const Tensor& x, const Tensor& h) {
  const CallSite site = called();
  if (x.defined() && x.dim() == 1) return forward(row_of(x), row_of(h)).squeeze(0);
  check_cell("RNNCell", {{"x", x}, {"h", h}}, weight_ih.size(1), weight_hh.size(1));
  const Recurrence kind = nonlinearity_ == Nonlinearity::tanh ? Recurrence::tanh : Recurrence::relu;
  return cell_step(kind, x, {h, {}}, {weight_ih, weight_hh, bias_ih, bias_hh, {}}).h;
}
std::string RNNCell::describe() const {
  return fmt::format("RNNCell({}, {}{})", weight_ih.size(1), weight_hh.size(1),
                     nonlinearity_ == Nonlinearity::relu ? ", relu" : "");
}

}  // namespace minnow::nn
