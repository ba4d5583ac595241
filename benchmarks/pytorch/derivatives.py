"""The workloads of benchmarks/workloads/derivatives.cpp on PyTorch."""

import torch
import torch.nn.functional as F
from torch import nn
from torch.func import functional_call


def workloads(tools):
    pick, formula = tools.Settings.pick, tools.formula

    def step_of(model, loss_of):
        """Losses of three steps are checked."""
        model = model.to(tools.Settings.device)
        tools.fill_parameters(model)
        adam = torch.optim.Adam(model.parameters(), lr=1e-3, fused=True)

        def step():
            loss = loss_of(model)
            adam.zero_grad()
            loss.backward()
            adam.step()
            return loss

        return {"": step}, [step().item() for _ in range(3)]

    def pinn():
        model = nn.Sequential(nn.Linear(2, 64), nn.Tanh(), nn.Linear(64, 64), nn.Tanh(), nn.Linear(64, 64), nn.Tanh(),
                              nn.Linear(64, 1))
        points = pick(4096, 64)
        x, t = formula(1, (points,)).requires_grad_(), formula(2, (points,)).requires_grad_()

        def loss_of(net):
            u = net(torch.stack([x, t], 1)).squeeze(1)
            u_x, u_t = torch.autograd.grad(u.sum(), [x, t], create_graph=True)
            u_xx, = torch.autograd.grad(u_x.sum(), x, create_graph=True)
            return (u_t + u * u_x - u_xx * 0.01).square().mean()

        return step_of(model, loss_of)

    def maml():
        model = nn.Sequential(nn.Linear(1, 40), nn.Tanh(), nn.Linear(40, 40), nn.Tanh(), nn.Linear(40, 1))
        x, phase = formula(1, (4, 20, 1), 3), formula(2, (4, 1, 1), 3)
        y = torch.sin(x + phase)

        def loss_of(net):
            total = torch.zeros((), device=tools.Settings.device)
            for task in range(4):
                fast = dict(net.named_parameters())
                for _ in range(3):
                    loss = F.mse_loss(functional_call(net, fast, x[task, :10]), y[task, :10])
                    grads = torch.autograd.grad(loss, list(fast.values()), create_graph=True)
                    fast = {name: w - g * 0.01 for (name, w), g in zip(fast.items(), grads)}
                total = total + F.mse_loss(functional_call(net, fast, x[task, 10:]), y[task, 10:])
            return total

        return step_of(model, loss_of)

    return {"pinn": pinn, "maml": maml}
