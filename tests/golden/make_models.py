#!/usr/bin/env python3
"""Golden values of whole models: torchvision's and Hugging Face's, computed in float64 (torchvision 0.29, transformers 5.23).

Weights and inputs are a formula of their names, which tests/models/formula.h has as well, so that models of their real
sizes need no files.  Of each state after one step of SGD the file keeps 16 elements, and two numbers that depend on all:
the norm of the change and its product with a vector of the formula.  Run by hand, like make_golden.py."""
import math
import pathlib
import shutil
import tempfile

import numpy as np
import safetensors.torch
import torch
import torch.nn.functional as F
import torchvision.models as vision
import transformers
from book import HERE, Book

SAMPLES = 16


def fnv1a(text):
    h = 2166136261
    for byte in text.encode():
        h = (h ^ byte) * 16777619 & 0xFFFFFFFF
    return h


def uniform(name, numel):
    """Numbers in [0, 1), multiples of 2^-24."""
    h = np.arange(numel, dtype=np.uint32) * np.uint32(0x9E3779B9) + np.uint32(fnv1a(name))
    h ^= h >> np.uint32(16)
    h *= np.uint32(0x7FEB352D)
    h ^= h >> np.uint32(15)
    h *= np.uint32(0x846CA68B)
    h ^= h >> np.uint32(16)
    return (h >> np.uint32(8)).astype(np.float64) * 2.0**-24


def symmetric(name, *shape):
    return torch.from_numpy((2 * uniform(name, math.prod(shape)) - 1).astype(np.float32)).reshape(shape)


def weight(name, shape, gain):
    """gain: of convolutions, so that numbers neither grow nor vanish."""
    u = uniform(name, math.prod(shape))
    if len(shape) > 1:
        u = (2 * u - 1) * math.sqrt((gain if len(shape) == 4 else 3) / math.prod(shape[1:]))
    elif name.endswith(("weight", "running_var")):
        u = 0.5 + u
    else:
        u = 0.1 * (2 * u - 1)
    return torch.from_numpy(u.astype(np.float32)).reshape(shape)


def integers(name, most, *shape):
    return torch.from_numpy((uniform(name, math.prod(shape)) * most).astype(np.int64)).reshape(shape)


def fill(model, gain):
    with torch.no_grad():
        for name, tensor in model.state_dict().items():
            if tensor.is_floating_point():
                tensor.copy_(weight(name, tuple(tensor.shape), gain))
    return model.double()


def state_of(model):
    return {name: t.detach().clone() for name, t in sorted(model.state_dict().items()) if t.is_floating_point()}


def write(book, name, model, run, loss, lr, gain=6):
    """run(model): the outputs; loss(outputs): what is trained."""
    fill(model, gain).eval()
    with torch.no_grad():
        for i, out in enumerate(run(model)):
            book.put(f"{name}/out{i}", out.float())
            print(f"{name}: out{i} {tuple(out.shape)} std {out.std():.3g} max {out.abs().max():.3g}")
    model.train()
    before = state_of(model)
    optimizer = torch.optim.SGD(model.parameters(), lr=lr, momentum=0.9, weight_decay=1e-3)
    value = loss(run(model))
    value.backward()
    optimizer.step()
    after = state_of(model)
    text = "".join(f"{key} {list(t.shape)}\n" for key, t in after.items())
    book.put(f"{name}/names", torch.tensor(fnv1a(text)))
    book.put(f"{name}/loss", value.float())
    rows, changes = [], []
    for key, t in after.items():
        flat, change = t.flatten(), (t - before[key]).flatten()
        rows.append(flat[[k * flat.numel() // SAMPLES for k in range(SAMPLES)]])
        changes.append(torch.stack([change.norm(), change @ symmetric("probe." + key, change.numel()).double()]))
    book.put(f"{name}/after", torch.stack(rows).float())
    book.put(f"{name}/changes", torch.stack(changes).float())
    largest = torch.stack([(after[key] - before[key]).abs().max() for key in after])
    print(f"{name}: loss {value:.4f}, changes {largest.min():.2g} to {largest.max():.2g}")


def of_images(book, name, model, size, gain=6, lr=0.1):
    images = symmetric("images", 4, 3, size, size).double()
    labels = integers("labels", 1000, 4)
    write(book, name, model, lambda m: [m(images)], lambda out: F.cross_entropy(out[0], labels), lr, gain)


def gpt2(book):
    config = transformers.GPT2Config(vocab_size=96, n_positions=32, n_embd=48, n_layer=3, n_head=4, bos_token_id=0,
                                     eos_token_id=0, resid_pdrop=0, embd_pdrop=0, attn_pdrop=0)
    tokens = integers("tokens", 96, 2, 24)
    write(book, "gpt2", transformers.GPT2LMHeadModel(config), lambda m: [m(tokens).logits],
          lambda out: F.cross_entropy(out[0][:, :-1].flatten(0, 1), tokens[:, 1:].flatten()), 0.1)


def gpt2_file(book):
    """A file as Hugging Face writes it, and what its model continues a text with."""
    config = transformers.GPT2Config(vocab_size=40, n_positions=16, n_embd=16, n_layer=2, n_head=2, bos_token_id=0,
                                     eos_token_id=39)
    model = fill(transformers.GPT2LMHeadModel(config), 6).float().eval()
    with tempfile.TemporaryDirectory() as folder:
        model.save_pretrained(folder)
        shutil.copy(pathlib.Path(folder) / "model.safetensors", HERE / "gpt2_weights.safetensors")
    tokens = integers("tokens", 39, 1, 5)
    book.put("gpt2_file/continued", model.generate(tokens, do_sample=False, max_new_tokens=11, pad_token_id=39))


def torch_net():
    """A network of torch.nn, an input and the result, for examples/import_pytorch."""
    torch.manual_seed(1)
    net = torch.nn.Sequential()
    net.conv = torch.nn.Conv2d(1, 6, 3, stride=2, padding=1)
    net.norm = torch.nn.BatchNorm2d(6)
    net.act = torch.nn.ReLU()
    net.flatten = torch.nn.Flatten()
    net.fc = torch.nn.Linear(6 * 5 * 5, 4)
    for _ in range(3):  # running statistics
        net(torch.randn(8, 1, 10, 10))
    images = torch.randn(2, 1, 10, 10)
    safetensors.torch.save_file({**net.state_dict(), "input": images, "output": net.eval()(images).detach()},
                                HERE / "torch_net.safetensors")


def bert(book):
    config = transformers.BertConfig(vocab_size=96, hidden_size=48, num_hidden_layers=3, num_attention_heads=4,
                                     intermediate_size=80, max_position_embeddings=32, hidden_dropout_prob=0,
                                     attention_probs_dropout_prob=0)
    tokens, types = integers("tokens", 96, 2, 24), integers("types", 2, 2, 24)
    mask = torch.ones(2, 24, dtype=torch.int64)
    mask[1, 17:] = 0
    write(book, "bert", transformers.BertModel(config),
          lambda m: list(m(input_ids=tokens, attention_mask=mask, token_type_ids=types).to_tuple()),
          lambda out: (out[0] * symmetric("probe", *out[0].shape)).mean() + (out[1] * out[1]).mean(), 1.0)


def main():
    book = Book("models")
    gpt2(book)
    gpt2_file(book)
    bert(book)
    of_images(book, "resnet18", vision.resnet18(), 64, gain=3)
    # With other numbers inputs of ReLU6 are so close to 0 or 6 that rounding decides on gradients, in PyTorch as well.
    of_images(book, "mobilenet_v2", vision.mobilenet_v2(dropout=0), 64, gain=3, lr=0.02)
    # Narrower at the end, and with fewer layers: the whole ones are 130 and 90 million numbers.
    vgg = vision.vgg11_bn(dropout=0)
    vgg.classifier[0], vgg.classifier[3], vgg.classifier[6] = (
        torch.nn.Linear(25088, 256), torch.nn.Linear(256, 256), torch.nn.Linear(256, 1000))
    of_images(book, "vgg11_bn", vgg, 32)
    of_images(book, "vit_b_16", vision.VisionTransformer(64, 16, 3, 12, 768, 3072), 64)
    book.close()
    torch_net()


if __name__ == "__main__":
    torch.set_num_threads(1)
    main()
