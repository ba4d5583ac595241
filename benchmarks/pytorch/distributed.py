"""The PyTorch side of benchmarks/distributed.py: the CNN of examples/mnist.cpp under DistributedDataParallel with gloo.

distributed.py RANKS THREADS BATCH STEPS: prints the images per second of all ranks.
"""

import os
import sys
import time

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch import nn


def network():
    return nn.Sequential(
        nn.Conv2d(1, 32, 3), nn.ReLU(), nn.Conv2d(32, 64, 3), nn.ReLU(), nn.MaxPool2d(2), nn.Dropout(0.25),
        nn.Flatten(), nn.Linear(9216, 128), nn.ReLU(), nn.Dropout(0.5), nn.Linear(128, 10))


def train(rank, ranks, threads, batch, steps, out):
    torch.set_num_threads(threads)
    torch.manual_seed(1)
    model = network()
    if ranks > 1:
        os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT="29571")
        dist.init_process_group("gloo", rank=rank, world_size=ranks)
        model = nn.parallel.DistributedDataParallel(model)
    adam = torch.optim.Adam(model.parameters(), fused=True)
    images = torch.rand(batch // ranks, 1, 28, 28).to(memory_format=torch.channels_last)
    labels = torch.randint(0, 10, (batch // ranks,))

    def step():
        loss = nn.functional.cross_entropy(model(images), labels)
        adam.zero_grad()
        loss.backward()
        adam.step()

    for _ in range(10):
        step()
    start = time.perf_counter()
    for _ in range(steps):
        step()
    if rank == 0:
        out.put(steps * batch / (time.perf_counter() - start))
    if ranks > 1:
        dist.destroy_process_group()


def main():
    ranks, threads, batch, steps = map(int, sys.argv[1:5])
    out = mp.get_context("spawn").SimpleQueue()
    mp.spawn(train, (ranks, threads, batch, steps, out), nprocs=ranks)
    print(out.get())


if __name__ == "__main__":
    main()
