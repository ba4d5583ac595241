"""The workloads of benchmarks/workloads/tables.cpp on PyTorch."""

import torch
import torch.nn.functional as F
from torch import nn


def workloads(tools):
    pick, formula = tools.Settings.pick, tools.formula

    def places(seed, shape, rows):
        return ((formula(seed, shape) + 1.0) * (rows / 2)).long().clamp_max(rows - 1)

    def two_tower():
        device = tools.Settings.device
        rows, batch = pick(1000000, 1000), pick(256, 8)
        seen = nn.EmbeddingBag(rows, 64, mode="mean", sparse=True, device=device)
        items = nn.Embedding(rows, 64, sparse=True, device=device)
        dense = nn.Linear(64, 64).to(device)
        tools.fill_parameters(dense)
        with torch.no_grad():
            for table, seed in ((seen, 1), (items, 2)):
                table.weight.copy_(tools.tiled(seed, rows // 1000, (1000, 64)))
        adam = torch.optim.Adam(dense.parameters(), fused=True)
        sparse_adam = torch.optim.SparseAdam([seen.weight, items.weight])
        bags, chosen = places(3, (batch, 20), rows), places(4, (batch,), rows)
        target = torch.arange(batch, device=device)

        def step():
            loss = F.cross_entropy(dense(seen(bags)) @ items(chosen).t(), target)
            adam.zero_grad(), sparse_adam.zero_grad()
            loss.backward()
            adam.step(), sparse_adam.step()
            return loss

        return {"": step}, [step().item() for _ in range(3)]

    return {"two_tower_sparse": two_tower}
