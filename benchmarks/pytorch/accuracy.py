"""benchmarks/workloads/accuracy.cpp on PyTorch: a line of JSON for each seed."""

import pathlib
import time

import numpy as np
import torch
import torch.nn.functional as F


def run(tools, data, seed):
    """Seconds until the CNN, trained on MNIST with Adam in batches of 64, has 99 % on the test images."""
    folder = pathlib.Path(data)

    def load(part):
        images = torch.from_numpy(tools.idx(folder, f"{part}-images-idx3-ubyte").astype(np.float32)).unsqueeze(1)
        labels = torch.from_numpy(tools.idx(folder, f"{part}-labels-idx1-ubyte").astype(np.int64))
        return (images / 255 - 0.1307) / 0.3081, labels

    images, labels = load("train")
    test_images, test_labels = load("t10k")
    torch.manual_seed(seed)
    model = tools.cnn().to(memory_format=torch.channels_last)
    adam = torch.optim.Adam(model.parameters(), lr=1e-3, fused=True)

    def accuracy():
        model.eval()
        with torch.no_grad():
            right = sum(int((model(x).argmax(1) == y).sum())
                        for x, y in zip(test_images.split(500), test_labels.split(500)))
        model.train()
        return 100 * right / len(test_labels)

    tests = []
    start = time.perf_counter()
    for _ in range(10):
        order = torch.randperm(len(images))
        for i, chosen in enumerate(order.split(64)):
            loss = F.cross_entropy(model(images[chosen]), labels[chosen])
            adam.zero_grad()
            loss.backward()
            adam.step()
            if i % 469 == 468:
                tests.append(accuracy())
                if tests[-1] >= 99:
                    return {"seconds": time.perf_counter() - start, "values": tests}
    return {"error": f"99 % was not reached: {tests}"}
