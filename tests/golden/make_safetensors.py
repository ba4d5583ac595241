#!/usr/bin/env python3
"""Writes the reference*.safetensors files of this folder with the Python package `safetensors` (and torch).

The tests read them and write them again, byte for byte; they never run this script."""
import pathlib

import torch
from safetensors.torch import save_file

HERE = pathlib.Path(__file__).parent
DTYPES = [torch.float32, torch.float64, torch.float16, torch.bfloat16, torch.int64, torch.int32, torch.int16,
          torch.int8, torch.uint8]


def ramp(shape, dtype):
    """Row-major elements 0, 1, 2, ... in any dtype."""
    return torch.arange(torch.Size(shape).numel()).reshape(shape).to(dtype)


def main():
    tensors = {f"ramp.{str(dtype).split('.')[1]}": ramp((2, 3), dtype) for dtype in DTYPES}
    tensors["ramp.bool"] = ramp((2, 3), torch.int64) % 2 == 1
    tensors["scalar"] = torch.tensor(1.5)
    tensors["scalar.uint8"] = torch.tensor(7, dtype=torch.uint8)
    tensors["none"] = torch.zeros(0, 3)
    tensors["none.half"] = torch.zeros(2, 0, 4, dtype=torch.float16)
    tensors["odd.uint8"] = ramp((5,), torch.uint8)
    tensors[""] = ramp((1,), torch.float64)
    tensors["/.."] = ramp((2,), torch.float32)
    tensors['quote " backslash \\ slash / tab \t newline \n control \x01 delete \x7f'] = ramp((1, 1), torch.float32)
    tensors["é € \U0001f600 \u2028"] = ramp((3,), torch.int32)
    save_file(tensors, HERE / "reference.safetensors", {"format": 'pt "\\\b\f\n\r\t\x1f é'})
    save_file({}, HERE / "reference_empty.safetensors")

    torch.manual_seed(0)
    net = torch.nn.Sequential(torch.nn.Conv2d(2, 3, 3), torch.nn.BatchNorm2d(3), torch.nn.Linear(4, 2))
    save_file(net.state_dict(), HERE / "reference_module.safetensors", {"format": "pt"})


if __name__ == "__main__":
    main()
