"""Functions of matrices, images, sequences, indices, layouts, and losses: see table.py."""

from table import ALL, FLOATS, NUMBERS, WIDE, Shapes, add

HALF_TOO = ("float32", "float64", "bfloat16")

# Products.
MM = Shapes("""
    1x1 1x1
    7x5 5x3
    1x512 512x512
    512x512 512x1
    *128x128 128x128
    127x129 129x131
    *300x256 256x400
    4096x64 64x2
    64x1000/t 1000x64
    64x1000 1000x64/t
    1000x3 3x1000
    512x512 512x512
    """, "100x64 64x64 -> 1000x64 64x64")
add("mm", "a b", MM, dtypes=NUMBERS)
add("matmul", "a b", MM, dtypes=FLOATS)
add("matmul/batched", "a b", Shapes("""
    1x1x1 1x1x1
    2x3x4 2x4x5
    *8x64x64 8x64x64
    100x8x8 100x8x8
    2000x3x3 2000x3x3
    8x65x33 33x50
    4x8x64x32 4x8x32x64
    8x64x64/t 8x64x64
    8x64x64/b 8x64x64
    16x128x64 64
    64 64
    """, "10x64x64 10x64x64 -> 100x64x64 100x64x64"), "matmul(a, b)", "torch.matmul(a, b)", dtypes=NUMBERS)
BMM = Shapes("1x1x1 1x1x1\n2x3x4 2x4x5\n*8x64x64 8x64x64\n100x8x8 100x8x8\n3x127x65 3x65x31\n8x64x64/t 8x64x64\n"
             "8x64x64 8x64x64/t\n1x512x512 1x512x64\n64x1x100 64x100x100\n64x100x100 64x100x1",
             "10x64x64 10x64x64 -> 100x64x64 100x64x64")
add("bmm", "a b", BMM)
add("mv", "a b", Shapes("1x1 1\n7x5 5\n*1000x1000 1000\n512x512/t 512\n3x100000 100000\n100000x3 3\n255x257 257",
                        "100x1000 1000 -> 1000x1000 1000"))
VECTORS = Shapes("1 1\n7 7\n1000 1000\n*100000 100000\n1000000 1000000\n1000/s 1000", "30000 30000 -> 300000 300000")
add("dot", "a b", VECTORS)
add("outer", "a b", Shapes("1 1\n7 5\n100 1000\n*500 700\n1000 3", "100 1000 -> 1000 1000"))
add("tensordot", "a b", Shapes("3x4x5 4x5x6\n*8x16x32 16x32x64\n100x7x9 7x9x11\n64x32x32 32x32x10",
                               "10x32x32 32x32x10 -> 100x32x32 32x32x10"))
add("kron", "a b", Shapes("1x1 2x2\n3x4 5x6\n*20x20 20x20\n2x2 200x200\n200x200 2x2\n"
                               "1x300 7x5\n33x1 1x35\n3x5 2x200", "10x10 10x10 -> 100x10 10x10"))
add("cross", "a b", Shapes("3 3\n7x3 7x3\n*10000x3 10000x3\n100x100x3 100x100x3\n10000x3/t 10000x3",
                           "10000x3 10000x3 -> 100000x3 100000x3"), torch="torch.linalg.cross(a, b)")
add("trace", "x", Shapes("1x1\n7x5\n*300x300\n1000x1000\n300x300/t"), dtypes=NUMBERS)
THREE_MM = Shapes("1x1 1x1 1x1\n3 7x5 5x3\n*128 128x128 128x128\n127x131 127x129 129x131\n300x400 300x256 256x400\n"
                  "1x64 512x64/t 64x64")
add("addmm", "c a b", THREE_MM, "addmm(c, a, b, 0.5, 2)", "torch.addmm(c, a, b, beta=0.5, alpha=2)")
add("baddbmm", "c a b", Shapes("1x1x1 1x1x1 1x1x1\n2x3x5 2x3x4 2x4x5\n*8x64x64 8x64x64 8x64x64\n64 8x64x64 8x64x64\n"
                               "100x8x8 100x8x8 100x8x8"), "baddbmm(c, a, b, 0.5, 2)",
    "torch.baddbmm(c, a, b, beta=0.5, alpha=2)")
LINEAR = Shapes("""
    1x1 1x1 1
    1x512 512x512 512
    7x33 17x33 17
    *64x784 128x784 128
    *64x10x96 384x96 384
    4096x64 1x64 1
    4096x64 2x64 2
    1000x3 64x3 64
    512x256 1000x256 1000
    64x784/t 128x784 128
    """, "64x784 128x784 128 -> 640x784 128x784 128")
add("linear", "x w:small b", LINEAR, torch="F.linear(x, w, b)")
add("einsum", "a b", Shapes("2x3x4 2x4x5\n*8x64x64 8x64x64\n100x8x8 100x8x8"), 'einsum("bij,bjk->bik", {a, b})',
    "torch.einsum('bij,bjk->bik', a, b)")
add("einsum/heads", "a b", Shapes("2x5x3x4 2x6x3x4\n*4x50x8x16 4x60x8x16"), 'einsum("bqhd,bkhd->bhqk", {a, b})',
    "torch.einsum('bqhd,bkhd->bhqk', a, b)")
add("einsum/elements", "a b", Shapes("7x5 7x5\n*300x400 300x400\n300x400/t 300x400"), 'einsum("ij,ij->i", {a, b})',
    "torch.einsum('ij,ij->i', a, b)")
add("einsum/trace", "a", Shapes("7x7\n*300x300", "100x100 -> 316x316", True), 'einsum("ii->", {a})',
    "torch.einsum('ii->', a)")

# Convolutions.  Numbers: stride, padding, dilation, groups.
CONV2D = """
    1x1x5x5 1x1x3x3 1 | 1 1 1 1
    1x3x7x9 4x3x3x3 4 | 1 0 1 1
    *8x3x32x32 16x3x3x3 16 | 1 1 1 1
    *2x32x28x28 64x32x3x3 64 | 1 1 1 1
    4x3x64x64 16x3x11x11 16 | 4 2 1 1
    1x64x14x14 128x64x1x1 128 | 1 0 1 1
    3x96x17x17 64x96x3x3 64 | 1 1 1 1
    1x3x112x112 32x3x7x7 32 | 2 3 1 1
    2x32x28x28/n 64x32x3x3 64 | 1 1 1 1
    4x64x14x14 64x1x3x3 64 | 1 1 1 64
    2x64x14x14 64x16x3x3 64 | 1 1 1 4
    1x16x31x29 24x16x3x3 24 | 1 2 2 1
    1x672x14x14 128x672x1x1 128 | 1 0 1 1
    """
OPTIONS = "{.stride = n[0], .padding = n[1], .dilation = n[2], .groups = n[3]}"
TRANSPOSED = "{.stride = n[0], .padding = n[1], .groups = n[3], .dilation = n[2]}"
TORCH_OPTIONS = "stride=n[0], padding=n[1], dilation=n[2], groups=n[3]"
add("conv2d", "x w:small b", Shapes(CONV2D, "1x16x28x28 32x16x3x3 32 | 1 1 1 1 -> 10x16x28x28 32x16x3x3 32 | 1 1 1 1"),
    f"conv2d(x, w, b, {OPTIONS})", f"F.conv2d(x, w, b, {TORCH_OPTIONS})", dtypes=HALF_TOO)
add("conv1d", "x w:small b", Shapes("""
    1x1x5 1x1x3 1 | 1 1 1 1
    *4x16x500 32x16x5 32 | 1 2 1 1
    1x80x300 128x80x3 128 | 1 1 1 1
    8x32x101 32x1x7 32 | 1 3 1 32
    2x1x8000 16x1x80 16 | 4 0 1 1
    4x32x256 32x32x3 32 | 1 4 4 1
    """, "1x16x500 32x16x5 32 | 1 2 1 1 -> 10x16x500 32x16x5 32 | 1 2 1 1"), f"conv1d(x, w, b, {OPTIONS})",
    f"F.conv1d(x, w, b, {TORCH_OPTIONS})", dtypes=HALF_TOO)
add("conv3d", "x w:small b", Shapes("""
    1x1x4x5x6 1x1x3x3x3 1 | 1 1 1 1
    *1x8x8x16x16 16x8x3x3x3 16 | 1 1 1 1
    2x3x7x15x13 8x3x3x3x3 8 | 2 1 1 1
    1x16x4x14x14 16x1x3x3x3 16 | 1 1 1 16
    """), f"conv3d(x, w, b, {OPTIONS})", f"F.conv3d(x, w, b, {TORCH_OPTIONS})", dtypes=HALF_TOO)
add("conv_transpose2d", "x w:small b", Shapes("""
    1x1x5x5 1x1x3x3 1 | 1 1 1 1
    *4x32x14x14 32x16x4x4 16 | 2 1 1 1
    1x64x7x9 64x32x3x3 32 | 1 1 1 1
    2x16x28x28/n 16x16x2x2 16 | 2 0 1 1
    2x32x14x14 32x8x3x3 32 | 1 1 1 4
    """), f"conv_transpose2d(x, w, b, {TRANSPOSED})", f"F.conv_transpose2d(x, w, b, {TORCH_OPTIONS})", dtypes=HALF_TOO)
add("conv_transpose1d", "x w:small b", Shapes("1x1x5 1x1x3 1 | 1 1 1 1\n*4x16x100 16x32x4 32 | 2 1 1 1"),
    f"conv_transpose1d(x, w, b, {TRANSPOSED})", f"F.conv_transpose1d(x, w, b, {TORCH_OPTIONS})", dtypes=HALF_TOO)
add("conv_transpose3d", "x w:small b", Shapes("1x1x3x4x5 1x1x3x3x3 1 | 1 1 1 1\n*1x16x4x8x8 16x8x2x2x2 8 | 2 0 1 1"),
    f"conv_transpose3d(x, w, b, {TRANSPOSED})", f"F.conv_transpose3d(x, w, b, {TORCH_OPTIONS})", dtypes=HALF_TOO)

# Pools.  Numbers: kernel, stride, padding.
POOL_SHAPES = {1: "1x1x7 | 2 2 0\n*8x32x500 | 3 2 1\n1x16x1001 | 2 2 0\n4x8x200/t | 5 1 2",
               2: "1x1x5x5 | 2 2 0\n*8x32x28x28 | 2 2 0\n*4x64x56x56 | 3 2 1\n3x5x17x23 | 3 1 1\n8x32x28x28/n | 3 2 1\n"
                  "1x64x14x14 | 3 1 1\n2x16x64x64 | 5 1 2\n8x32x28x28/t | 2 2 0",
               3: "1x1x4x5x6 | 2 2 0\n*2x16x8x28x28 | 2 2 0\n1x8x16x16x16 | 3 2 1\n1x3x9x11x13 | 3 1 1"}
GROW = {1: "1x32x500 | 3 2 1 -> 10x32x500 | 3 2 1", 2: "1x32x28x28 | 2 2 0 -> 10x32x28x28 | 2 2 0",
        3: "1x16x8x14x14 | 2 2 0 -> 10x16x8x14x14 | 2 2 0"}
for dims_ in (1, 2, 3):
    shapes_, pooled_ = Shapes(POOL_SHAPES[dims_], GROW[dims_]), "{.stride = n[1], .padding = n[2]}"
    add(f"max_pool{dims_}d", "x", shapes_, f"max_pool{dims_}d(x, n[0], {pooled_})",
        f"F.max_pool{dims_}d(x, n[0], n[1], n[2])", dtypes=HALF_TOO)
    add(f"max_pool{dims_}d_with_indices", "x", shapes_, f"max_pool{dims_}d_with_indices(x, n[0], {pooled_})",
        f"F.max_pool{dims_}d(x, n[0], n[1], n[2], return_indices=True)", dtypes=HALF_TOO)
    add(f"avg_pool{dims_}d", "x", shapes_, f"avg_pool{dims_}d(x, n[0], {pooled_})",
        f"F.avg_pool{dims_}d(x, n[0], n[1], n[2])", dtypes=WIDE if dims_ == 3 else HALF_TOO)
    add(f"lp_pool{dims_}d", "x:pos", shapes_, f"lp_pool{dims_}d(x, 2, n[0], {{.stride = n[1]}})",
        f"F.lp_pool{dims_}d(x, 2, n[0], n[1])", dtypes=WIDE)
    sizes_ = {1: "1x1x7 | 3\n*8x32x500 | 10\n1x16x1001 | 7", 3: "1x1x4x5x6 | 2\n*2x16x8x28x28 | 4\n1x8x16x16x16 | 1",
              2: "1x1x5x5 | 2\n*8x32x28x28 | 7\n*2x64x56x56 | 7\n3x5x17x23 | 4\n8x32x28x28/n | 1\n8x64x7x7 | 1\n"
                 "2x64x13x13 | 6\n"
                 "8x32x28x28/t | 7"}[dims_]
    add(f"adaptive_avg_pool{dims_}d", "x", Shapes(sizes_), f"adaptive_avg_pool{dims_}d(x, n[0])",
        f"F.adaptive_avg_pool{dims_}d(x, n[0])", dtypes=HALF_TOO)
    add(f"adaptive_max_pool{dims_}d", "x", Shapes(sizes_), f"adaptive_max_pool{dims_}d(x, n[0])",
        f"F.adaptive_max_pool{dims_}d(x, n[0])", dtypes=HALF_TOO)
    add(f"adaptive_max_pool{dims_}d_with_indices", "x", Shapes(sizes_),
        f"adaptive_max_pool{dims_}d_with_indices(x, n[0])",
        f"F.adaptive_max_pool{dims_}d(x, n[0], return_indices=True)", dtypes=HALF_TOO)
    last_ = {1: "1x2x4 1x2x4\n*8x32x250 8x32x250", 2: "1x2x3x3 1x2x3x3\n*4x32x14x14 4x32x14x14\n1x64x28x28 1x64x28x28",
             3: "1x2x2x2x2 1x2x2x2x2\n*2x16x4x14x14 2x16x4x14x14"}[dims_]
    add(f"max_unpool{dims_}d", f"x i:place({2**dims_})", Shapes(last_), f"max_unpool{dims_}d(x, i, 2)",
        f"F.max_unpool{dims_}d(x, i, 2)", dtypes=WIDE)

# Normalization and attention.
NORM = Shapes("""
    2x1 1 1
    4x6x5x5 6 6
    *8x32x28x28 32 32
    1x64x56x56 64 64
    8x32x28x28/n 32 32
    256x512 512 512
    3x5x17x23 5 5
    16x64x100 64 64
    2x16x4x14x14 16 16
    8x512x7x7 512 512
    """, "1x32x28x28 32 32 -> 10x32x28x28 32 32")
add("batch_norm", "x w b", NORM, "batch_norm(x, {}, {}, w, b, {.training = true})",
    "F.batch_norm(x, None, None, w, b, True)", dtypes=HALF_TOO)
add("batch_norm/eval", "x w b", NORM, "batch_norm(x, zeros_like(b.detach()), ones_like(b.detach()), w, b)",
    "F.batch_norm(x, torch.zeros_like(b), torch.ones_like(b), w, b)", dtypes=HALF_TOO)
SAMPLES = Shapes("\n".join(c for c in NORM.cases.splitlines() if c.strip() and "2x1 " not in c and "256x512" not in c),
                 NORM.growth)
add("instance_norm", "x w b", SAMPLES, torch="F.instance_norm(x, weight=w, bias=b)", dtypes=HALF_TOO)
GROUPS = Shapes("2x4x3x3 4 4\n*8x32x28x28 32 32\n1x64x56x56 64 64\n8x32x28x28/n 32 32\n256x512 512 512\n"
                "16x64x100 64 64\n"
                "3x12x17x23 12 12", NORM.growth)
add("group_norm", "x w b", GROUPS, "group_norm(x, 4, w, b)", "F.group_norm(x, 4, w, b)", dtypes=HALF_TOO)
LAYER = Shapes("""
    1x1 1 1
    7x5 5 5
    *64x50x96 96 96
    *512x768 768 768
    1x4096 4096 4096
    10000x16 16 16
    300x33 33 33
    64x512/t 512 512
    """, "64x768 768 768 -> 640x768 768 768")
add("layer_norm", "x w b", LAYER, "layer_norm(x, {x.size(-1)}, w, b)", "F.layer_norm(x, (x.shape[-1],), w, b)",
    dtypes=FLOATS)
add("rms_norm", "x w", LAYER, "rms_norm(x, {x.size(-1)}, w)", "F.rms_norm(x, (x.shape[-1],), w)", dtypes=FLOATS)
add("local_response_norm", "x", Shapes("1x3x5x5\n*2x32x28x28\n1x64x14x14\n2x32x28x28/n\n2x16x100"),
    "local_response_norm(x, 5)", "F.local_response_norm(x, 5)", dtypes=WIDE)
ATTENTION = Shapes("""
    1x1x1x4 1x1x1x4 1x1x1x4
    1x2x7x5 1x2x9x5 1x2x9x5
    *2x8x64x32 2x8x64x32 2x8x64x32
    1x12x128x64 1x12x128x64 1x12x128x64
    8x4x33x16 8x4x33x16 8x4x33x16
    1x8x1x64 1x8x300x64 1x8x300x64
    1x2x512x64 1x2x512x64 1x2x512x64
    64x4x16x16 64x4x16x16 64x4x16x16
    """, "1x4x64x32 1x4x64x32 1x4x64x32 -> 10x4x64x32 10x4x64x32 10x4x64x32")
add("scaled_dot_product_attention", "q k v", ATTENTION, torch="F.scaled_dot_product_attention(q, k, v)", dtypes=FLOATS)
add("scaled_dot_product_attention/causal", "q k v", ATTENTION,
    "scaled_dot_product_attention(q, k, v, {}, {.is_causal = true})",
    "F.scaled_dot_product_attention(q, k, v, is_causal=True)", dtypes=("float32", "bfloat16"))
for name_ in ("dropout", "dropout1d", "dropout2d", "dropout3d", "alpha_dropout"):
    cases_ = {"dropout1d": "2x3x5\n*8x64x500", "dropout2d": "2x3x5x5\n*8x32x28x28\n8x32x28x28/n",
              "dropout3d": "2x3x4x5x5\n*2x16x8x28x28"}.get(name_,
              "1\n7\n1000\n*256x300\n1024x1024\n*384x512/t\n4x32x28x28/n")
    add(name_, "x", Shapes(cases_), torch=f"F.{name_}(x, 0.5, True)", check="none")
add("prelu", "x w", Shapes("7 1\n3x5 5\n*8x32x28x28 32\n8x32x28x28/n 32\n256x300 1\n1000x64 64"), torch="F.prelu(x, w)")

# Distances.
PAIRS = Shapes("1x1 1x1\n7x5 7x5\n*1000x64 1000x64\n64x1000 64x1000\n10000x3 10000x3\n300x512/t 300x512",
               "100x64 100x64 -> 1000x64 1000x64")
add("normalize", "x", Shapes("1x1\n7x5\n*1000x64\n64x1000\n10000x3\n8x32x28x28\n300x512/t"), torch="F.normalize(x)")
add("cosine_similarity", "a b", PAIRS, torch="F.cosine_similarity(a, b)")
add("pairwise_distance", "a b", PAIRS, torch="F.pairwise_distance(a, b)", dtypes=WIDE)
CDIST = Shapes("1x1 1x1\n7x5 9x5\n*200x64 300x64\n1000x3 1000x3\n2x100x32 2x50x32\n20x200 30x200",
               "100x32 100x32 -> 1000x32 100x32")
add("cdist", "a b", CDIST, dtypes=WIDE)
add("cdist/1", "a b", CDIST, "cdist(a, b, 1)", "torch.cdist(a, b, 1)", dtypes=WIDE)
add("cdist/3", "a b", Shapes("7x5 9x5\n*100x32 100x32"), "cdist(a, b, 3)", "torch.cdist(a, b, 3)", dtypes=WIDE)

# Transforms: complex numbers are pairs.
COMPLEX = Shapes("1x2\n7x2\n64x256x2\n*64x400x2\n1000x17x2\n8x1024x2\n1x65536x2\n16x1009x2\n16x30x30x2",
                 "64x256x2 -> 640x256x2")
REAL = Shapes("2\n7\n64x256\n*1024x400\n1000x17\n64x1024\n1x65536\n16x1009\n3x224x224\n256x128/t", "64x256 -> 640x256")
for name_ in ("fft", "ifft"):
    add(name_, "x", COMPLEX, torch=f"torch.view_as_real(torch.fft.{name_}(torch.view_as_complex(x)))", dtypes=WIDE)
add("rfft", "x", REAL, torch="torch.view_as_real(torch.fft.rfft(x))", dtypes=WIDE)
HALVES = Shapes("2x2\n5x2\n64x129x2\n*64x201x2\n1000x9x2\n8x513x2\n1x32769x2", "64x129x2 -> 640x129x2")
add("irfft", "x", HALVES, torch="torch.fft.irfft(torch.view_as_complex(x))", dtypes=WIDE)
IMAGES = Shapes("1x1x2\n3x5x2\n*8x32x32x2\n2x128x128x2\n3x100x60x2\n1x224x224x2\n1x31x37x2")
for name_ in ("fft2", "ifft2", "fftn", "ifftn"):
    add(name_, "x", IMAGES, torch=f"torch.view_as_real(torch.fft.{name_}(torch.view_as_complex(x)))", dtypes=WIDE)
REAL_IMAGES = Shapes("2x2\n3x5\n*8x32x32\n2x128x128\n3x224x224\n1x31x37\n8x32x32/t")
for name_ in ("rfft2", "rfftn"):
    add(name_, "x", REAL_IMAGES, torch=f"torch.view_as_real(torch.fft.{name_}(x))", dtypes=WIDE)
HALF_IMAGES = Shapes("2x2x2\n3x3x2\n*8x32x17x2\n2x128x65x2\n3x224x113x2")
for name_ in ("irfft2", "irfftn"):
    add(name_, "x", HALF_IMAGES, torch=f"torch.fft.{name_}(torch.view_as_complex(x))", dtypes=WIDE)
for name_ in ("fftshift", "ifftshift"):
    add(name_, "x", REAL, f"{name_}(x, -1)", f"torch.fft.{name_}(x, -1)", dtypes=WIDE)
COUNT = Shapes("| 1\n| 7\n*| 1000\n| 100000")
for name_ in ("fftfreq", "rfftfreq"):
    add(name_, "", COUNT, f"{name_}(n[0])", f"torch.fft.{name_}(n[0])", dtypes=("float32",), backward=False)

# Linear algebra.
SQUARE = Shapes("1x1\n3x3\n*1000x3x3\n*64x64\n16x20x20\n200x200\n64x64/t\n2x33x33", "100x8x8 -> 1000x8x8")
for name_, kind_, check_ in (("cholesky", "spd", "values"), ("inv", "well", "values"), ("pinv", "well", "values"),
                             ("det", "well", "none"), ("slogdet", "well", "values"), ("qr", "well", "size"),
                             ("eigh", "spd", "none"), ("eigvalsh", "spd", "values"), ("svd", "well", "none"),
                             ("svdvals", "well", "values"), ("matrix_exp", "well", "values")):
    torch_ = f"torch.linalg.{name_}(x)"
    if name_ == "slogdet":  # whose sign has a gradient of zeros in PyTorch
        torch_ = f"(lambda sign, log: (sign.detach(), log))(*{torch_})"
    add(f"linalg::{name_}", f"x:{kind_}", SQUARE, torch=torch_, dtypes=WIDE, check=check_)
add("linalg::logdet", "x:spd", SQUARE, torch="torch.logdet(x)", dtypes=WIDE)
add("linalg::cholesky_inverse", "x:well", SQUARE, torch="torch.cholesky_inverse(x)", dtypes=WIDE, backward=False)
add("linalg::matrix_power", "x:well", Shapes("3x3\n1000x3x3\n*64x64\n200x200", SQUARE.growth, True),
    "linalg::matrix_power(x * 0.4, 5)",
    "torch.linalg.matrix_power(x * 0.4, 5)", dtypes=WIDE)
SYSTEMS = Shapes("1x1 1x1\n3x3 3x2\n*1000x3x3 1000x3x1\n*64x64 64x10\n200x200 200x200\n16x20x20 16x20x5")
add("linalg::solve", "a:well b", SYSTEMS, dtypes=WIDE)
add("linalg::solve_triangular", "a:well b", SYSTEMS, "linalg::solve_triangular(a, b, true)",
    "torch.linalg.solve_triangular(a, b, upper=True)", dtypes=WIDE)
add("linalg::cholesky_solve", "a:well b", SYSTEMS, "linalg::cholesky_solve(b, a)", "torch.cholesky_solve(b, a)",
    dtypes=WIDE, backward=False)  # PyTorch's gradient has numbers in the other triangle
add("linalg::lstsq", "a b", Shapes("5x3 5x2\n*100x10 100x3\n500x50 500x1"), torch="torch.linalg.lstsq(a, b)[0]",
    dtypes=WIDE)

# Indices.
GATHER = Shapes("1x1 1x1\n7x5 7x3\n*256x300 256x100\n1000x64 1000x64\n64x1000 64x1\n300x256/t 300x100\n"
                "100000x4 100000x1",
                "100x300 100x100 -> 1000x300 1000x100")
add("gather", "x i:index(x,1)", GATHER, "gather(x, 1, i)", "torch.gather(x, 1, i)", dtypes=NUMBERS)
add("take_along_dim", "x i:index(x,1)", GATHER, "take_along_dim(x, i, 1)", "torch.take_along_dim(x, i, 1)")
SCATTER = Shapes("1x1 1x1 1x1\n7x5 7x3 7x3\n*256x300 256x100 256x100\n1000x64 1000x64 1000x64\n64x1000 64x1 64x1\n"
                 "300x256/t 300x100 300x100", "100x300 100x100 100x100 -> 1000x300 1000x100 1000x100")
for name_ in ("scatter", "scatter_add"):
    add(name_, "x i:index(x,1) s", SCATTER, f"{name_}(x, 1, i, s)", f"torch.{name_}(x, 1, i, s)", dtypes=NUMBERS,
        check="none" if name_ == "scatter" else "values", backward=name_ != "scatter")
for way_, torch_ in (("sum", "sum"), ("amax", "amax"), ("mean", "mean"), ("prod", "prod")):
    add("scatter_reduce" + ("" if way_ == "sum" else "/" + way_), "x i:index(x,1) s", SCATTER,
        f"scatter_reduce(x, 1, i, s, Scatter::{way_})", f"torch.scatter_reduce(x, 1, i, s, '{torch_}')", dtypes=WIDE)
SELECT = Shapes("1x1 1\n7x5 3\n*1000x64 500\n*10000x16 10000\n100x1000 1000\n64x1000/t 100\n1000x8x8 100",
                "10000x16 1000 -> 10000x16 10000")
add("index_select", "x i:index(x,0)", SELECT, "index_select(x, 0, i)", "torch.index_select(x, 0, i)", dtypes=NUMBERS)
add("index_select/columns", "x i:index(x,1)", Shapes("7x5 3\n*1000x64 30\n64x1000 500\n64x1000/t 100"),
    "index_select(x, 1, i)", "torch.index_select(x, 1, i)", dtypes=NUMBERS)
add("embedding", "i:index(1000) w",
    Shapes("1 1000x16\n7 1000x3\n*64x50 1000x96\n10000 1000x64\n64x512 1000x256\n20 1000x1",
                                           "1000 1000x64 -> 10000 1000x64"), "embedding(i, w)", "F.embedding(i, w)")
ROWS_INTO = Shapes("7x5 3 3x5\n*1000x64 500 500x64\n10000x16 10000 10000x16\n64x1000/t 50 50x1000",
                   "10000x16 1000 1000x16 -> 10000x16 10000 10000x16")
add("index_add", "x i:index(x,0) s", ROWS_INTO, "index_add(x, 0, i, s)", "torch.index_add(x, 0, i, s)", dtypes=NUMBERS)
add("index_copy", "x i:perm s", ROWS_INTO, "index_copy(x, 0, i, s)", "torch.index_copy(x, 0, i, s)", dtypes=NUMBERS)
add("index_fill", "x i:index(x,0)", SELECT, "index_fill(x, 0, i, 2)", "torch.index_fill(x, 0, i, 2)", dtypes=NUMBERS)
add("one_hot", "i:index(10)", Shapes("1\n7\n1000\n64x64x64\n100000"), "one_hot(i, 10)", "F.one_hot(i, 10)",
    dtypes=("int64",), backward=False)
add("one_hot/all", "i:index(300)", Shapes("7\n1000\n10000"), "one_hot(i)", "F.one_hot(i)", dtypes=("int64",),
    backward=False)
add("slice", "x", Shapes("7x5\n*256x300\n1024x1024\n384x512/t"), "x(slice({}, {}, 2), slice(1, -1)).contiguous()",
    "x[::2, 1:-1].contiguous()", dtypes=ALL)
add("slice/tensors", "x i:index(x,0)", SELECT, "Tensor(x(i))", "x[i]", dtypes=NUMBERS)
MASKED = Shapes("1 1\n7x5 7x5\n*256x300 256x300\n1024x1024 1024x1024\n384x512/t 384x512\n256x300 300\n"
                "8x32x28x28/n 8x1x28x28",
                "32768 32768 -> 327680 327680")
add("masked_fill", "x m:mask", MASKED, "masked_fill(x, m, 2)", "torch.masked_fill(x, m, 2)", dtypes=NUMBERS)
add("masked_select", "x m:mask", MASKED, dtypes=NUMBERS)
SAME_MASK = Shapes("7x5 7x5 7x5\n*256x300 256x300 256x300\n384x512/t 384x512 384x512")
add("masked_scatter", "x m:mask s", SAME_MASK, dtypes=NUMBERS)
add("nonzero", "x:mask", Shapes("1\n7x5\n1000\n*256x300\n1024x1024\n384x512/t\n4x32x28x28/n", "32768 -> 327680"),
    dtypes=("bool",), backward=False)
add("nonzero/numbers", "x", Shapes("7x5\n*256x300\n384x512/t"), "nonzero(x)", "torch.nonzero(x)", dtypes=NUMBERS,
    backward=False)
MATRICES = Shapes("1x1\n7x5\n*256x300\n1000x1000\n384x512/t\n64x33x35\n1000x4x4", "100x64x64 -> 1000x64x64")
for name_ in ("tril", "triu"):
    add(name_, "x", MATRICES, dtypes=NUMBERS)

# Layouts.
for name_, expression_ in (("split", "split(x, 3, 1)"), ("chunk", "chunk(x, 4, 1)"), ("unbind", "unbind(x, 0)")):
    add(name_, "x", Shapes("4x8\n*16x300\n64x96x28\n300x16/t"), expression_, f"torch.{expression_}")
add("cat", "a b",
    Shapes("1x1 1x1\n7x5 7x5\n*256x300 256x300\n8x32x28x28/n 8x32x28x28/n\n384x512/t 384x512\n1000x8 1000x8",
                         "64x512 64x512 -> 640x512 640x512"), "cat({a, b}, 1)", "torch.cat((a, b), 1)", dtypes=ALL)
add("cat/rows", "a b", Shapes("1x1 1x1\n*256x300 200x300\n384x512/t 384x512"), "cat({a, b})", "torch.cat((a, b))",
    dtypes=ALL)
STACKED = Shapes("1 1\n7x5 7x5\n*256x300 256x300\n384x512/t 384x512\n1000x8 1000x8")
add("stack", "a b", STACKED, "stack({a, b})", "torch.stack((a, b))", dtypes=ALL)
add("stack/last", "a b", STACKED, "stack({a, b}, -1)", "torch.stack((a, b), -1)", dtypes=ALL)
for name_ in ("hstack", "vstack"):
    add(name_, "a b", STACKED, f"{name_}({{a, b}})", f"torch.{name_}((a, b))")
PLANE = Shapes("1x1\n7x5\n*256x300\n1024x512\n384x512/t\n1000x8", "64x512 -> 640x512")
add("repeat", "x", PLANE, "repeat(x, {2, 3})", "x.repeat(2, 3)", dtypes=ALL)
add("tile", "x", PLANE, "tile(x, {3})", "torch.tile(x, (3,))", dtypes=NUMBERS)
add("flip", "x", PLANE, "flip(x, -1)", "torch.flip(x, (-1,))", dtypes=ALL)
add("flip/rows", "x", PLANE, "flip(x, 0)", "torch.flip(x, (0,))", dtypes=NUMBERS)
add("roll", "x", PLANE, "roll(x, 3, 1)", "torch.roll(x, 3, 1)", dtypes=NUMBERS)
add("roll/all", "x", PLANE, "roll(x, 5)", "torch.roll(x, 5)")
add("repeat_interleave", "x", PLANE, "repeat_interleave(x, 3, 1)", "torch.repeat_interleave(x, 3, 1)", dtypes=NUMBERS)
add("repeat_interleave/rows", "x", PLANE, "repeat_interleave(x, 3, 0)", "torch.repeat_interleave(x, 3, 0)")
add("repeat_interleave/counts", "x k:index(4)", Shapes("7x5 7\n*256x300 256\n10000x8 10000"),
    "repeat_interleave(x, k, 0)", "torch.repeat_interleave(x, k, 0)")
add("diagonal", "x", PLANE, "diagonal(x).clone()", "torch.diagonal(x).clone()")
add("diag", "x", Shapes("1\n7\n*300\n300x400\n300x400/t", "300 -> 3000 : 130"), dtypes=NUMBERS)
add("diag_embed", "x", Shapes("1\n7\n*64x64\n1000x4"), dtypes=NUMBERS)
add("unflatten", "x", Shapes("2x8\n*64x1024\n64x1024/t"), "unflatten(x, 1, {-1, 4}).clone()",
    "x.unflatten(1, (-1, 4)).clone()")
add("meshgrid", "a b", Shapes("3 5\n*300 200"), "meshgrid({a, b})", "torch.meshgrid(a, b, indexing='ij')")
add("unfold/dimension", "x", Shapes("2x9\n*64x1000\n64x1000/t"), "unfold(x, 1, 8, 4).clone()",
    "x.unfold(1, 8, 4).clone()")
PADDED = Shapes("1x1x4x4\n*8x32x28x28\n3x5x17x23\n8x32x28x28/n\n1x3x224x224", "1x32x28x28 -> 10x32x28x28")
for mode_ in ("constant", "reflect", "replicate", "circular"):
    add("pad" + ("" if mode_ == "constant" else "/" + mode_), "x", PADDED, f"pad(x, {{1, 2, 2, 1}}, PadMode::{mode_})",
        f"F.pad(x, (1, 2, 2, 1), mode='{mode_}')", dtypes=NUMBERS if mode_ == "constant" else HALF_TOO)

# Images.
UNFOLD = Shapes("1x1x5x5\n*4x16x28x28\n1x3x64x64\n4x16x28x28/n\n3x5x17x23", "1x16x28x28 -> 10x16x28x28")
add("unfold", "x", UNFOLD, "unfold(x, 3, {.padding = 1})", "F.unfold(x, 3, padding=1)", dtypes=HALF_TOO)
add("fold", "x", Shapes("1x9x9 | 3\n*4x144x784 | 28\n1x27x4096 | 64"), "fold(x, n[0], 3, {.padding = 1})",
    "F.fold(x, n[0], 3, padding=1)", dtypes=WIDE)
add("pixel_shuffle", "x", Shapes("1x4x3x3\n*4x64x28x28\n1x12x112x112\n4x64x28x28/n"), "pixel_shuffle(x, 2)",
    "F.pixel_shuffle(x, 2)")
add("pixel_unshuffle", "x", Shapes("1x1x4x4\n*4x16x56x56\n1x3x224x224\n4x16x56x56/n"), "pixel_unshuffle(x, 2)",
    "F.pixel_unshuffle(x, 2)")
add("channel_shuffle", "x", Shapes("1x4x3x3\n*4x64x28x28\n4x64x28x28/n"), "channel_shuffle(x, 4)",
    "F.channel_shuffle(x, 4)")
RESIZED = Shapes("1x1x5x5 | 7 7\n*4x16x28x28 | 56 56\n1x3x224x224 | 112 112\n4x16x28x28/n | 56 56\n2x3x37x41 | 50 23\n"
                 "8x3x64x64 | 32 32", "1x16x28x28 | 56 56 -> 10x16x28x28 | 56 56")
for mode_ in ("nearest", "nearest_exact", "bilinear", "bicubic", "area"):
    name_ = mode_.replace("_", "-")
    add("interpolate" + ("" if mode_ == "nearest" else "/" + mode_), "x", RESIZED,
        f"interpolate(x, {{.size = {{n[0], n[1]}}, .mode = Interpolation::{mode_}}})",
        f"F.interpolate(x, size=(n[0], n[1]), mode='{name_}')", dtypes=HALF_TOO)
for mode_ in ("bilinear", "bicubic"):
    add(f"interpolate/{mode_},antialias", "x", Shapes("1x3x224x224 | 112 112\n8x3x64x64 | 32 32\n2x3x37x41 | 20 23"),
        f"interpolate(x, {{.size = {{n[0], n[1]}}, .mode = Interpolation::{mode_}, .antialias = true}})",
        f"F.interpolate(x, size=(n[0], n[1]), mode='{mode_}', antialias=True)", dtypes=WIDE)
add("interpolate/linear", "x", Shapes("1x1x5 | 7\n*4x16x500 | 1000"),
    "interpolate(x, {.size = n[0], .mode = Interpolation::linear})",
    "F.interpolate(x, size=n[0], mode='linear')", dtypes=WIDE)
add("interpolate/trilinear", "x", Shapes("1x1x3x4x5 | 6\n*1x8x8x16x16 | 24"),
    "interpolate(x, {.size = {n[0], n[0], n[0]}, .mode = Interpolation::trilinear})",
    "F.interpolate(x, size=(n[0],) * 3, mode='trilinear')", dtypes=WIDE)
GRID = Shapes("1x1x5x5 1x3x3x2\n*4x16x28x28 4x28x28x2\n1x3x112x112 1x112x112x2\n4x16x28x28/n 4x20x20x2",
              "1x16x28x28 1x28x28x2 -> 10x16x28x28 10x28x28x2")
for mode_ in ("bilinear", "nearest", "bicubic"):
    add("grid_sample" + ("" if mode_ == "bilinear" else "/" + mode_), "x g:unit", GRID,
        f"grid_sample(x, g, {{.mode = Interpolation::{mode_}}})",
        f"F.grid_sample(x, g, mode='{mode_}', padding_mode='zeros', align_corners=False)", dtypes=WIDE)
add("affine_grid", "t", Shapes("1x2x3 | 3 4\n*4x2x3 | 28 28\n1x2x3 | 224 224"),
    "affine_grid(t, {t.size(0), 3, n[0], n[1]})", "F.affine_grid(t, (t.shape[0], 3, n[0], n[1]), align_corners=False)",
    dtypes=WIDE)
for mode_ in ("mean", "sum", "max"):
    add("embedding_bag" + ("" if mode_ == "mean" else "/" + mode_), "i:index(1000) w",
        Shapes("1x1 1000x16\n7x3 1000x5\n*64x50 1000x96\n1000x10 1000x64"),
        f"embedding_bag(i, w, {{}}, {{.mode = BagMode::{mode_}}})", f"F.embedding_bag(i, w, mode='{mode_}')",
        dtypes=WIDE)

# Losses.
LOSSES = Shapes("1 1\n7 7\n64x10 64x10\n*256x300 256x300\n1024x1024 1024x1024\n384x512/t 384x512\n"
                "4x32x28x28/n 4x32x28x28/n",
                "32768 32768 -> 327680 327680")
for name_, inputs_ in (("mse_loss", "x y"), ("l1_loss", "x y"), ("smooth_l1_loss", "x y"), ("huber_loss", "x y"),
                       ("binary_cross_entropy_with_logits", "x y:prob"), ("binary_cross_entropy", "x:prob y:prob"),
                       ("soft_margin_loss", "x y:sign"), ("hinge_embedding_loss", "x y:sign"),
                       ("poisson_nll_loss", "x y:pos")):
    add(f"nn::{name_}", inputs_, LOSSES, torch=f"F.{name_}(x, y)", dtypes=FLOATS)
add("nn::mse_loss/none", "x y", LOSSES, "nn::mse_loss(x, y, {.reduction = nn::Reduction::none})",
    "F.mse_loss(x, y, reduction='none')")
add("nn::kl_div", "x:logp y:prob", LOSSES, torch="F.kl_div(x, y)")
add("nn::gaussian_nll_loss", "x y v:pos", Shapes("7 7 7\n*256x300 256x300 256x300"),
    torch="F.gaussian_nll_loss(x, y, v)",
    dtypes=WIDE)
add("nn::margin_ranking_loss", "a b y:sign", Shapes("7 7 7\n*100000 100000 100000"),
    torch="F.margin_ranking_loss(a, b, y)")
VECTORS3 = Shapes("7x5 7x5 7x5\n*1000x64 1000x64 1000x64\n64x1000 64x1000 64x1000\n300x512/t 300x512 300x512")
add("nn::triplet_margin_loss", "a p q", VECTORS3, torch="F.triplet_margin_loss(a, p, q)", dtypes=WIDE)
add("nn::cosine_embedding_loss", "a b y:sign", Shapes("7x5 7x5 7\n*1000x64 1000x64 1000\n64x1000 64x1000 64"),
    torch="F.cosine_embedding_loss(a, b, y)", dtypes=WIDE)
CLASSES = Shapes("""
    1x2 1
    7x3 7
    *64x10 64
    *512x1000 512
    10000x5 10000
    8x32000 8
    300x100/t 300
    4x3x64x64 4x64x64
    *2x21x64x64 2x64x64
    2x21x64x64/n 2x64x64
    16x50x100 16x100
    """, "100x1000 100 -> 1000x1000 1000")
add("nn::cross_entropy", "x i:index(x,1)", CLASSES, torch="F.cross_entropy(x, i)")
add("nn::cross_entropy/probabilities", "x y:prob", Shapes("7x3 7x3\n*64x10 64x10\n512x1000 512x1000"),
    "nn::cross_entropy(x, y)",
    "F.cross_entropy(x, y)")
NLL = Shapes("\n".join(case for case in CLASSES.cases.splitlines() if "/n" not in case),
    CLASSES.growth)  # PyTorch throws
add("nn::nll_loss", "x:logp i:index(x,1)", NLL, torch="F.nll_loss(x, i)")
ROWS_OF = Shapes("1x2 1\n7x3 7\n*64x10 64\n*512x1000 512\n10000x5 10000\n300x100/t 300",
    "100x1000 100 -> 1000x1000 1000")
add("cross_entropy_rows", "x i:index(x,1)", ROWS_OF, torch="F.cross_entropy(x, i, reduction='none')")
add("nn::multi_margin_loss", "x i:index(x,1)", ROWS_OF, torch="F.multi_margin_loss(x, i)", dtypes=WIDE)
add("nn::multilabel_margin_loss", "x i:perm", Shapes("7x3 7x3\n*64x10 64x10\n100x100 100x100"),
    torch="F.multilabel_margin_loss(x, i)", dtypes=WIDE)
add("nn::multilabel_soft_margin_loss", "x y:prob", Shapes("7x3 7x3\n*64x10 64x10\n512x1000 512x1000"),
    torch="F.multilabel_soft_margin_loss(x, y)")
add("nn::ctc_loss", "x:logp t:index(19) il:const(20) tl:const(5)",
    Shapes("20x1x20 1x5 1 1\n*20x16x20 16x5 16 16\n100x8x50 8x5 8 8\n20x64x20/t 64x5 64 64"),
    "nn::ctc_loss(x, t.add(1), il, tl)", "F.ctc_loss(x, t + 1, il, tl)", dtypes=WIDE)
