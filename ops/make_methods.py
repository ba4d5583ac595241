#!/usr/bin/env python3
"""Writes Tensor's methods from the functions of ops: x.sum(0) is sum(x, 0).

make_methods.py          writes tensor/methods.h and ops/tensor_methods.cpp
make_methods.py --check  fails when they are not what it would write

A function whose first parameter is `const In&` or `const TensorLike&` becomes a method of the same name, with the rest of
its parameters and its doc comment.  Say in NOT_METHODS which do not, and in RENAMED which get another name.

A function of `const TensorLike& a, const TensorLike& b`, each of which may be a number, is deleted for two numbers.
"""

import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
HEADERS = ["elementwise/arithmetic", "elementwise/unary", "reductions/reduce", "products/matmul", "norms/softmax", "random/dropout",
           "norms/cross_entropy", "indexing/index", "indexing/masked", "shape/rearrange", "reductions/statistics", "random/sample",
           "reductions/scan", "indexing/scatter", "indexing/search", "indexing/sort"]
# Not of one tensor above others, or for the layers above.
NOT_METHODS = {"where", "linear", "dropout", "dropout1d", "dropout2d", "dropout3d", "alpha_dropout", "cross_entropy_rows",
               "sum_to", "embedding", "one_hot", "pow_scalar", "pad", "bucketize", "searchsorted"}
RENAMED = {"stddev": "std"}
# Callable objects, which no declaration of a function shows: (doc, result, name, parameters).
OBJECTS = [("/// Whether no element is zero, of all or along dims: bool.", "Tensor", "all",
            ["const Dims& dims = {}", "bool keepdim = false"])]

FUNCTION = re.compile(r"((?:^///[^\n]*\n)*)^(\[\[nodiscard\]\] )?(?:inline )?(Tensor|MinMax|Ordered|Unique|bool|std::vector<Tensor>) (\w+)"
                      r"\(const (?:In|TensorLike)& \w+((?:, [^;]*?)?)\)(?:;| \{)", re.M)
OF_TWO = re.compile(r"^\[\[nodiscard\]\] (?:inline )?Tensor (\w+|operator\S+?)\(const TensorLike& \w+, const TensorLike& \w+\)", re.M)
WHERE = "SourceLocation where = SourceLocation::current()"


def split(parameters):
    """The parameters of ", double beta = 1, const Dims& dims = {}"."""
    return [" ".join(p.split()) for p in re.split(r",(?![^{<(]*[}>)])", parameters) if p.strip()]


def texts():
    return [(ROOT / "ops" / f"{header}.h").read_text(encoding="utf-8") for header in HEADERS]


def functions():
    for text in texts():
        for doc, _, result, name, parameters in FUNCTION.findall(text):
            if name not in NOT_METHODS:
                parameters = [p for p in split(parameters) if not p.startswith("SourceLocation")]
                yield doc, result, name, parameters
    yield from OBJECTS


def written():
    declarations, definitions = [], []
    for doc, result, name, parameters in functions():
        method = RENAMED.get(name, name)
        discard = "" if name.endswith("_") else "[[nodiscard]] "
        # Inside of the class std may be a method: the namespace is named from the root.
        signature = ", ".join(parameters + [WHERE]).replace("std::", "::std::")
        result = result.replace("std::", "::std::")
        declarations += ["  " + line for line in doc.strip().splitlines()]
        declarations.append(f"  {discard}{result} {method}({signature}) const;")
        plain = [re.sub(r" = .*", "", p).replace("std::", "::std::") for p in parameters]
        head = ", ".join(plain + ["SourceLocation where"])
        call = ", ".join(["{self(), where}"] + [p.split()[-1] for p in plain])
        definitions.append(f"{result} Methods::{method}({head}) const {{ return minnow::{name}({call}); }}")
    return "\n".join(declarations), "\n".join(definitions)


def files():
    declarations, definitions = written()
    deleted = "\n".join(f"void {name}(Scalar, Scalar) = delete;" for text in texts() for name in OF_TWO.findall(text))
    note = "// Written by ops/make_methods.py from the functions in ops: change those and run it."
    yield ROOT / "tensor/methods.h", f"""{note}
// clang-format off
#pragma once

#include <cstdint>
#include <optional>
#include <vector>
#include <minnow/tensor/scalar.h>
#include <minnow/tensor/shape.h>
#include <minnow/tensor/source_location.h>

namespace minnow {{

class Tensor;
struct In;
struct TensorLike;
struct MinMax;
struct Ordered;
struct Unique;
class RandomGenerator;
enum class Scatter : std::uint8_t;
enum class Rounding : std::uint8_t;
enum class Quantile : std::uint8_t;

// One operand must be a tensor.
{deleted}

namespace detail {{

/// The functions of ops as members of Tensor, each with the tensor as its first operand; an in-place one ends
/// with an underscore, and gives the tensor itself.
class Methods {{
 public:
{declarations}

 protected:
  Methods() = default;
  Methods(const Methods&) = default;
  Methods& operator=(const Methods&) = default;
  ~Methods() = default;

 private:
  const Tensor& self() const;
}};

}}  // namespace detail
}}  // namespace minnow
"""
    includes = "\n".join(f"#include <minnow/ops/{header}.h>" for header in HEADERS)
    yield ROOT / "ops/tensor_methods.cpp", f"""{note}
// clang-format off
#include <minnow/tensor/methods.h>

{includes}

namespace minnow::detail {{

const Tensor& Methods::self() const {{ return static_cast<const Tensor&>(*this); }}

{definitions}

}}  // namespace minnow::detail
"""


def main():
    stale = [path for path, text in files() if not path.exists() or path.read_text(encoding="utf-8") != text]
    if "--check" not in sys.argv[1:]:
        for path, text in files():
            if path in stale:  # a header that is only touched rebuilds everything
                path.write_text(text, encoding="utf-8")
    elif stale:
        sys.exit(f"{', '.join(str(p.relative_to(ROOT)) for p in stale)}: not up to date; run ops/make_methods.py")


if __name__ == "__main__":
    main()
