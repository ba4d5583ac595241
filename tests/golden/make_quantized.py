"""Golden values of torch.ao.quantization.quantize_dynamic with per_channel_dynamic_qconfig (PyTorch 2.15, engine onednn).  Its
modules always round activations to 7 bits (reduce_range); here their operations are asked for all 8, as on processors that add
products of bytes exactly, and for each row by itself: minnow has a scale for each row, PyTorch one for all.  Of each module the
state dict in float32, int8 weights and scales of linear layers, the input and the results."""
import warnings

import torch
from book import Book, randn
from torch import nn
from torch.ao.quantization import per_channel_dynamic_qconfig, quantize_dynamic


def steps(layer, x, state):
    """Of one layer in one direction: each sample and each step by itself."""
    lstm = isinstance(state, tuple)
    samples = []
    for n in range(x.shape[1]):
        own = tuple(s[:, n:n + 1] for s in state) if lstm else state[:, n:n + 1]
        results = []
        for t in range(x.shape[0]):
            y, own = layer(x[t:t + 1, n:n + 1], own)
            results.append(y)
        samples.append(torch.cat(results))
    return torch.cat(samples, 1)


def recurrent(net, spec, x, *states):
    lstm = isinstance(net, nn.LSTM)
    for k in range(net.num_layers):
        sides = []
        for suffix in [f"l{k}", f"l{k}_reverse"][:1 + net.bidirectional]:
            layer = type(net)(x.shape[2], net.hidden_size)
            with torch.no_grad():
                for kind in ("weight_ih", "weight_hh", "bias_ih", "bias_hh"):
                    getattr(layer, kind + "_l0").copy_(getattr(net, f"{kind}_{suffix}"))
            layer = quantize_dynamic(nn.Sequential(layer), spec)[0]
            state = states or tuple(torch.zeros(1, x.shape[1], net.hidden_size) for _ in range(1 + lstm))
            state = state if lstm else state[0]
            back = suffix.endswith("reverse")
            y = steps(layer, x.flip(0) if back else x, state)
            sides.append(y.flip(0) if back else y)
        x = torch.cat(sides, 2)
    return x


def main():
    warnings.simplefilter("ignore")
    cells = torch.ops.quantized.make_quantized_cell_params_dynamic
    torch.ops.quantized.make_quantized_cell_params_dynamic = lambda *a: cells(*a[:4], False)
    torch.backends.quantized.engine = "onednn"
    book = Book("quantized")

    def case(name, net, *inputs):
        torch.manual_seed(2)
        with torch.no_grad():
            for p in net.parameters():
                p.copy_(torch.randn(p.shape) * 0.4)
        for key, value in net.state_dict().items():
            book.put(f"{name}/net.{key}", value)
        whole = nn.Sequential(net)
        spec = {nn.Linear: per_channel_dynamic_qconfig, nn.LSTM: per_channel_dynamic_qconfig,
                nn.GRU: per_channel_dynamic_qconfig}
        quantized = quantize_dynamic(whole, spec)[0]
        for i, x in enumerate(inputs):
            book.put(f"{name}/in{i}", x)
        if isinstance(net, nn.Linear):
            book.put(f"{name}/weight", quantized.weight().int_repr())
            book.put(f"{name}/scale", quantized.weight().q_per_channel_scales().float())
            rows = inputs[0].flatten(0, -2).split(1)
            weights = quantized._packed_params._packed_params
            y = torch.cat([torch.ops.quantized.linear_dynamic(row, weights, reduce_range=False) for row in rows])
            y = y.unflatten(0, inputs[0].shape[:-1])
            assert not y.equal(quantized(inputs[0]))
        else:
            y = recurrent(net, spec, *inputs)
        book.put(f"{name}/out0", y)

    x = randn("quantized x", 5, 24)
    case("linear", nn.Linear(24, 10), x)
    case("linear/positive", nn.Linear(24, 10), x.abs() + 0.3)
    case("linear/negative, no bias", nn.Linear(24, 7, bias=False), -x.abs())
    case("linear/rows", nn.Linear(24, 7), randn("quantized rows", 2, 3, 24))
    sequence = randn("quantized sequence", 6, 3, 8)
    states = [randn(f"quantized state {i}", 1, 3, 16) * 0.5 for i in range(2)]
    case("lstm", nn.LSTM(8, 16), sequence, *states)
    case("lstm/zeros", nn.LSTM(8, 16, num_layers=2, bidirectional=True), sequence)
    case("gru", nn.GRU(8, 16), sequence, states[0])
    book.close()


if __name__ == "__main__":
    torch.set_num_threads(1)
    main()
