#include <algorithm>
#include <minnow/autograd/engine.h>
#include <minnow/autograd/record.h>
#include <minnow/ops/detail/matmul.h>
#include <minnow/ops/detail/quantized.h>
#include <minnow/ops/detail/recurrent.h>
#include <minnow/ops/elementwise/arithmetic.h>
#include <minnow/ops/elementwise/unary.h>
#include <minnow/ops/indexing/index.h>
#include <minnow/ops/products/matmul.h>
#include <minnow/ops/reductions/reduce.h>
#include <minnow/tensor/backend/dispatch.h>
#include <minnow/tensor/backend/tell.h>
#include <minnow/tensor/create.h>
#include <minnow/tensor/raw/elementwise.h>

namespace minnow::detail {
namespace {

const char* name_of(Recurrence kind) {
  switch (kind) {
    case Recurrence::lstm: return "lstm";
    case Recurrence::gru: return "gru";
    case Recurrence::tanh: return "rnn_tanh";
    case Recurrence::relu: return "rnn_relu";
  }
  return "rnn";
}

/// Part `i` of the last dimension, of parts of n.
Tensor gate(const Tensor& x, std::int64_t i, std::int64_t n, std::int64_t count = 1) {
  return x.narrow(-1, i * n, count * n);
}

Tensor mapped(const Tensor& x, const Tensor& w, const Tensor& scale, const Tensor& bias) {
  return scale.defined() ? quantized_linear(x, w, scale, bias) : linear(x, w, bias);
}

/// The weights as steps of n sequences read them: transposed, or they were packed again for every step, and where our
/// kernel multiplies, in panels that it reads from one end to the other.
Tensor transposed(const Tensor& w, std::int64_t n, const Backend& backend) {
  constexpr std::int64_t kWidth = 64, kLeast = 16;  // columns of a panel; sequences
  const std::int64_t rows = w.size(0), size = w.size(1);
  if (!backend.computes_on_host() || w.dtype() != DType::float32 || n < kLeast || rows % kWidth != 0)
    return w.t().contiguous();
  return w.reshape({rows / kWidth, kWidth, size}).transpose(1, 2).contiguous();
}

/// What backward reads, besides operands and result.
struct Steps {
  Tensor gates{};   ///< [T, N, gates H]: their values, but of gru and lstm alone
  Tensor cells{};   ///< lstm: [T + 1, N, H], c before each step and at the end
  Tensor hidden{};  ///< gru: [T, N, H], the map of h that the reset gate multiplies
  Tensor active{};  ///< bool [T, N, 1], contiguous, or undefined: where a sequence goes on
};

/// The steps, without recording.  `keep`: `steps` gets what backward reads.
RecurrentState run(Recurrence kind, const Tensor& x, const RecurrentState& state, const RecurrentWeights& w,
                   Steps& steps, bool keep) {
  const std::int64_t length = x.size(0), n = x.size(1), size = state.h.size(1);
  const TensorOptions options{x.dtype(), x.device()};
  const bool lstm = kind == Recurrence::lstm, gru = kind == Recurrence::gru;
  const bool joined = !gru && w.input_bias.defined();
  Backend& backend = dispatch({{"x", x}, {"active", steps.active, kOptional}});
  // Maps of x of this many steps at a time stay in the cache until their steps.
  constexpr std::int64_t kElements = 1 << 21;
  const bool quantized = w.input_scale.defined();  // x is rounded as a whole
  const std::int64_t together =
      keep || quantized || !backend.computes_on_host()
          ? length
          : std::clamp<std::int64_t>(kElements / std::max<std::int64_t>(1, n * size * gates_of(kind)), 1, length);
  const Tensor bias = joined ? w.input_bias + w.hidden_bias : w.input_bias, y = empty({length, n, size}, options);
  const Tensor of_hidden = quantized ? Tensor() : transposed(w.hidden, n, backend);
  const auto add_hidden = [&](const Tensor& g, const Tensor& before) {
    if (quantized) quantized_linear_add_(g, before, w.hidden, w.hidden_scale);
    else if (g.numel()) raw::matmul_add_(g, before, of_hidden);
  };
  Tensor h = state.h.contiguous(), c;
  const Tensor none;
  if (lstm) {
    steps.cells = empty({keep ? length + 1 : 2, n, size}, options);
    copy_(steps.cells[0], state.c);
    c = steps.cells[0];
  }
  if (gru && keep) steps.hidden = empty({length, n, size}, options);
  for (std::int64_t t = 0; t < length; ++t) {
    if (t % together == 0)
      steps.gates =
          mapped(together == length ? x : x.narrow(0, t, std::min(together, length - t)), w.input, w.input_scale, bias);
    const Tensor g = steps.gates[t % together], next = y[t],
                 next_cell = lstm ? steps.cells[keep ? t + 1 : (t + 1) % 2] : none;
    const Tensor maps = gru ? mapped(h, w.hidden, w.hidden_scale, w.hidden_bias) : none;
    if (!gru) add_hidden(g, h);
    if (next.numel())
      backend.run(calls::RecurrentStep{kind, g, h, next, c, next_cell, maps, gru && keep ? steps.hidden[t] : none,
                                       steps.active.defined() ? steps.active[t] : none});
    h = next;
    c = next_cell;
  }
  return {y, lstm ? c.clone() : Tensor()};
}

/// Of x, h, c and the four weights, from those of the steps and of the last c.
Gradients gradients(Recurrence kind, const Tensor& grad, Tensor dc, const Tensor& x, const RecurrentState& state,
                    const RecurrentWeights& w, const Tensor& y, const Steps& steps, Needs needs) {
  const std::int64_t length = x.size(0), n = x.size(1), size = state.h.size(1);
  const bool lstm = kind == Recurrence::lstm, gru = kind == Recurrence::gru;
  const Tensor of_input = empty_like(steps.gates);  // gradients of the maps of x
  const Tensor of_hidden = gru ? empty_like(steps.gates) : of_input;
  const Tensor first = state.h.contiguous(), of_y = grad.defined() ? grad.contiguous() : grad, none;
  const Tensor dh = zeros_like(first);
  if (lstm) dc = dc.defined() ? dc.clone().contiguous() : zeros_like(first);
  const auto at = [&](const Tensor& all, std::int64_t t) { return all.defined() ? all[t] : none; };
  Backend& backend = dispatch({{"x", x}});
  for (std::int64_t t = length - 1; t >= 0 && dh.numel() > 0; --t) {
    const Tensor to_map = gru ? of_hidden[t] : none;
    backend.run(calls::RecurrentStepBackward{kind, lstm || gru ? steps.gates[t] : y[t],
                                             lstm    ? steps.cells[t]
                                             : t > 0 ? y[t - 1]
                                                     : first,
                                             lstm ? steps.cells[t + 1] : at(steps.hidden, t), at(of_y, t), dh,
                                             lstm ? dc : none, of_input[t], to_map, at(steps.active, t)});
    raw::matmul_add_(dh, of_hidden[t], w.hidden);
  }
  const auto rows = [](const Tensor& t) { return t.reshape({t.size(0) * t.size(1), t.size(2)}); };
  Gradients out(7);
  if (needs[0]) out[0] = matmul(of_input, w.input);
  if (needs[1]) out[1] = dh;
  if (lstm && needs[2]) out[2] = dc;
  if (needs[3]) out[3] = matmul(rows(of_input).t(), rows(x));
  if (needs[4]) {
    const Tensor before =
        length == 1 ? state.h : cat({state.h.unsqueeze(0), y.narrow(0, 0, length - 1)}).reshape({length * n, size});
    out[4] = matmul(rows(of_hidden).t(), before);
  }
  if (needs[5]) out[5] = sum(of_input, {0, 1});
  if (needs[6]) out[6] = sum(of_hidden, {0, 1});
  return out;
}

/// The same as a graph of steps, for derivatives of it.
std::vector<Tensor> graph_of_steps(Recurrence kind, const Tensor& x, RecurrentState& state, const RecurrentWeights& w,
                                   const Tensor& active) {
  std::vector<Tensor> rows;
  for (std::int64_t t = 0; t < x.size(0); ++t) {
    const RecurrentState before = state;
    state = recurrent_step(kind, x[t], state, w);
    if (active.defined()) {
      state.h = where(active[t], state.h, before.h);
      if (state.c.defined()) state.c = where(active[t], state.c, before.c);
    }
    rows.push_back(state.h);
  }
  return rows;
}

}  // namespace

RecurrentState recurrent_step(Recurrence kind, const Tensor& x, const RecurrentState& state,
                              const RecurrentWeights& w) {
  const std::int64_t size = w.hidden.size(0) / gates_of(kind);
  const Tensor of_x = mapped(x, w.input, w.input_scale, w.input_bias),
               of_h = mapped(state.h, w.hidden, w.hidden_scale, w.hidden_bias);
  if (kind == Recurrence::gru) {
    const Tensor rz = sigmoid(add(gate(of_x, 0, size, 2), gate(of_h, 0, size, 2)));
    const Tensor z = gate(rz, 1, size);
    const Tensor candidate = tanh(add(gate(of_x, 2, size), mul(gate(rz, 0, size), gate(of_h, 2, size))));
    return {add(candidate, mul(z, sub(state.h, candidate))), {}};
  }
  const Tensor g = add(of_x, of_h);
  if (kind != Recurrence::lstm) return {kind == Recurrence::tanh ? tanh(g) : relu(g), {}};
  const Tensor input_forget = sigmoid(gate(g, 0, size, 2));
  const Tensor c =
      add(mul(gate(input_forget, 1, size), state.c), mul(gate(input_forget, 0, size), tanh(gate(g, 2, size))));
  const Tensor h = mul(sigmoid(gate(g, 3, size)), tanh(c));
  return {w.projection.defined() ? mapped(h, w.projection, w.projection_scale, {}) : h, c};
}

RecurrentState projected_layer(const Tensor& x, RecurrentState state, const RecurrentWeights& w, const Tensor& active) {
  const std::vector<Tensor> rows = graph_of_steps(Recurrence::lstm, x, state, w, active);
  return {stack(rows), state.c};
}

RecurrentState recurrent_layer(Recurrence kind, const Tensor& x, const RecurrentState& state, const RecurrentWeights& w,
                               const Tensor& active) {
  const Tensor inputs[] = {x, state.h, state.c, w.input, w.hidden, w.input_bias, w.hidden_bias};
  const bool keep = records(inputs);
  if (w.input_scale.defined()) {
    const CallSite site(name_of(kind), {});
    check_quantized(
        {{"x", x}, {"weight", w.input}, {"bias", w.input_bias, kOptional}, {"h", state.h}, {"c", state.c, kOptional}});
  }
  Steps steps{.active = active.defined() ? active.contiguous() : active};
  RecurrentState y;
  {
    const NoGradGuard guard;
    y = run(kind, x.detach(), {state.h.detach(), state.c.defined() ? state.c.detach() : Tensor()}, w, steps, keep);
  }
  if (is_heard()) [[unlikely]]
    tell(name_of(kind), {y.h, y.c},
         {{"x", x},
          {"h", state.h},
          {"c", state.c, kOptional},
          {"input", w.input},
          {"hidden", w.hidden},
          {"input_bias", w.input_bias, kOptional},
          {"hidden_bias", w.hidden_bias, kOptional},
          {"active", active, kOptional},
          {"scale", w.input_scale, kOptional}});
  if (!keep) return y;
  const auto saved = [](const Tensor& t) { return Saved(t); };
  const auto gradient = [kind, steps, y = Saved::output(y.h), x = saved(x), h = saved(state.h), c = saved(state.c),
                         input = saved(w.input), hidden = saved(w.hidden), input_bias = saved(w.input_bias),
                         hidden_bias = saved(w.hidden_bias)](std::span<const Tensor> grads, Needs needs) {
    const RecurrentState from{h(), c()};
    const RecurrentWeights weights{input(), hidden(), input_bias(), hidden_bias()};
    if (!is_grad_enabled()) return gradients(kind, grads[0], grads[1], x(), from, weights, y(), steps, needs);
    const Tensor operands[] = {
        x(), from.h, from.c, weights.input, weights.hidden, weights.input_bias, weights.hidden_bias};
    std::vector<Tensor> wanted;
    for (std::size_t i = 0; i < 7; ++i)
      if (needs[i] && operands[i].defined()) wanted.push_back(operands[i]);
    RecurrentState at_end = from;
    const std::vector<Tensor> rows = graph_of_steps(kind, operands[0], at_end, weights, steps.active);
    std::vector<Tensor> ends, arrived;
    if (grads[0].defined()) ends.push_back(stack(rows)), arrived.push_back(grads[0]);
    if (grads[1].defined()) ends.push_back(at_end.c), arrived.push_back(grads[1]);
    const std::vector<Tensor> found =
        grad(ends, wanted, {.create_graph = true, .allow_unused = true, .grad_outputs = arrived});
    Gradients out(7);
    std::size_t at = 0;
    for (std::size_t i = 0; i < 7; ++i)
      if (needs[i] && operands[i].defined()) out[i] = found[at++];
    return out;
  };
  auto [all, last_c] = record(name_of(kind), {y.h, y.c},
                              {x, state.h, state.c, w.input, w.hidden, w.input_bias, w.hidden_bias}, gradient);
  return {all, last_c};
}

}  // namespace minnow::detail
