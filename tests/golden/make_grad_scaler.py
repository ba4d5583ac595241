#!/usr/bin/env python3
"""Writes grad_scaler.safetensors: the scales and parameters of torch.amp.GradScaler (PyTorch 2.15) on gradients some of
which are infinite or NaN."""
import torch
from book import Book, randn

STEPS = 24
BAD = {2: float("inf"), 3: float("nan"), 9: -float("inf"), 20: float("inf")}


def main():
    book = Book("grad_scaler")
    makers = {
        "sgd": lambda p: torch.optim.SGD(p, lr=0.1, momentum=0.9),
        "adam": lambda p: torch.optim.Adam(p, lr=0.1),
        "radam": lambda p: torch.optim.RAdam(p, lr=0.1),
        "adafactor": lambda p: torch.optim.Adafactor(p, lr=0.1),
    }
    factors = randn("factors", STEPS, 3, 4)
    for step, value in BAD.items():
        factors[step, 1, 2] = value
    book.put("factors", factors)
    for name, make in makers.items():
        w = randn("w", 3, 4).requires_grad_()
        optimizer = make([w])
        scaler = torch.amp.GradScaler("cpu", init_scale=1024.0, growth_interval=4)
        scales, weights = [], []
        for step in range(STEPS):
            optimizer.zero_grad()
            scaler.scale((w * factors[step]).sum()).backward()
            if step % 3 == 0:
                scaler.unscale_(optimizer)
                torch.nn.utils.clip_grad_norm_([w], 2.0)
            scaler.step(optimizer)
            scaler.update()
            scales.append(scaler.get_scale())
            weights.append(w.detach().clone())
        book.put(f"{name}/w", randn("w", 3, 4))
        book.put(f"{name}/scales", torch.tensor(scales))
        book.put(f"{name}/weights", torch.stack(weights))
    book.close()


if __name__ == "__main__":
    torch.set_num_threads(1)
    main()
