#!/usr/bin/env python3
"""Writes autocast.txt: what torch.autocast does with each operation (PyTorch 2.15).

    list cpu NAME ...              the operations that it has a rule for on a device, from PyTorch's dispatcher
    list cuda/POLICY NAME ...      on CUDA by policy, from ATen/autocast_mode.h: lower, float32, promote
    FILE: CASE = DTYPE, DTYPE      a case of the golden files whose result on the CPU is of another dtype under
                                   autocast(bfloat16) than without: for float32 inputs, and for bfloat16 ones
                                   (several results: A+B; error: PyTorch has no such kernel)

Cases that are not listed have the dtype that they have without."""
import pathlib
import re
import warnings

import torch

import book
import make_combined
import make_composed
import make_elementwise
import make_layers
import make_modules
import make_ops
import make_order
import make_spatial

MACROS = {"LOWER_PRECISION_FP": "lower", "FP32": "float32", "FP32_SET_OPT_DTYPE": "float32", "PROMOTE": "promote",
          "DIFFERENT_REDISPATCH_SIGNATURE": "float32"}
rows = {}


def result_dtypes(function, inputs, dtype, enabled):
    def converted(x):
        return x.detach().to(dtype) if x.is_floating_point() else x

    try:
        with torch.autocast("cpu", torch.bfloat16, enabled=enabled), torch.no_grad():
            results = function(*[converted(x) for x in inputs])
    except Exception:
        return "error"
    results = results if isinstance(results, (tuple, list)) else [results]
    return "+".join(str(y.dtype).removeprefix("torch.") for y in results)


def case(self, name, function, *inputs, grad=True):
    if not any(x.is_floating_point() for x in inputs) or any(x.dtype == torch.float64 for x in inputs):
        return
    found = []
    for dtype in (torch.float32, torch.bfloat16):
        without, under = (result_dtypes(function, inputs, dtype, on) for on in (False, True))
        found.append((under, under != without or under == "error"))
    if any(differs for _, differs in found):
        rows[f"{self.file.stem}: {name}"] = ", ".join(text for text, _ in found)


def lists():
    names = {name.removeprefix("aten::").split(".")[0]
             for name in torch._C._dispatch_get_registrations_for_dispatch_key("AutocastCPU")}
    yield "cpu", names
    header = pathlib.Path(torch.__file__).parent / "include/ATen/autocast_mode.h"
    by_policy = {}
    for macro, body in re.findall(r"#define AT_FORALL_(\w+)\(_\)((?:.*\\\n)*.*)", header.read_text()):
        if macro in MACROS:
            found = re.findall(r"_\((?:ADD_NS\()?(\w+)", body)
            by_policy.setdefault(MACROS[macro], set()).update(found)
    for policy, found in by_policy.items():
        yield f"cuda/{policy}", found


def main():
    warnings.filterwarnings("ignore")
    book.Book.case = case
    book.Book.put = lambda *_: None
    book.Book.close = lambda self: None
    for maker in (make_elementwise, make_ops, make_order, make_layers, make_spatial, make_modules, make_combined,
                  make_composed):
        maker.main()
    lines = [f"list {name} {' '.join(sorted(found))}" for name, found in lists()]
    lines += [f"{name} = {text}" for name, text in sorted(rows.items())]
    (book.HERE / "autocast.txt").write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    torch.set_num_threads(1)
    main()
