"""Golden values of initialization, modules, optimizers, learning rate schedulers and clipping (PyTorch 2.15)."""
import numpy as np
import torch
from book import Book, randn
from torch import nn

STEPS = 10  # of the module
OPTIMIZER_STEPS = 20


def trajectory(book, name, make, **options):
    """NAME/p0, p1: the initial parameters; /g0, g1: [steps, ...] gradients; /after0, /after1: [steps, ...] parameters."""
    params = [nn.Parameter(randn(name + "p0", 2, 3)), nn.Parameter(randn(name + "p1", 4))]
    optimizer = make(params, **options)
    grads = [torch.stack([randn(f"{name}g{i}{s}", *p.shape) for s in range(OPTIMIZER_STEPS)])
             for i, p in enumerate(params)]
    after = [[], []]
    for i, p in enumerate(params):
        book.put(f"{name}/p{i}", p)
        book.put(f"{name}/g{i}", grads[i])
    for step in range(OPTIMIZER_STEPS):
        for i, p in enumerate(params):
            p.grad = grads[i][step].clone()
        optimizer.step()
        for i, p in enumerate(params):
            after[i].append(p.detach().clone())
    for i in range(2):
        book.put(f"{name}/after{i}", torch.stack(after[i]))


class Lion:
    """Chen et al. 2023, algorithm 2, in float64: PyTorch has no Lion."""

    def __init__(self, params, lr=1e-4, betas=(0.9, 0.99), weight_decay=0.0, maximize=False):
        self.params, self.lr, self.betas = params, lr, betas
        self.weight_decay, self.maximize = weight_decay, maximize
        self.exact = [p.detach().double().numpy() for p in params]
        self.means = [np.zeros_like(p) for p in self.exact]

    def step(self):
        beta1, beta2 = self.betas
        for p, exact, mean in zip(self.params, self.exact, self.means):
            g = p.grad.double().numpy() * (-1 if self.maximize else 1)
            direction = beta1 * mean + (1 - beta1) * g
            assert np.abs(direction).min() > 1e-6, "a sign that rounding may change"
            exact -= self.lr * (np.sign(direction) + self.weight_decay * exact)
            mean[...] = beta2 * mean + (1 - beta2) * g
            p.data = torch.from_numpy(exact).float()


def optimizers():
    book = Book("optimizers")
    sgd, adam, adamw = torch.optim.SGD, torch.optim.Adam, torch.optim.AdamW
    rmsprop = torch.optim.RMSprop
    trajectory(book, "sgd", sgd, lr=0.1)
    trajectory(book, "sgd/momentum", sgd, lr=0.1, momentum=0.9)
    trajectory(book, "sgd/dampening", sgd, lr=0.1, momentum=0.9, dampening=0.5)
    trajectory(book, "sgd/nesterov", sgd, lr=0.1, momentum=0.9, nesterov=True)
    trajectory(book, "sgd/decay", sgd, lr=0.1, weight_decay=0.01)
    trajectory(book, "sgd/all", sgd, lr=0.1, momentum=0.8, nesterov=True, weight_decay=0.01)
    trajectory(book, "sgd/maximize", sgd, lr=0.1, momentum=0.8, weight_decay=0.01, maximize=True)
    trajectory(book, "adam", adam, lr=0.01)
    trajectory(book, "adam/betas", adam, lr=0.01, betas=(0.8, 0.9), eps=1e-3)
    trajectory(book, "adam/decay", adam, lr=0.01, weight_decay=0.1)
    trajectory(book, "adam/amsgrad", adam, lr=0.01, amsgrad=True)
    trajectory(book, "adamw", adamw, lr=0.01)
    trajectory(book, "adamw/decay", adamw, lr=0.01, weight_decay=0.3)
    trajectory(book, "rmsprop", rmsprop)
    trajectory(book, "rmsprop/alpha", rmsprop, lr=0.01, alpha=0.8, eps=1e-2)
    trajectory(book, "rmsprop/decay", rmsprop, lr=0.01, weight_decay=0.1, maximize=True)
    trajectory(book, "rmsprop/momentum", rmsprop, lr=0.01, momentum=0.9)
    trajectory(book, "rmsprop/centered", rmsprop, lr=0.01, alpha=0.9, centered=True)
    trajectory(book, "rmsprop/all", rmsprop, lr=0.01, alpha=0.9, weight_decay=0.1, momentum=0.5, centered=True)
    trajectory(book, "lion", Lion)
    trajectory(book, "lion/betas", Lion, lr=0.01, betas=(0.5, 0.8))
    trajectory(book, "lion/decay", Lion, lr=0.01, weight_decay=0.3)
    trajectory(book, "lion/maximize", Lion, lr=0.01, weight_decay=0.3, maximize=True)
    adagrad, adadelta, adamax = torch.optim.Adagrad, torch.optim.Adadelta, torch.optim.Adamax
    nadam, radam, rprop = torch.optim.NAdam, torch.optim.RAdam, torch.optim.Rprop
    trajectory(book, "adagrad", adagrad, lr=0.1)
    trajectory(book, "adagrad/all", adagrad, lr=0.1, lr_decay=0.05, weight_decay=0.1, initial_accumulator_value=0.5,
               eps=1e-3, maximize=True)
    trajectory(book, "adadelta", adadelta)
    trajectory(book, "adadelta/all", adadelta, lr=0.5, rho=0.8, eps=1e-2, weight_decay=0.1, maximize=True)
    trajectory(book, "adamax", adamax, lr=0.01)
    trajectory(book, "adamax/all", adamax, lr=0.01, betas=(0.8, 0.6), eps=1e-2, weight_decay=0.1, maximize=True)
    trajectory(book, "nadam", nadam, lr=0.01)
    trajectory(book, "nadam/all", nadam, lr=0.01, betas=(0.8, 0.9), eps=1e-3, weight_decay=0.1, momentum_decay=0.3,
               maximize=True)
    trajectory(book, "nadam/decoupled", nadam, lr=0.01, weight_decay=0.3, momentum_decay=0.0,
               decoupled_weight_decay=True)
    trajectory(book, "radam", radam, lr=0.01)
    trajectory(book, "radam/all", radam, lr=0.01, betas=(0.8, 0.9), eps=1e-3, weight_decay=0.1, maximize=True)
    trajectory(book, "radam/decoupled", radam, lr=0.01, betas=(0.8, 0.6), weight_decay=0.3,
               decoupled_weight_decay=True)
    trajectory(book, "rprop", rprop)
    trajectory(book, "rprop/all", rprop, lr=0.05, etas=(0.4, 1.5), step_sizes=(0.02, 0.2), maximize=True)
    trajectory(book, "asgd", torch.optim.ASGD)
    trajectory(book, "asgd/all", torch.optim.ASGD, lr=0.1, lambd=0.05, alpha=0.5, t0=2, weight_decay=0.1, maximize=True)
    trajectory(book, "groups", lambda p: sgd([{"params": p[:1], "lr": 0.5}, {"params": p[1:], "weight_decay": 0.1}],
                                             lr=0.1, momentum=0.5))
    book.close()


def lr_schedulers():
    """Learning rates (and momentums) before each of 12 steps or more, and clipped gradients."""
    book = Book("lr_schedulers")
    s = torch.optim.lr_scheduler

    def rates(name, make, steps=12, lr=0.5, momentum=None):
        params = [nn.Parameter(torch.zeros(1))]
        if momentum == "betas":
            optimizer = torch.optim.Adam(params, lr=lr)
        else:
            optimizer = torch.optim.SGD(params, lr=lr, momentum=momentum or 0)
        scheduler = make(optimizer)
        values, momentums = [], []
        for step in range(steps):
            if step:
                optimizer.step()
                scheduler.step()
            group = optimizer.param_groups[0]
            values.append(group["lr"])
            momentums.append(group["betas"][0] if momentum == "betas" else group["momentum"])
        book.put(name, torch.tensor(values, dtype=torch.float64))
        if momentum:
            book.put(name + "/momentum", torch.tensor(momentums, dtype=torch.float64))

    def plateau(name, metrics, **options):
        optimizer = torch.optim.SGD([nn.Parameter(torch.zeros(1))], lr=0.5)
        scheduler = s.ReduceLROnPlateau(optimizer, **options)
        values = []
        for metric in metrics:
            scheduler.step(metric)
            values.append(optimizer.param_groups[0]["lr"])
        book.put(name + "/metrics", torch.tensor(metrics, dtype=torch.float64))
        book.put(name, torch.tensor(values, dtype=torch.float64))

    rates("step/3,0.1", lambda o: s.StepLR(o, 3))
    rates("step/4,0.5", lambda o: s.StepLR(o, 4, 0.5))
    rates("cosine/10", lambda o: s.CosineAnnealingLR(o, 10))
    rates("cosine/6,0.1", lambda o: s.CosineAnnealingLR(o, 6, 0.1))
    rates("linear/0.1,5", lambda o: s.LinearLR(o, 0.1, total_iters=5))
    rates("warmup 4, cosine 8", lambda o: s.SequentialLR(
        o, [s.LinearLR(o, 0.25, total_iters=4), s.CosineAnnealingLR(o, 8)], [4]))

    rates("multi_step/7,2,7,4", lambda o: s.MultiStepLR(o, [7, 2, 7, 4], 0.5))
    rates("constant/0.25,4", lambda o: s.ConstantLR(o, 0.25, 4))
    rates("exponential/0.9", lambda o: s.ExponentialLR(o, 0.9))
    rates("polynomial", s.PolynomialLR)
    rates("polynomial/9,2.5", lambda o: s.PolynomialLR(o, 9, 2.5))
    rates("restarts/4", lambda o: s.CosineAnnealingWarmRestarts(o, 4))
    rates("restarts/2,3,0.1", lambda o: s.CosineAnnealingWarmRestarts(o, 2, 3, 0.1), 30)
    rates("lambda", lambda o: s.LambdaLR(o, lambda t: 1 / (1 + t)))
    rates("one_cycle", lambda o: s.OneCycleLR(o, 2.0, 20), 21, momentum=0.5)
    rates("one_cycle/betas", lambda o: s.OneCycleLR(o, 0.1, epochs=3, steps_per_epoch=5, base_momentum=0.7), 15,
          momentum="betas")
    rates("one_cycle/linear", lambda o: s.OneCycleLR(o, 2.0, 15, pct_start=0.45, anneal_strategy="linear", div_factor=4,
                                                     final_div_factor=10), 15, momentum=0.5)
    rates("one_cycle/three", lambda o: s.OneCycleLR(o, 2.0, 20, three_phase=True, max_momentum=0.9), 20, momentum=0.5)
    rates("one_cycle/0", lambda o: s.OneCycleLR(o, 2.0, 6, pct_start=0.0, cycle_momentum=False), 6, momentum=0.5)
    rates("cyclic", lambda o: s.CyclicLR(o, 0.1, 1.0, 3), 20, momentum=0.5)
    rates("cyclic/betas", lambda o: s.CyclicLR(o, 0.1, 1.0, 3, 4, "triangular2", base_momentum=0.5), 20,
          momentum="betas")
    rates("cyclic/exp", lambda o: s.CyclicLR(o, 0.1, 1.0, 4, 2, "exp_range", gamma=0.9, cycle_momentum=False), 20,
          momentum=0.5)
    rates("cyclic/scale", lambda o: s.CyclicLR(o, 0.1, 1.0, 3, scale_fn=lambda t: 1 / (1 + t),
                                               scale_mode="iterations"), 20, momentum=0.5)
    rates("warmup 3, exponential, restarts", lambda o: s.SequentialLR(
        o, [s.ConstantLR(o, 0.1, 9), s.ExponentialLR(o, 0.8), s.CosineAnnealingWarmRestarts(o, 3, 2)], [3, 6]), 20)
    rates("linear 4, one_cycle", lambda o: s.SequentialLR(
        o, [s.LinearLR(o, 0.25, total_iters=4), s.OneCycleLR(o, 2.0, 16, div_factor=4, cycle_momentum=False)], [4]), 20)
    rates("polynomial, cyclic", lambda o: s.SequentialLR(
        o, [s.PolynomialLR(o, 8), s.CyclicLR(o, 0.5, 1.0, 3, max_momentum=0.5, base_momentum=0.25)], [5]), 20,
          momentum=0.5)
    rates("chained", lambda o: s.ChainedScheduler([s.ConstantLR(o, 0.1, 4), s.ExponentialLR(o, 0.9),
                                                   s.MultiStepLR(o, [8], 0.5)]))
    rates("chained cosine", lambda o: s.ChainedScheduler([s.LinearLR(o, 0.5, total_iters=3),
                                                          s.CosineAnnealingLR(o, 10)]), 10)
    falling = [1.0, 0.8, 0.8, 0.79999, 0.9, 0.7, 0.7, 0.7, 0.7, 0.7, 0.69, 0.8, 0.8, 0.8, 0.8, 0.8, 0.8, 0.8, 0.8, 0.8]
    plateau("plateau/2", falling, patience=2)
    plateau("plateau/max", [-x for x in falling], mode="max", patience=1, factor=0.5, threshold_mode="abs",
            threshold=0.05)
    plateau("plateau/cooldown", falling, patience=1, cooldown=3, factor=0.3, min_lr=0.03)
    plateau("plateau/eps", falling, patience=0, factor=0.5, eps=0.02, threshold_mode="abs")
    plateau("plateau/rel", [x + 1 for x in falling], mode="max", patience=0, factor=0.5, threshold=0.1)

    for name, limit, order in (("2,small", 0.5, 2.0), ("2,large", 100.0, 2.0), ("inf", 0.5, float("inf")),
                               ("1", 1.0, 1.0)):
        params = [nn.Parameter(torch.zeros(2, 3)), nn.Parameter(torch.zeros(4))]
        for i, p in enumerate(params):
            p.grad = randn(f"clip{i}", *p.shape)
            book.put(f"clip/{name}/before{i}", p.grad)
        book.put(f"clip/{name}/norm", torch.nn.utils.clip_grad_norm_(params, limit, order))
        for i, p in enumerate(params):
            book.put(f"clip/{name}/after{i}", p.grad)
    book.close()


def lbfgs():
    """Parameters, the loss and the calls of the closure after each of 8 steps, in float64."""
    book = Book("lbfgs")

    def trajectory(name, loss_of, **options):
        params = [nn.Parameter(randn("lbfgs0", 2, 3, dtype=torch.float64)),
                  nn.Parameter(randn("lbfgs1", 4, dtype=torch.float64))]
        for i, p in enumerate(params):
            book.put(f"{name}/p{i}", p)
        optimizer = torch.optim.LBFGS(params, **options)

        def closure():
            optimizer.zero_grad()
            loss = loss_of(torch.cat([p.flatten() for p in params]))
            loss.backward()
            return loss

        losses, evaluations, after = [], [], [[], []]
        for _ in range(8):
            losses.append(optimizer.step(closure).detach())
            evaluations.append(optimizer.state[params[0]]["func_evals"])
            for i, p in enumerate(params):
                after[i].append(p.detach().clone())
        book.put(f"{name}/losses", torch.stack(losses))
        book.put(f"{name}/func_evals", torch.tensor(evaluations))
        for i in range(2):
            book.put(f"{name}/after{i}", torch.stack(after[i]))

    weights = torch.arange(1, 11, dtype=torch.float64)

    def bowl(z):
        return (weights * z * z).sum() / 2 + (z**4).sum() / 4

    def valley(z):  # Rosenbrock's
        return (100 * (z[1:] - z[:-1] ** 2) ** 2 + (1 - z[:-1]) ** 2).sum()

    trajectory("bowl", bowl, lr=0.3, max_iter=3)
    trajectory("bowl, short history", bowl, lr=0.1, max_iter=5, history_size=2)
    trajectory("bowl, up", lambda z: -bowl(z), lr=0.3, max_iter=3, maximize=True)
    trajectory("bowl, wolfe", bowl, max_iter=2, line_search_fn="strong_wolfe")
    trajectory("valley, wolfe", valley, max_iter=4, line_search_fn="strong_wolfe")
    trajectory("valley, wolfe, few", valley, max_iter=4, max_eval=6, history_size=3, lr=2,
               line_search_fn="strong_wolfe")
    book.close()


class Counted(nn.Module):
    """Parameters, a buffer of numbers and one of counts."""

    def __init__(self):
        super().__init__()
        self.weight, self.bias = nn.Parameter(randn("average w", 3, 2)), nn.Parameter(randn("average b", 2))
        self.register_buffer("mean", randn("average m", 2))
        self.register_buffer("count", torch.tensor(0))


def averages():
    """The state of an average after each of 5 updates: NAME/STEP/*, and that of the module: model/STEP/*."""
    book = Book("averages")
    swa = torch.optim.swa_utils

    def run(name, average):
        net = Counted()
        model = average(net)
        for step in range(5):
            with torch.no_grad():
                for i, tensor in enumerate((net.weight, net.bias, net.mean)):
                    tensor += randn(f"average {step} {i}", *tensor.shape)
                net.count += 1
            model.update_parameters(net)
            for key, value in net.state_dict().items():
                if name == "swa":
                    book.put(f"model/{step}/{key}", value)
            for key, value in model.state_dict().items():
                if "buffers" not in name or "count" not in key:  # PyTorch averages whole numbers too, and cuts them
                    book.put(f"{name}/{step}/{key}", value)

    ema = {"multi_avg_fn": swa.get_ema_multi_avg_fn(0.8)}
    run("swa", swa.AveragedModel)
    run("ema", lambda net: swa.AveragedModel(net, **ema))
    run("swa, buffers", lambda net: swa.AveragedModel(net, use_buffers=True))
    run("ema, buffers", lambda net: swa.AveragedModel(net, **ema, use_buffers=True))
    book.close()


def statistics():
    """[mean, std, minimum, maximum] of initialized tensors, and gains."""
    book = Book("init")
    torch.manual_seed(0)

    def put(name, tensor):
        t = tensor.detach().double()
        book.put(name, torch.stack([t.mean(), t.std(), t.min(), t.max()]))

    init = nn.init
    functions = {"uniform": lambda w: init.uniform_(w, -2, 3), "normal": lambda w: init.normal_(w, 1, 2),
                 "xavier_uniform": init.xavier_uniform_, "xavier_normal": lambda w: init.xavier_normal_(w, 2.0),
                 "kaiming_uniform": init.kaiming_uniform_,
                 "kaiming_uniform/a": lambda w: init.kaiming_uniform_(w, 5**0.5),
                 "kaiming_normal": init.kaiming_normal_,
                 "kaiming_normal/fan_out,relu": lambda w: init.kaiming_normal_(w, mode="fan_out", nonlinearity="relu"),
                 "trunc_normal": lambda w: init.trunc_normal_(w, 0.5, 1.0, -1.0, 1.0)}
    for name, function in functions.items():
        put(f"{name}/matrix", function(torch.empty(400, 300)))
        put(f"{name}/filters", function(torch.empty(64, 32, 5, 3)))
    put("Linear/weight", nn.Linear(300, 400).weight)
    put("Linear/bias", nn.Linear(3, 40000).bias)
    put("Conv2d/weight", nn.Conv2d(32, 64, (5, 3)).weight)
    put("Conv2d/bias", nn.Conv2d(2, 40000, 3).bias)
    put("Conv2d/groups", nn.Conv2d(64, 128, 5, groups=2).weight)
    for name in ("linear", "conv2d", "sigmoid", "tanh", "relu", "selu", "leaky_relu"):
        book.put(f"gain/{name}", torch.tensor(init.calculate_gain(name), dtype=torch.float64))
    book.put("gain/leaky_relu,0.2", torch.tensor(init.calculate_gain("leaky_relu", 0.2), dtype=torch.float64))
    book.close()


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1, self.conv2 = nn.Conv2d(1, 3, 3), nn.Conv2d(3, 4, 3, padding=1)
        self.fc = nn.Linear(36, 5)

    def forward(self, x):
        x = torch.max_pool2d(torch.relu(self.conv2(torch.relu(self.conv1(x)))), 2)
        return self.fc(x.flatten(1))


def module():
    """A network's state dict under net., a batch, its results, and the losses of ten steps of Adam."""
    book = Book("module")
    torch.manual_seed(1)
    net = Net()
    images, labels = randn("images", 4, 1, 8, 8), torch.tensor([0, 4, 2, 1])
    for name, value in net.state_dict().items():
        book.put(f"net.{name}", value)
    book.put("images", images)
    book.put("labels", labels)
    logits = net(images)
    book.put("logits", logits)
    nn.functional.cross_entropy(logits, labels).backward()
    for name, p in net.named_parameters():
        book.put(f"grad.{name}", p.grad)
    optimizer = torch.optim.Adam(net.parameters(), lr=1e-2)
    losses = []
    for _ in range(STEPS):
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(net(images), labels)
        loss.backward()
        optimizer.step()
        losses.append(loss.detach())
    book.put("losses", torch.stack(losses))
    for name, p in net.named_parameters():
        book.put(f"after.{name}", p)
    book.close()


def transformer():
    """Of each module the state dict under NAME/net., its inputs, result, and the gradients of the weights for their sum of
    squares."""
    book = Book("transformer")
    x, memory = randn("transformer x", 2, 5, 8), randn("transformer memory", 2, 7, 8)
    keep = randn("transformer mask", 5, 5) > -0.5
    keep.fill_diagonal_(True)

    def case(name, net, *inputs, **options):
        torch.manual_seed(1)
        with torch.no_grad():
            for p in net.parameters():
                p.copy_(torch.randn(p.shape) * 0.4 + (0.8 if p.dim() == 1 and "norm" in name else 0))
        for key, value in net.state_dict().items():
            book.put(f"{name}/net.{key}", value)
        for i, value in enumerate(inputs):
            book.put(f"{name}/in{i}", value)
        out = net(*inputs, **options)
        out = out[0] if isinstance(out, tuple) else out
        book.put(f"{name}/out", out)
        out.square().sum().backward()
        for key, p in net.named_parameters():
            book.put(f"{name}/grad.{key}", p.grad)

    case("attention", nn.MultiheadAttention(8, 2, batch_first=True), x, memory, memory)
    case("attention/self", nn.MultiheadAttention(8, 4, bias=False, batch_first=True), x, x, x)
    case("attention/mask", nn.MultiheadAttention(8, 2, batch_first=True), x, x, x, attn_mask=~keep)
    book.put("mask", keep)
    layer = dict(dim_feedforward=12, dropout=0, batch_first=True)
    case("encoder layer", nn.TransformerEncoderLayer(8, 2, **layer), x)
    case("encoder layer/first", nn.TransformerEncoderLayer(8, 2, norm_first=True, activation="gelu", **layer), x)
    case("encoder layer/causal", nn.TransformerEncoderLayer(8, 2, bias=False, **layer), x,
         src_mask=nn.Transformer.generate_square_subsequent_mask(5), is_causal=True)
    case("decoder layer", nn.TransformerDecoderLayer(8, 2, **layer), x, memory)
    case("decoder layer/first", nn.TransformerDecoderLayer(8, 2, norm_first=True, **layer), x, memory)
    tgt_mask, memory_mask = randn("decoder mask", 5, 5) > -0.5, randn("decoder memory mask", 5, 7) > -0.5
    tgt_mask.fill_diagonal_(True)
    memory_mask[:, 0] = True  # a row of which no position takes part is NaN here and zeros in minnow
    tgt_padding, memory_padding = torch.arange(5) < torch.tensor([[5], [4]]), torch.arange(7) < torch.tensor([[4], [7]])
    for name, mask in (("tgt mask", tgt_mask), ("memory mask", memory_mask), ("tgt padding", tgt_padding),
                       ("memory padding", memory_padding)):
        book.put(name, mask)
    case("decoder layer/masks", nn.TransformerDecoderLayer(8, 2, **layer), x, memory, tgt_mask=~tgt_mask, memory_mask=~memory_mask)
    case("decoder layer/padding", nn.TransformerDecoderLayer(8, 2, **layer), x, memory, tgt_key_padding_mask=~tgt_padding,
         memory_key_padding_mask=~memory_padding)
    case("decoder/all masks", nn.TransformerDecoder(nn.TransformerDecoderLayer(8, 2, **layer), 2), x, memory,
         tgt_mask=nn.Transformer.generate_square_subsequent_mask(5), tgt_is_causal=True,
         memory_mask=torch.zeros(5, 7).masked_fill(~memory_mask, float("-inf")),
         tgt_key_padding_mask=torch.zeros(2, 5).masked_fill(~tgt_padding, float("-inf")),
         memory_key_padding_mask=torch.zeros(2, 7).masked_fill(~memory_padding, float("-inf")))
    case("encoder", nn.TransformerEncoder(nn.TransformerEncoderLayer(8, 2, **layer), 2), x)
    case("decoder", nn.TransformerDecoder(nn.TransformerDecoderLayer(8, 2, **layer), 2), x, memory)
    case("attention/more keys", nn.MultiheadAttention(8, 2, add_bias_kv=True, add_zero_attn=True, batch_first=True), x, memory, memory)
    case("attention/more keys, mask", nn.MultiheadAttention(8, 2, add_bias_kv=True, batch_first=True), x, x, x, attn_mask=~keep)
    case("transformer", nn.Transformer(8, 2, 2, 1, **layer), x, memory)
    case("transformer/masks", nn.Transformer(8, 2, 1, 2, norm_first=True, activation="gelu", **layer), memory, x,
         tgt_mask=nn.Transformer.generate_square_subsequent_mask(5), tgt_is_causal=True,
         src_key_padding_mask=torch.zeros(2, 7).masked_fill(~memory_padding, float("-inf")),
         memory_key_padding_mask=torch.zeros(2, 7).masked_fill(~memory_padding, float("-inf")))
    book.close()


def recurrent():
    """Of each module the state dict under NAME/net., its inputs, results, and all gradients for the sum of the results' squares."""
    book = Book("recurrent")
    x = randn("recurrent x", 5, 3, 4)
    states = [randn(f"recurrent h{i}", 4, 3, 6) * 0.5 for i in range(2)]

    def case(name, net, *inputs):
        torch.manual_seed(1)
        with torch.no_grad():
            for p in net.parameters():
                p.copy_(torch.randn(p.shape) * 0.5)
        for key, value in net.state_dict().items():
            book.put(f"{name}/net.{key}", value)
        leaves = [v.clone().requires_grad_() for v in inputs]
        if isinstance(net, nn.LSTM) and len(leaves) == 3:
            y, (h, c) = net(leaves[0], (leaves[1], leaves[2]))
            results = y, h, c
        elif isinstance(net, nn.LSTM):
            y, (h, c) = net(*leaves)
            results = y, h, c
        elif isinstance(net, nn.LSTMCell) and len(leaves) == 3:
            results = net(leaves[0], (leaves[1], leaves[2]))
        else:
            results = net(*leaves)
            results = results if isinstance(results, tuple) else (results,)
        for i, value in enumerate(leaves):
            book.put(f"{name}/in{i}", value)
        for i, value in enumerate(results):
            book.put(f"{name}/out{i}", value)
        sum(r.square().sum() for r in results).backward()
        for i, value in enumerate(leaves):
            book.put(f"{name}/grad{i}", value.grad)
        for key, p in net.named_parameters():
            book.put(f"{name}/grad.{key}", p.grad)

    case("lstm", nn.LSTM(4, 6), x)
    case("lstm/states", nn.LSTM(4, 6), x, *(s[:1] for s in states))
    case("lstm/all", nn.LSTM(4, 6, num_layers=2, bidirectional=True), x, *states)
    case("lstm/no bias", nn.LSTM(4, 6, bias=False, batch_first=True), x)
    case("lstm/alone", nn.LSTM(4, 6), x[:, 0])
    case("gru", nn.GRU(4, 6), x)
    case("gru/all", nn.GRU(4, 6, num_layers=2, bidirectional=True), x, states[0])
    case("gru/no bias", nn.GRU(4, 6, bias=False), x, states[0][:1])
    case("rnn", nn.RNN(4, 6), x, states[0][:1])
    case("rnn/relu", nn.RNN(4, 6, nonlinearity="relu", num_layers=2), x)
    case("lstm cell", nn.LSTMCell(4, 6), x[0], states[0][0], states[1][0])
    case("gru cell", nn.GRUCell(4, 6), x[0], states[0][0])
    case("rnn cell", nn.RNNCell(4, 6), x[0], states[0][0])
    case("lstm cell/zeros", nn.LSTMCell(4, 6), x[0])
    case("gru cell/zeros", nn.GRUCell(4, 6), x[0])
    case("rnn cell/relu, zeros", nn.RNNCell(4, 6, bias=False, nonlinearity="relu"), x[0])
    book.close()


def main():
    transformer()
    recurrent()
    optimizers()
    lr_schedulers()
    lbfgs()
    averages()
    statistics()
    module()
