"""Golden values of modules: parametrizations, layers of two operands, projections and packed sequences, and of optimizers made of operations (PyTorch
2.15)."""
import torch
from book import Book, randn
from torch import nn
from torch.nn.utils import parametrizations
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence


def parametrized():
    """Of each module the state dict before and after two calls in train mode, the input, the results, all gradients of the
    sum of squares of both, and the result in eval mode."""
    book = Book("parametrizations")

    def case(name, net, x):
        torch.manual_seed(1)
        with torch.no_grad():
            for p in net.parameters():
                p.copy_(torch.randn(p.shape) * 0.5 + 0.1)
        for key, value in net.state_dict().items():
            book.put(f"{name}/net.{key}", value)
        book.put(f"{name}/in0", x)
        first, second = net(x), net(x * 2)
        book.put(f"{name}/out0", first)
        book.put(f"{name}/out1", second)
        (first.square().sum() + second.square().sum()).backward()
        for key, p in net.named_parameters():
            book.put(f"{name}/grad.{key}", p.grad)
        for key, value in net.state_dict().items():
            book.put(f"{name}/after.{key}", value)
        net.eval()
        book.put(f"{name}/out2", net(x))

    x, image = randn("parametrized x", 3, 4), randn("parametrized image", 2, 2, 5, 5)
    case("weight norm", parametrizations.weight_norm(nn.Linear(4, 3)), x)
    case("weight norm of columns", parametrizations.weight_norm(nn.Linear(4, 3), dim=1), x)
    case("weight norm of all", parametrizations.weight_norm(nn.Linear(4, 3), dim=None), x)
    case("weight norm of a convolution", parametrizations.weight_norm(nn.Conv2d(2, 3, 3)), image)
    case("spectral norm", parametrizations.spectral_norm(nn.Linear(4, 3)), x)
    case("spectral norm, 3 iterations",
         parametrizations.spectral_norm(nn.Conv2d(2, 3, 3), n_power_iterations=3, dim=1), image)
    case("spectral norm of a bias", parametrizations.spectral_norm(nn.Linear(4, 3), "bias"), x)
    case("spectral norm of columns of a kernel", parametrizations.spectral_norm(nn.Conv2d(2, 3, (2, 4)), dim=3), image)
    book.close()


def packed():
    """As `recurrent` of make_training.py, with projections and with sequences of lengths."""
    book = Book("packed")
    x = randn("packed x", 5, 3, 4)
    states = [randn(f"packed h{i}", 4, 3, 6) * 0.5 for i in range(2)]
    projected = randn("packed projected", 4, 3, 2) * 0.5

    def case(name, net, x, *given, lengths=None):
        torch.manual_seed(1)
        with torch.no_grad():
            for p in net.parameters():
                p.copy_(torch.randn(p.shape) * 0.5)
        for key, value in net.state_dict().items():
            book.put(f"{name}/net.{key}", value)
        leaves = [v.clone().requires_grad_() for v in (x, *given)]
        for i, value in enumerate(leaves):
            book.put(f"{name}/in{i}", value)
        first = leaves[0]
        if lengths:
            book.put(f"{name}/lengths", torch.tensor(lengths))
            first = pack_padded_sequence(first, lengths, batch_first=net.batch_first, enforce_sorted=False)
        if isinstance(net, nn.LSTM):
            y, (h, c) = net(first, tuple(leaves[1:])) if given else net(first)
            results = y, h, c
        else:
            results = net(first, *leaves[1:])
        if lengths:
            results = (pad_packed_sequence(results[0], batch_first=net.batch_first)[0], *results[1:])
        for i, value in enumerate(results):
            book.put(f"{name}/out{i}", value)
        sum(r.square().sum() for r in results).backward()
        for i, value in enumerate(leaves):
            book.put(f"{name}/grad{i}", value.grad)
        for key, p in net.named_parameters():
            book.put(f"{name}/grad.{key}", p.grad)

    both = dict(num_layers=2, bidirectional=True)
    case("lstm/projections", nn.LSTM(4, 6, proj_size=2), x)
    case("lstm/projections, all", nn.LSTM(4, 6, proj_size=2, **both), x, projected, states[1])
    case("lstm/lengths", nn.LSTM(4, 6), x, lengths=[5, 3, 1])
    case("lstm/lengths, all", nn.LSTM(4, 6, **both), x, *states, lengths=[2, 4, 3])
    case("lstm/lengths and projections", nn.LSTM(4, 6, proj_size=2, **both), x, projected, states[1], lengths=[2, 5, 3])
    case("lstm/lengths, batch first", nn.LSTM(4, 6, batch_first=True), x.transpose(0, 1).contiguous(), lengths=[2, 5, 3])
    case("gru/lengths", nn.GRU(4, 6), x, lengths=[1, 5, 3])
    case("gru/lengths, all", nn.GRU(4, 6, bias=False, **both), x, states[0], lengths=[2, 4, 3])
    case("rnn/lengths, all", nn.RNN(4, 6, **both), x, states[0], lengths=[2, 4, 3])
    case("rnn/relu, lengths", nn.RNN(4, 6, nonlinearity="relu"), x, lengths=[2, 5, 3])
    book.close()


def layers():
    """Layers of two operands."""
    book = Book("pair_layers")
    a, b = randn("pair a", 4, 5), randn("pair b", 4, 5)
    book.case("CosineSimilarity", nn.CosineSimilarity(), a, b)
    book.case("CosineSimilarity/dim", nn.CosineSimilarity(0, eps=1e-6), a, b)
    book.case("PairwiseDistance", nn.PairwiseDistance(), a, b)
    book.case("PairwiseDistance/1", nn.PairwiseDistance(1, keepdim=True), a, b)
    for name, bias in (("Bilinear", True), ("Bilinear/no bias", False)):
        torch.manual_seed(1)
        net = nn.Bilinear(5, 3, 2, bias=bias)
        weights = [p.detach() for p in net.parameters()]
        book.case(name, lambda x, y, *p: nn.functional.bilinear(x, y, *p), randn("pair x", 2, 4, 5),
                  randn("pair y", 2, 4, 3), *weights)
    book.case("GLU", nn.GLU(), randn("glu", 3, 6))
    book.case("GLU/0", nn.GLU(0), randn("glu", 4, 3))
    book.case("Softmin", nn.Softmin(1), a)
    book.case("RReLU/eval", nn.RReLU(0.1, 0.3).eval(), a)
    book.close()


def newton_schulz(grad, coefficients, steps, eps):
    """As in torch.optim, in float64."""
    a, b, c = coefficients
    x = grad.double() if grad.size(0) <= grad.size(1) else grad.double().T
    x = x / x.norm().clamp(min=eps)
    for _ in range(steps):
        gram = x @ x.T
        x = a * x + (b * gram + c * gram @ gram) @ x
    return (x if grad.size(0) <= grad.size(1) else x.T).to(grad.dtype)


def composed_optimizers():
    """Trajectories as in make_training.py."""
    book = Book("composed_optimizers")

    def trajectory(name, make, shapes, steps=20, **options):
        params = [nn.Parameter(randn(f"{name}p{i}", *shape)) for i, shape in enumerate(shapes)]
        optimizer = make(params, **options)
        for i, p in enumerate(params):
            book.put(f"{name}/p{i}", p)
            book.put(f"{name}/g{i}", torch.stack([randn(f"{name}g{i}{s}", *p.shape) for s in range(steps)]))
        after = [[] for _ in params]
        for step in range(steps):
            for i, p in enumerate(params):
                p.grad = randn(f"{name}g{i}{step}", *p.shape)
            optimizer.step()
            for i, p in enumerate(params):
                after[i].append(p.detach().clone())
        for i in range(len(params)):
            book.put(f"{name}/after{i}", torch.stack(after[i]))

    matrices = [(4, 3), (3, 6)]
    muon, adafactor = torch.optim.Muon, torch.optim.Adafactor
    trajectory("muon", muon, matrices, lr=0.02)
    trajectory("muon/all", muon, matrices, lr=0.02, weight_decay=0.5, momentum=0.8, nesterov=False,
               ns_coefficients=(2.0, -1.5, 0.5), ns_steps=3)
    trajectory("muon/match", muon, matrices, lr=0.05, adjust_lr_fn="match_rms_adamw")
    trajectory("muon/spectral", muon, matrices, lr=0.02, adjust_lr_fn="spectral_unclamped")
    # The same with sums that are not rounded to bfloat16.
    function = torch.optim._muon._zeropower_via_newtonschulz
    torch.optim._muon._zeropower_via_newtonschulz = newton_schulz
    trajectory("muon/exact", muon, matrices, lr=0.02)
    trajectory("muon/exact, all", muon, matrices, lr=0.02, weight_decay=0.5, momentum=0.8, nesterov=False,
               ns_coefficients=(2.0, -1.5, 0.5), ns_steps=3, adjust_lr_fn="match_rms_adamw")
    torch.optim._muon._zeropower_via_newtonschulz = function
    shapes = [(2, 3, 4), (5,)]
    trajectory("adafactor", adafactor, shapes)
    trajectory("adafactor/all", adafactor, shapes, lr=0.3, beta2_decay=-0.5, eps=(1e-3, 0.5), d=1.5, weight_decay=0.1,
               maximize=True)
    book.close()


def main():
    composed_optimizers()
    parametrized()
    packed()
    layers()


if __name__ == "__main__":
    torch.set_num_threads(1)
    main()
