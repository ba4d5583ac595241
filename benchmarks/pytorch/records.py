"""benchmarks/records.cpp's step of GPT-2 on PyTorch:  records.py STEPS [--compile]"""

import sys
import time

import torch
import torch.nn.functional as F
from networks import GPT2


def main():
    net = GPT2(50257, 1024, 768, 12, 12)
    for name, p in net.named_parameters():
        if p.dim() > 1:
            torch.nn.init.normal_(p, std=0.02)
    adamw = torch.optim.AdamW(net.parameters(), lr=1e-4, weight_decay=0, fused=True)

    def loss_of(x, following):
        return F.cross_entropy(net(x).flatten(0, 1), following)

    if "--compile" in sys.argv:
        loss_of = torch.compile(loss_of)
    for i in range(int(sys.argv[1]) + ("--compile" in sys.argv)):
        tokens = torch.randint(50257, (4, 65))
        x, following = tokens[:, :-1].contiguous(), tokens[:, 1:].flatten()
        start = time.perf_counter()
        loss = loss_of(x, following)
        adamw.zero_grad()
        loss.backward()
        adamw.step()
        loss.item()
        if "--compile" not in sys.argv or i > 0:  # the first compiles
            print(f"seconds {time.perf_counter() - start:.6f}", flush=True)


if __name__ == "__main__":
    main()
