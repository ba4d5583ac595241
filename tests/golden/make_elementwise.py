"""Golden values of the elementwise families and of type promotion (PyTorch 2.15)."""
import torch
import torch.nn.functional as F
from book import Book, randn, rng

NAN, INF = float("nan"), float("inf")
SPECIAL = torch.tensor([0.0, -0.0, INF, -INF, NAN, 1e30, -1e30, 1e-40, 88.0, -88.0, 100.0, -100.0, 0.5, -1.5, 2.5])
DOMAINS = {
    "real": torch.tensor([-6.5, -4, -3, -2, -1.3, -1, -0.7, -0.5, -0.01, 0, 0.3, 0.5, 1, 1.7, 2, 3, 5.5, 6]),
    "positive": torch.tensor([1e-4, 0.01, 0.3, 0.5, 1, 1.7, 2, 3, 10, 250]),
    "above -1": torch.tensor([-0.999, -0.5, -1e-5, 0, 1e-5, 0.3, 1, 20]),
    "inside 1": torch.tensor([-0.99, -0.5, -0.1, 0, 1e-4, 0.3, 0.6, 0.95]),
    "unit": torch.tensor([1e-4, 0.01, 0.3, 0.5, 0.6, 0.95, 0.999]),
    "above 1": torch.tensor([1.001, 1.3, 2, 10, 1000]),
    "no poles": torch.tensor([-2.5, -1.3, -0.4, 0.2, 0.5, 1, 1.5, 2, 3.7, 12, 60]),
    "no zero": torch.tensor([-20, -2, -0.7, -1e-3, 1e-3, 0.3, 1, 8]),
}

UNARY = {
    "neg": (torch.neg, "real"), "abs": (torch.abs, "real"), "sign": (torch.sign, "real"),
    "exp": (torch.exp, "real"), "exp2": (torch.exp2, "real"), "expm1": (torch.expm1, "real"),
    "log": (torch.log, "positive"), "log2": (torch.log2, "positive"), "log10": (torch.log10, "positive"),
    "log1p": (torch.log1p, "above -1"), "sqrt": (torch.sqrt, "positive"), "rsqrt": (torch.rsqrt, "positive"),
    "square": (torch.square, "real"), "reciprocal": (torch.reciprocal, "no zero"),
    "sin": (torch.sin, "real"), "cos": (torch.cos, "real"), "tan": (torch.tan, "inside 1"),
    "asin": (torch.asin, "inside 1"), "acos": (torch.acos, "inside 1"), "atan": (torch.atan, "real"),
    "sinh": (torch.sinh, "real"), "cosh": (torch.cosh, "real"), "tanh": (torch.tanh, "real"),
    "asinh": (torch.asinh, "real"), "acosh": (torch.acosh, "above 1"), "atanh": (torch.atanh, "inside 1"),
    "erf": (torch.erf, "real"), "erfc": (torch.erfc, "real"), "erfinv": (torch.erfinv, "inside 1"),
    "lgamma": (torch.lgamma, "no poles"), "digamma": (torch.digamma, "no poles"),
    "polygamma/1": (lambda x: torch.polygamma(1, x), "no poles"),
    "polygamma/2": (lambda x: torch.polygamma(2, x), "no poles"),
    "polygamma/5": (lambda x: torch.polygamma(5, x), "positive"), "logit": (torch.logit, "unit"),
    "floor": (torch.floor, "real"), "ceil": (torch.ceil, "real"), "round": (torch.round, "real"),
    "trunc": (torch.trunc, "real"), "frac": (torch.frac, "real"),
    "clamp": (lambda x: torch.clamp(x, -1, 2), "real"),
    "pow_scalar/2": (lambda x: torch.pow(x, 2), "real"), "pow_scalar/3": (lambda x: torch.pow(x, 3), "real"),
    "pow_scalar/0": (lambda x: torch.pow(x, 0), "real"), "pow_scalar/0.5": (lambda x: torch.pow(x, 0.5), "positive"),
    "pow_scalar/-1": (lambda x: torch.pow(x, -1), "no zero"),
    "pow_scalar/2.5": (lambda x: torch.pow(x, 2.5), "positive"),
    "nan_to_num": (lambda x: torch.nan_to_num(x, 7.0), "real"),
    "isnan": (torch.isnan, "real"), "isinf": (torch.isinf, "real"), "isfinite": (torch.isfinite, "real"),
    "logical_not": (torch.logical_not, "real"),
    "sigmoid": (torch.sigmoid, "real"), "log_sigmoid": (F.logsigmoid, "real"), "softplus": (F.softplus, "real"),
    "softplus/2,3": (lambda x: F.softplus(x, 2, 3), "real"), "relu": (F.relu, "real"), "relu6": (F.relu6, "real"),
    "leaky_relu": (lambda x: F.leaky_relu(x, 0.1), "real"), "elu": (lambda x: F.elu(x, 1.5), "real"),
    "selu": (F.selu, "real"), "celu": (lambda x: F.celu(x, 1.5), "real"), "gelu": (F.gelu, "real"),
    "gelu_tanh": (lambda x: F.gelu(x, approximate="tanh"), "real"), "silu": (F.silu, "real"),
    "mish": (F.mish, "real"), "hardtanh": (lambda x: F.hardtanh(x, -1, 2), "real"),
    "hardswish": (F.hardswish, "real"), "hardsigmoid": (F.hardsigmoid, "real"), "softsign": (F.softsign, "real"),
    "softshrink": (lambda x: F.softshrink(x, 0.5), "real"), "hardshrink": (lambda x: F.hardshrink(x, 0.5), "real"),
    "tanhshrink": (F.tanhshrink, "real"), "threshold": (lambda x: F.threshold(x, 0.5, 7), "real"),
}
INTEGER_UNARY = {"neg": torch.neg, "abs": torch.abs, "sign": torch.sign, "square": torch.square,
                 "clamp": lambda x: torch.clamp(x, -1, 2), "pow_scalar/3": lambda x: torch.pow(x, 3),
                 "logical_not": torch.logical_not, "bitwise_not": torch.bitwise_not, "exp": torch.exp,
                 "sigmoid": torch.sigmoid}

BINARY = {"add": torch.add, "sub": torch.sub, "mul": torch.mul, "div": torch.div, "fmod": torch.fmod,
          "remainder": torch.remainder, "maximum": torch.maximum, "minimum": torch.minimum, "fmax": torch.fmax,
          "fmin": torch.fmin, "atan2": torch.atan2, "hypot": torch.hypot, "copysign": torch.copysign,
          "logaddexp": torch.logaddexp, "floor_divide": torch.floor_divide}
COMPARE = {"eq": torch.eq, "ne": torch.ne, "lt": torch.lt, "le": torch.le, "gt": torch.gt, "ge": torch.ge,
           "logical_and": torch.logical_and, "logical_or": torch.logical_or, "logical_xor": torch.logical_xor}
BITWISE = {"bitwise_and": torch.bitwise_and, "bitwise_or": torch.bitwise_or, "bitwise_xor": torch.bitwise_xor,
           "left_shift": torch.bitwise_left_shift, "right_shift": torch.bitwise_right_shift}


def unary():
    book = Book("unary")
    for name, (function, domain) in UNARY.items():
        book.case(name, function, DOMAINS[domain])
        if "gamma" not in name:
            # PyTorch gives NaN for gelu(inf), and for (-inf)^0.5 because it takes the square root.
            quirk = name in ("gelu", "pow_scalar/0.5")
            book.case(name + ":special", function, SPECIAL[~SPECIAL.isinf()] if quirk else SPECIAL, grad=False)
    for name, function in INTEGER_UNARY.items():
        book.case(name + ":int64", function, torch.tensor([-7, -2, -1, 0, 1, 2, 5]))
    for name in ("exp", "tanh", "sigmoid", "gelu", "relu", "log", "sqrt", "silu"):
        function, domain = UNARY[name]
        for dtype in (torch.float16, torch.bfloat16, torch.float64):
            book.case(f"{name}:{str(dtype)[6:]}", function, DOMAINS[domain].to(dtype))
    book.close()


def binary():
    book = Book("binary")
    a, b = randn("binary a", 2, 1, 3) * 3, randn("binary b", 4, 1) * 2
    equal_a, equal_b = torch.tensor([1.0, 2, -3, 0, 5]), torch.tensor([1.0, 3, -3, -0.0, 4])
    special_a = torch.tensor([0.0, -0.0, 1, -1, INF, -INF, NAN, INF, 5, NAN, 1e30, -7.5, 0, 1])
    special_b = torch.tensor([0.0, 0, 0, 0, INF, 2, 1, -INF, NAN, NAN, 1e-30, 2.5, -1, INF])
    int_a, int_b = torch.tensor([-7, 7, -7, 7, 0, 6, 3]), torch.tensor([2, -2, -2, 2, 5, 3, 3])
    for name, function in {**BINARY, **COMPARE}.items():
        book.case(name, function, a, b, grad=name != "floor_divide")
        book.case(name + ":equal", function, equal_a, equal_b, grad=name != "floor_divide")
        book.case(name + ":special", function, special_a, special_b, grad=False)
        if name not in ("logaddexp", "hypot"):
            book.case(name + ":int64", function, int_a, int_b)
    book.case("pow", torch.pow, a.abs() + 0.1, b)
    book.case("pow:zero", torch.pow, torch.tensor([0.0, 0, 2, 1]), torch.tensor([2.0, 0, 0, 3]))
    book.case("pow:special", torch.pow, special_a, special_b, grad=False)
    book.case("pow:int64", torch.pow, int_a, int_b.abs())
    for name, function in BITWISE.items():
        book.case(name, function, int_a, int_b.abs())
        book.case(name + ":int32", function, int_a.int(), int_b.abs().int())
        if "shift" not in name:
            book.case(name + ":bool", function, int_a > 0, int_b > 0)
    c = torch.rand(4, 3, generator=rng("ternary"))
    book.case("where", torch.where, c > 0.5, a, b)
    # Halves of the gradient where x is a bound, other shapes, bounds that are the wrong way round, and NaN.
    line = torch.arange(-2.0, 3).repeat(6)
    low, high = torch.tensor([-1.0] * 10 + [1.0] * 10 + [0.0] * 10), torch.tensor([1.0] * 20 + [0.0] * 10)
    book.case("clamp_tensor", torch.clamp, line, low, high)
    book.case("clamp_tensor/broadcast", torch.clamp, a, b, c)
    odd = torch.tensor([float("nan"), 1, 2, 3])
    book.case("clamp_tensor/nan", torch.clamp, *(t.reshape(-1).contiguous() for t in torch.meshgrid(odd, odd, odd, indexing="ij")))
    book.case("clamp_tensor/low", lambda x, y: torch.clamp(x, min=y), a, b)
    book.case("clamp_tensor/high", lambda x, y: torch.clamp(x, max=y), a, b)
    book.case("clamp_tensor/int64", torch.clamp, line.long(), low.long(), high.long(), grad=False)
    book.case("lerp", torch.lerp, a.expand(2, 4, 3).clone(), b.expand(2, 4, 3).clone(), c)
    book.case("addcmul", lambda x, y, z: torch.addcmul(x, y, z, value=-1.5), a, b, c)
    book.case("addcdiv", lambda x, y, z: torch.addcdiv(x, y, z, value=-1.5), a, b, c + 0.5)
    for op in ("add", "sub", "mul", "div", "pow", "remainder"):
        book.case(f"scalar/{op}", lambda x, op=op: getattr(torch, op)(x, 2.5), a.abs() + 0.1)
        if op != "remainder":
            forms = {"add": lambda x: 2.5 + x, "sub": lambda x: 2.5 - x, "mul": lambda x: 2.5 * x,
                     "div": lambda x: 2.5 / x, "pow": lambda x: 2.5**x}
            book.case(f"scalar/r{op}", forms[op], a.abs() + 0.1)
    book.close()


DTYPES = [torch.float32, torch.float64, torch.float16, torch.bfloat16, torch.int64, torch.int32, torch.int16,
          torch.int8, torch.uint8, torch.bool]


def promotion():
    """Tables of the result's dtype, as indices in DTYPES; 255 where PyTorch refuses."""
    book = Book("promotion")
    ops = {"add": torch.add, "sub": torch.sub, "mul": torch.mul, "div": torch.div, "maximum": torch.maximum,
           "pow": torch.pow, "eq": torch.eq, "floor_divide": torch.floor_divide, "atan2": torch.atan2,
           "bitwise_and": torch.bitwise_and, "copysign": torch.copysign, "fmod": torch.fmod,
           "remainder": torch.remainder, "logical_and": torch.logical_and, "left_shift": torch.bitwise_left_shift}

    def place(function):
        try:
            return DTYPES.index(function().dtype)
        except RuntimeError:
            return 255

    def table(function):
        return torch.tensor([[place(lambda: function(a, b)) for b in DTYPES] for a in DTYPES], dtype=torch.uint8)

    scalars = [True, 2, 2.5]
    for name, op in ops.items():
        book.put(f"{name}/tensor,tensor",
                 table(lambda a, b: op(torch.ones(2, dtype=a), torch.ones(2, dtype=b))))
        book.put(f"{name}/tensor,0-dim", table(lambda a, b: op(torch.ones(2, dtype=a), torch.ones((), dtype=b))))
        book.put(f"{name}/0-dim,0-dim", table(lambda a, b: op(torch.ones((), dtype=a), torch.ones((), dtype=b))))
        if name in ("add", "sub", "mul", "div", "pow", "eq", "floor_divide", "fmod", "remainder"):
            book.put(f"{name}/tensor,number", torch.tensor(
                [[place(lambda: op(torch.ones(2, dtype=a), s)) for s in scalars] for a in DTYPES], dtype=torch.uint8))
    one = {"exp": torch.exp, "abs": torch.abs, "neg": torch.neg, "relu": torch.relu, "sign": torch.sign,
           "floor": torch.floor, "round": torch.round, "square": torch.square, "sum": torch.sum, "prod": torch.prod,
           "mean": torch.mean, "max": torch.max, "any": torch.any, "argmax": torch.argmax, "isnan": torch.isnan,
           "softmax": lambda x: torch.softmax(x, 0), "logsumexp": lambda x: torch.logsumexp(x, 0),
           "bitwise_not": torch.bitwise_not, "reciprocal": torch.reciprocal, "clamp": lambda x: torch.clamp(x, 0, 1)}
    for name, op in one.items():
        book.put(f"unary/{name}", torch.tensor([place(lambda: op(torch.ones(2, dtype=d))) for d in DTYPES], dtype=torch.uint8))
    book.close()


def main():
    unary()
    binary()
    promotion()
