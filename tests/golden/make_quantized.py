"""Golden values of torch.ao.quantization.quantize_dynamic with per_channel_dynamic_qconfig (PyTorch 2.15, engine onednn).  Its modules
always round activations to 7 bits (reduce_range); here their operations are asked for all 8, as on processors that add products
of bytes exactly.  Of each module the state dict in float32, int8 weights and scales of linear layers, the input and the results."""
import warnings

import torch
from book import Book, randn
from torch import nn
from torch.ao.quantization import per_channel_dynamic_qconfig, quantize_dynamic


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
            y = torch.ops.quantized.linear_dynamic(inputs[0], quantized._packed_params._packed_params, reduce_range=False)
            assert not y.equal(quantized(inputs[0]))
        elif isinstance(net, nn.LSTM):
            y = quantized(inputs[0], inputs[1:] or None)[0]
        else:
            y = quantized(*inputs)[0]
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
