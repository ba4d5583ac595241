"""Functions of elements, reductions, order, random numbers: see table.py."""

from table import ALL, FLOATS, INTEGERS, NUMBERS, WIDE, Shapes, add

POINTS = Shapes("""
    1
    7
    1000
    31x33x17
    *256x300
    1024x1024
    *384x512/t
    4x32x28x28/n
    100x1000/s
    64x1000/b
    """, "32768 -> 327680")
TWO = Shapes("""
    1 1
    7 7
    1000 1000
    *256x300 256x300
    1024x1024 1024x1024
    *384x512/t 384x512
    4x32x28x28/n 4x32x28x28/n
    4x32x28x28/n 32x1x1
    8x32x28x28 32x1x1
    *256x300 300
    500x301 500x1
    100x1000/s 100x1000
    300x1x1 1x17x19
    64x1000 -
    """, "32768 32768 -> 327680 327680")
THREE = Shapes("""
    1 1 1
    1000 1000 1000
    *256x300 256x300 256x300
    512x1024 512x1024 512x1024
    *384x512/t 384x512 384x512
    4x32x28x28/n 4x32x28x28/n 4x32x28x28/n
    8x32x28x28 32x1x1 32x1x1
    256x300 300 256x1
    100x1000/s 100x1000 100x1000
    """, "32768 32768 32768 -> 327680 327680 327680")

FLOAT_UNARY = {
    "any": "exp2 expm1 tan atan sinh cosh asinh erf erfc digamma sigmoid selu gelu silu mish "
           "hardswish hardsigmoid softsign tanhshrink softplus elu celu softshrink hardshrink",
    "pos": "log2 log10 log1p rsqrt", "unit": "asin acos atanh erfinv", "above1": "acosh lgamma", "prob": "logit"}
OF_NN = ("log_sigmoid selu gelu silu mish hardswish hardsigmoid softsign tanhshrink softplus elu celu softshrink "
         "hardshrink").split()
TORCH_NAMES = {"log_sigmoid": "F.logsigmoid(x)", "gelu_tanh": "F.gelu(x, approximate='tanh')", "relu6": "F.relu6(x)",
               "leaky_relu": "F.leaky_relu(x)", "hardtanh": "F.hardtanh(x)", "logit": "torch.logit(x)"}


def unary(names, kind="any", dtypes=FLOATS, **more):
    for name in names.split():
        torch = TORCH_NAMES.get(name) or (f"F.{name}(x)" if name in OF_NN else "")
        add(name, f"x:{kind}", POINTS, torch=torch, dtypes=dtypes, **more)


def binary(names, kinds=("any", "any"), dtypes=FLOATS, **more):
    for name in names.split():
        add(name, f"a:{kinds[0]} b:{kinds[1]}", TWO, dtypes=dtypes, **more)


for kind_, names_ in FLOAT_UNARY.items():
    unary(names_, kind_)
unary("neg abs sign square relu", dtypes=NUMBERS)
unary("exp sin cos tanh", dtypes=(*FLOATS, "int64"))
unary("log sqrt", "pos", (*FLOATS, "int64"))
unary("reciprocal", "nonzero", (*FLOATS, "int64"))
unary("floor ceil round trunc", dtypes=FLOATS)
unary("frac log_sigmoid gelu_tanh relu6 leaky_relu hardtanh")
unary("isnan isinf isfinite logical_not", dtypes=ALL, backward=False)
unary("bitwise_not", dtypes=INTEGERS, backward=False)
add("threshold", "x", POINTS, "threshold(x, 0.1, -0.5)", "F.threshold(x, 0.1, -0.5)")
add("clamp", "x", POINTS, "clamp(x, -0.5, 0.7)", "torch.clamp(x, -0.5, 0.7)")
add("clamp/tensors", "x low:small high:pos", THREE)
add("clamp_min", "x", POINTS, "clamp_min(x, 0.3)", "torch.clamp_min(x, 0.3)", dtypes=FLOATS)
add("clamp_min/tensor", "x low", TWO, dtypes=NUMBERS)
add("clamp_max", "x", POINTS, "clamp_max(x, 0.3)", "torch.clamp_max(x, 0.3)", dtypes=FLOATS)
add("clamp_max/tensor", "x high", TWO, dtypes=NUMBERS)
for exponent, form in (("2", ""), ("3", "/3"), ("-1", "/-1"), ("0.5", "/half"), ("2.3", "/2.3")):
    add("pow_scalar" + form, "x:pos", POINTS, f"pow_scalar(x, {exponent})", f"torch.pow(x, {exponent})")
add("polygamma", "x:above1", POINTS, "polygamma(2, x)", "torch.polygamma(2, x)", dtypes=FLOATS)
add("pow/3", "x", POINTS, "pow(x, 3)", "torch.pow(x, 3)", dtypes=NUMBERS)
add("nan_to_num", "x", POINTS, dtypes=NUMBERS)
WRITTEN = Shapes("\n".join(case for case in POINTS.cases.splitlines() if "/b" not in case), POINTS.growth)
for name_ in ("relu", "neg", "sigmoid", "tanh"):
    add(name_ + "/in_place", "x:small", WRITTEN, f"{name_}_(x)", f"torch.{name_}_(x)", backward=False, check="none")
INTO = Shapes("1 1\n7 7\n*256x300 256x300\n256x300 300\n1024x1024 1024x1024\n*384x512/t 384x512\n384x512 384x512/t\n"
              "4x32x28x28/n 32x1x1\n4x32x28x28 4x32x28x28/n\n100x1000/s 100x1000\n64x1000 -")
add("add/in_place", "x y:small", INTO, "add_(x, y)", "x.add_(y)", backward=False, check="none")

binary("add sub mul maximum minimum", dtypes=NUMBERS)
binary("div", ("any", "nonzero"), NUMBERS)
add("add/alpha", "a b", TWO, "add(a, b, 0.5)", "torch.add(a, b, alpha=0.5)")
add("sub/alpha", "a b", TWO, "sub(a, b, 0.5)", "torch.sub(a, b, alpha=0.5)")
add("add/number", "x", POINTS, "add(x, 2)", "torch.add(x, 2)", dtypes=NUMBERS)
add("mul/number", "x", POINTS, "mul(x, 3)", "torch.mul(x, 3)", dtypes=NUMBERS)
binary("fmod remainder", ("any", "nonzero"), NUMBERS)
binary("floor_divide", ("any", "nonzero"), NUMBERS, backward=False)
binary("pow", ("pos", "any"))
binary("atan2 hypot copysign logaddexp fmax fmin")
binary("eq ne lt le gt ge logical_and logical_or logical_xor", dtypes=ALL, backward=False)
binary("isclose", dtypes=NUMBERS, backward=False)
binary("bitwise_and bitwise_or bitwise_xor", dtypes=INTEGERS, backward=False)
add("left_shift", "a:pos b:pos", TWO, torch="torch.bitwise_left_shift(a, b)", dtypes=("int64", "uint8"), backward=False,
    check="none")
add("right_shift", "a:pos b:pos", TWO, torch="torch.bitwise_right_shift(a, b)", dtypes=("int64", "uint8"),
    backward=False,
    check="none")
SAME = Shapes("1 1\n7 7\n1000 1000\n*256x300 256x300\n1024x1024 1024x1024\n384x512/t 384x512\n4x32x28x28/n 4x32x28x28",
              "32768 32768 -> 327680 327680")
add("equal", "a", POINTS, "equal(a, a.clone())", "torch.equal(a, a.clone())", dtypes=ALL, backward=False)
add("allclose", "a b", SAME, dtypes=FLOATS, backward=False)
add("where", "c:mask a b", THREE, dtypes=NUMBERS)
add("lerp", "a b w:prob", THREE)
add("addcmul", "a b c", THREE, "addcmul(a, b, c, 0.5)", "torch.addcmul(a, b, c, value=0.5)")
add("addcdiv", "a b c:nonzero", THREE, "addcdiv(a, b, c, 0.5)", "torch.addcdiv(a, b, c, value=0.5)")
add("copy_", "x y", INTO, "copy_(x, y)", "x.copy_(y)", dtypes=ALL, backward=False)
add("fill_", "x", WRITTEN, "fill_(x, 3)", "x.fill_(3)", dtypes=ALL, backward=False)
add("zero_", "x", WRITTEN, "zero_(x)", "x.zero_()", dtypes=ALL, backward=False)
for dtype_ in ("float32", "float64", "bfloat16", "float16", "int64", "uint8"):
    add(f"to/{dtype_}", "x", POINTS, f"x.to({dtype_})", f"x.to(torch.{dtype_})", dtypes=NUMBERS,
        backward=False)

# Reductions.
ROWS = Shapes("""
    1x1
    3x7
    64x64
    64x1000
    2000x17
    1x50000
    *512x1024
    *384x512/t
    100x1000/s
    4x28x28x32/t
    """, "64x1024 -> 640x1024")
CHANNELS = Shapes("""
    1x3x5
    2x16x14x14
    *8x32x28x28
    1x64x56x56
    8x32x28x28/n
    3x5x17x23
    4x500x33
    """, "1x32x28x28 -> 10x32x28x28")
for name_, kind_, dtypes_ in (("sum", "any", ALL), ("mean", "any", FLOATS), ("var", "any", FLOATS),
                              ("prod", "near1", NUMBERS),
                              ("amax", "any", NUMBERS), ("amin", "any", NUMBERS), ("norm", "any", FLOATS),
                              ("logsumexp", "any", FLOATS), ("any", "any", ALL), ("all", "any", ALL),
                              ("stddev", "any", FLOATS), ("nansum", "any", FLOATS), ("nanmean", "any", FLOATS),
                              ("count_nonzero", "any", ALL)):
    smooth = name_ not in ("any", "all", "count_nonzero")
    in_torch = {"stddev": "std", "norm": "linalg.vector_norm"}.get(name_, name_)
    check = "wide" if name_ == "prod" else "values"  # PyTorch multiplies halves as halves
    both = {"prod": "x.reshape(-1).prod()", "all": "torch.all(x)",
        "logsumexp": "torch.logsumexp(x, tuple(range(x.dim())))"}
    add(name_, f"x:{kind_}", ROWS, f"{name_}(x)", both.get(name_, f"torch.{in_torch}(x)"), dtypes=dtypes_,
        backward=smooth,
        check=check)
    one = {"norm": "x, 2, -1"}.get(name_, "x, -1")
    add(f"{name_}/rows", f"x:{kind_}", ROWS, f"{name_}({one})", f"torch.{in_torch}({one})", dtypes=dtypes_,
        backward=smooth, check=check)
    one = {"norm": "x, 2, 0"}.get(name_, "x, 0")
    add(f"{name_}/columns", f"x:{kind_}", ROWS, f"{name_}({one})", f"torch.{in_torch}({one})", dtypes=dtypes_,
        backward=smooth, check=check)
    if name_ in ("sum", "mean", "var", "amax"):
        add(f"{name_}/channels", f"x:{kind_}", CHANNELS, f"{name_}(x, Dims{{0, 2}})", f"torch.{in_torch}(x, (0, 2))",
            dtypes=dtypes_)
for name_ in ("std_mean", "var_mean"):
    add(name_, "x", ROWS, f"{name_}(x, -1)", f"torch.{name_}(x, -1)")
    add(name_ + "/all", "x", ROWS)
for name_ in ("max", "min"):
    add(name_, "x", ROWS, f"{name_}(x)", f"torch.{name_}(x)", dtypes=NUMBERS)
    add(f"{name_}/rows", "x", ROWS, f"{name_}(x, -1)", f"torch.{name_}(x, -1)", dtypes=NUMBERS)
    add(f"{name_}/columns", "x", ROWS, f"{name_}(x, 0)", f"torch.{name_}(x, 0)", dtypes=NUMBERS)
    add(f"arg{name_}", "x", ROWS, dtypes=NUMBERS, backward=False)
    add(f"arg{name_}/rows", "x", ROWS, f"arg{name_}(x, -1)", f"torch.arg{name_}(x, -1)", dtypes=NUMBERS, backward=False)
    add(f"arg{name_}/columns", "x", ROWS, f"arg{name_}(x, 0)", f"torch.arg{name_}(x, 0)", dtypes=NUMBERS,
        backward=False)
add("sum_to", "x", CHANNELS, "sum_to(x, x.narrow(0, 0, 1).shape())",
    "x.sum_to_size(x[:1].shape)")
for name_, kind_, dtypes_ in (("cumsum", "any", NUMBERS), ("cumprod", "near1", FLOATS), ("logcumsumexp", "any", FLOATS),
                              ("cummax", "any", NUMBERS), ("cummin", "any", NUMBERS)):
    add(name_, f"x:{kind_}", ROWS, f"{name_}(x, -1)", f"torch.{name_}(x, -1)", dtypes=dtypes_)
    add(f"{name_}/columns", f"x:{kind_}", ROWS, f"{name_}(x, 0)", f"torch.{name_}(x, 0)", dtypes=dtypes_)
DIFF = Shapes("2x2\n3x7\n64x1000\n2000x17\n1x50000\n*512x1024\n*384x512/t\n100x1000/s", ROWS.growth)
add("diff", "x", DIFF, dtypes=NUMBERS)
add("diff/columns", "x", DIFF, "diff(x, 1, 0)", "torch.diff(x, 1, 0)")
for name_ in ("softmax", "log_softmax"):
    add(name_, "x", ROWS, f"{name_}(x, -1)", f"torch.{name_}(x, -1)")
    add(f"{name_}/channels", "x", CHANNELS, f"{name_}(x, 1)", f"torch.{name_}(x, 1)")

# Order and search.
SORTED = Shapes("1\n7\n3x7\n64x64\n*64x1000\n2000x17\n1x50000\n*300x400/t\n100x1000/s", "64x512 -> 640x512")
LONG = Shapes("7\n*1000\n*100000\n64x64\n300x400/t", "30000 -> 300000 : 16")
for name_ in ("sort", "argsort"):  # the order of equal elements is free in PyTorch
    add(name_, "x", SORTED, dtypes=NUMBERS, backward=name_ == "sort", check="none")
    add(f"{name_}/columns", "x", SORTED, f"{name_}(x, 0)", f"torch.{name_}(x, 0)", backward=name_ == "sort",
        check="none")
    add(f"{name_}/descending", "x", SORTED, f"{name_}(x, -1, true)", f"torch.{name_}(x, -1, True)",
        backward=name_ == "sort", check="none")
add("sort/long", "x", LONG, "sort(x)", "torch.sort(x)", dtypes=NUMBERS, check="none")
TOP = Shapes("7\n3x9\n64x64\n*64x1000\n2000x17\n1x50000\n*300x400/t\n100x1000/s", "64x512 -> 640x512")
add("topk", "x", TOP, "topk(x, 5)", "torch.topk(x, 5)", dtypes=NUMBERS, check="none")
add("topk/smallest", "x", TOP, "topk(x, 3, -1, false)", "torch.topk(x, 3, -1, False)", check="none")
add("topk/half", "x", TOP, "topk(x, x.size(-1) / 2)", "torch.topk(x, x.shape[-1] // 2)", check="none")
add("kthvalue", "x", TOP, "kthvalue(x, 3)", "torch.kthvalue(x, 3)", dtypes=NUMBERS, check="none")
add("median", "x", SORTED, "median(x)", "torch.median(x)", dtypes=NUMBERS)
add("median/rows", "x", SORTED, "median(x, -1)", "torch.median(x, -1)", dtypes=NUMBERS, check="none")
add("nanmedian", "x", SORTED, "nanmedian(x)", "torch.nanmedian(x)")
add("nanmedian/rows", "x", SORTED, "nanmedian(x, -1)", "torch.nanmedian(x, -1)", check="none")
add("quantile", "x", SORTED, "quantile(x, 0.3)", "torch.quantile(x, 0.3)", dtypes=WIDE)
add("quantile/rows", "x", SORTED, "quantile(x, 0.3, -1)", "torch.quantile(x, 0.3, -1)", dtypes=WIDE)
add("mode", "x", SORTED, dtypes=("int64", "uint8", "float32"), backward=False, check="none")
add("searchsorted", "s:sorted v", Shapes("5 7\n1000 1\n1000 100000\n*64x100 64x300\n64x1000/t 64x300\n10 100000",
                                        "1000 10000 -> 1000 100000"), dtypes=(*WIDE, "int64"), backward=False)
add("bucketize", "x s:sorted", Shapes("7 5\n1 1000\n*100000 1000\n256x300/t 10\n300x400 10", "10000 100 -> 100000 100"),
    dtypes=(*WIDE, "int64"), backward=False)
add("histc", "x", POINTS, "histc(x, 50, -2, 2)", "torch.histc(x, 50, -2, 2)", dtypes=WIDE, backward=False, check="none")
COUNTED = "x:index(100)"
add("bincount", COUNTED, Shapes("1\n7\n1000\n100000\n1000000\n3000/s", "30000 -> 300000"), dtypes=("int64",),
    backward=False)
add("bincount/weights", COUNTED + " w", Shapes("7 7\n1000 1000\n100000 100000"), "bincount(x, w)",
    "torch.bincount(x, w)",
    dtypes=WIDE, backward=False)
FEW = Shapes("7\n1000\n*100000\n*300x400/t\n64x1000/s", "30000 -> 300000 : 16")
add("unique", "x", FEW, "unique(x)", "torch.unique(x)", dtypes=(*WIDE, "int64", "uint8"), backward=False)
add("unique/counts", "x", FEW, "unique(x, true, true)", "torch.unique(x, return_inverse=True, return_counts=True)",
    dtypes=("float32", "int64"), backward=False)
add("unique_consecutive", "x", FEW, dtypes=("float32", "int64", "uint8"), backward=False)
add("isin", "x y", Shapes("7 3\n*1000 100\n*100000 1000\n300x400/t 20\n1000 10000"), dtypes=("float32", "int64"),
    backward=False)

# Random numbers.
DRAWN = Shapes("1\n7\n1000\n31x33x17\n*256x300\n1024x1024\n384x512/t\n100x1000/s", "32768 -> 327680")
for name_, arguments_ in (("uniform_", ""), ("normal_", ""), ("log_normal_", ""), ("exponential_", ""), ("cauchy_", ""),
                          ("geometric_", ", 0.3"), ("bernoulli_", ", 0.3"), ("random_", ", 0, 100")):
    name_ = "bernoulli/in_place" if name_ == "bernoulli_" else name_
    call = "bernoulli_" if name_ == "bernoulli/in_place" else name_
    add(name_, "x", DRAWN, f"{call}(x{arguments_})", f"x.{call}({arguments_.lstrip(', ')})", backward=False,
        check="none")
add("bernoulli", "p:prob", DRAWN, backward=False, check="none")
WEIGHTS = Shapes("7\n1000\n64x100\n*64x1000\n1000x20", "64x100 -> 640x100")
add("multinomial", "p:prob", WEIGHTS, "multinomial(p, 3)", "torch.multinomial(p, 3)", dtypes=WIDE, backward=False,
    check="none")
add("multinomial/replaced", "p:prob", WEIGHTS, "multinomial(p, 20, true)", "torch.multinomial(p, 20, True)",
    dtypes=WIDE,
    backward=False, check="none")
for name_ in ("rand_like", "randn_like"):
    add(name_, "x", DRAWN, backward=False, check="none")
for name_ in ("empty_like", "zeros_like", "ones_like"):
    add(name_, "x", POINTS, dtypes=ALL, backward=False, check="none" if name_ == "empty_like" else "values")
add("full_like", "x", POINTS, "full_like(x, 3)", "torch.full_like(x, 3)", dtypes=ALL, backward=False)
MADE = Shapes("| 1 1\n| 7 1\n| 1 1000\n*| 256 300\n| 1024 1024", "| 32 1024 -> | 320 1024")
for name_ in ("empty", "zeros", "ones", "rand", "randn"):
    add(name_, "", MADE, f"{name_}({{n[0], n[1]}}, {{.dtype = dtype}})", f"torch.{name_}((n[0], n[1]), dtype=dtype)",
        dtypes=FLOATS if "rand" in name_ else ALL, backward=False,
        check="values" if name_ in ("zeros", "ones") else "none")
add("full", "", MADE, "full({n[0], n[1]}, 3, {.dtype = dtype})", "torch.full((n[0], n[1]), 3, dtype=dtype)", dtypes=ALL,
    backward=False)
add("empty_strided_like", "", MADE, "empty_strided_like({n[0], n[1]}, Strides{1, n[0]}, dtype, Device(\"cpu\"))",
    "torch.empty_strided((n[0], n[1]), (1, n[0]), dtype=dtype)", backward=False, check="none")
COUNT = Shapes("| 1\n| 7\n*| 1000\n*| 100000\n| 1000000", "| 32768 -> | 327680")
add("arange", "", COUNT, "arange(0, n[0], 1, {.dtype = dtype})", "torch.arange(0, n[0], 1, dtype=dtype)",
    dtypes=("float32", "float64", "int64"), backward=False)
add("linspace", "", COUNT, "linspace(0, 1, n[0], {.dtype = dtype})", "torch.linspace(0, 1, n[0], dtype=dtype)",
    dtypes=WIDE,
    backward=False)
add("randperm", "", COUNT, "randperm(n[0])", "torch.randperm(n[0])", dtypes=("int64",), backward=False, check="none")
add("randint", "", MADE, "randint(0, 100, {n[0], n[1]})", "torch.randint(0, 100, (n[0], n[1]))", dtypes=("int64",),
    backward=False, check="none")
add("eye", "", Shapes("| 1\n| 7\n*| 100\n| 1000"), "eye(n[0], -1, {.dtype = dtype})",
    "torch.eye(n[0], dtype=dtype)", dtypes=ALL, backward=False)
