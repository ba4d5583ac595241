"""What the generators of golden values share: named cases, their inputs, results and gradients, in one file each."""
import json
import pathlib
import struct
import zlib

import torch
from safetensors.torch import save

HERE = pathlib.Path(__file__).parent


def rng(name):
    """Random numbers of a case, which do not depend on the other cases."""
    return torch.Generator().manual_seed(zlib.crc32(name.encode()))


def randn(name, *shape, dtype=torch.float32):
    return torch.randn(shape, generator=rng(name + str(shape)), dtype=torch.float32).to(dtype)


class Book:
    """The cases of one file: NAME/in0, NAME/in1, ..., NAME/out0, ..., NAME/grad_out, NAME/grad0, ...

    grad_out is the gradient that arrives at out0; grad{i} what backward leaves in in{i}, for floating-point inputs.
    A tensor that the file holds already under another name is not stored again: the metadata names the first."""

    def __init__(self, file):
        self.file = HERE / f"{file}.safetensors"
        self.tensors, self.same, self.known = {}, {}, {}

    def put(self, name, tensor):
        assert name not in self.tensors and name not in self.same, name
        tensor = tensor.detach().clone().contiguous()
        key = (tensor.dtype, tensor.shape, bytes(tensor.reshape(-1).view(torch.uint8).tolist()))
        if key in self.known:
            self.same[name] = self.known[key]
        else:
            self.known[key] = name
            self.tensors[name] = tensor

    def case(self, name, function, *inputs, grad=True):
        leaves = [x.clone().requires_grad_(grad and x.is_floating_point()) for x in inputs]
        outputs = function(*leaves)
        outputs = outputs if isinstance(outputs, (tuple, list)) else (outputs,)
        for i, leaf in enumerate(leaves):
            self.put(f"{name}/in{i}", leaf)
        for i, out in enumerate(outputs):
            self.put(f"{name}/out{i}", out)
        if not outputs[0].requires_grad:
            return
        arriving = randn("grad_out", *outputs[0].shape, dtype=outputs[0].dtype)
        outputs[0].backward(arriving)
        if all(leaf.grad is None for leaf in leaves):
            return
        self.put(f"{name}/grad_out", arriving)
        for i, leaf in enumerate(leaves):
            if leaf.grad is not None:
                self.put(f"{name}/grad{i}", leaf.grad)

    def close(self):
        data = save(self.tensors, self.same or None)
        length = struct.unpack("<Q", data[:8])[0]
        header = json.loads(data[8 : 8 + length])
        if self.same:  # the package gives its metadata in any order
            header["__metadata__"] = dict(sorted(self.same.items()))
        text = json.dumps(header, separators=(",", ":"), ensure_ascii=False).encode()
        text += b" " * (-len(text) % 8)
        assert len(text) == length
        self.file.write_bytes(data[:8] + text + data[8 + length :])
        print(f"{self.file.name}: {len(self.tensors)} tensors, {self.file.stat().st_size} bytes")
