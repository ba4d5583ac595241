"""Layers and functions of nn: see table.py."""

from table import FLOATS, WIDE, Shapes, add

HALF_TOO = ("float32", "float64", "bfloat16")

ELEMENTS = Shapes("1x7\n*64x300\n8x32x28x28\n8x32x28x28/n\n300x64/t", "8x32x28 -> 80x32x28")
PLAIN = {"ReLU": "", "ReLU6": "", "SELU": "", "GELU": "", "SiLU": "", "Mish": "", "Sigmoid": "", "LogSigmoid": "",
         "Tanh": "", "Hardswish": "", "Hardsigmoid": "", "Softsign": "", "Tanhshrink": "", "LeakyReLU": "0.2",
         "ELU": "", "CELU": "",
         "Softshrink": "", "Hardshrink": "", "Softplus": "", "Hardtanh": "", "Threshold": "0.1, 0.5", "Softmax": "1",
         "LogSoftmax": "1", "Softmin": "1", "Identity": "", "Flatten": ""}
for name_, arguments_ in PLAIN.items():
    add(f"nn::{name_}", "x", ELEMENTS, layer=f"nn::{name_}({arguments_})", torch_layer=f"nn.{name_}({arguments_})",
        dtypes=HALF_TOO)
add("nn::GELUTanh", "x", ELEMENTS, layer="nn::GELUTanh()", torch_layer="nn.GELU('tanh')", dtypes=HALF_TOO)
add("nn::GLU", "x", Shapes("1x8\n*64x300\n8x32x28x28"), layer="nn::GLU(1)", torch_layer="nn.GLU(1)", dtypes=HALF_TOO)
add("nn::RReLU", "x", ELEMENTS, layer="nn::RReLU()", torch_layer="nn.RReLU()", check="none", dtypes=WIDE)
add("nn::PReLU", "x", ELEMENTS, layer="nn::PReLU()", torch_layer="nn.PReLU()", dtypes=HALF_TOO)
add("nn::Unflatten", "x", Shapes("1x8\n*64x300\n8x32x28x28"), layer="nn::Unflatten(1, {2, x.size(1) / 2})",
    torch_layer="nn.Unflatten(1, (2, -1))")
for name_, shapes_ in (("Dropout", "1x7\n*64x300\n8x32x28x28\n8x32x28x28/n"), ("Dropout1d", "1x3x7\n*8x64x300"),
                       ("Dropout2d", "1x3x5x5\n*8x32x28x28\n8x32x28x28/n"), ("Dropout3d", "1x3x4x5x5\n*2x16x8x14x14"),
                       ("AlphaDropout", "1x7\n*64x300\n8x32x28x28")):
    add(f"nn::{name_}", "x", Shapes(shapes_), layer=f"nn::{name_}(0.3)", torch_layer=f"nn.{name_}(0.3)", check="none")

# Norms.  The number: channels.
SEQUENCES = "2x3x5 | 3\n*8x64x100 | 64\n"
PICTURES = "2x3x5x5 | 3\n*8x32x28x28 | 32\n1x64x56x56 | 64\n8x32x28x28/n | 32\n"
VOLUMES = "2x3x4x5x5 | 3\n*2x16x4x14x14 | 16\n"
for dims_, shapes_ in ((1, SEQUENCES + "256x512 | 512\n"), (2, PICTURES), (3, VOLUMES)):
    add(f"nn::BatchNorm{dims_}d", "x", Shapes(shapes_), layer=f"nn::BatchNorm{dims_}d(n[0])",
        torch_layer=f"nn.BatchNorm{dims_}d(n[0])", dtypes=HALF_TOO)
add("nn::InstanceNorm", "x", Shapes(PICTURES), layer="nn::InstanceNorm(n[0], {.affine = true})",
    torch_layer="nn.InstanceNorm2d(n[0], affine=True)", dtypes=HALF_TOO)
add("nn::GroupNorm", "x", Shapes("2x4x5x5 | 4\n*8x32x28x28 | 32\n1x64x56x56 | 64\n8x32x28x28/n | 32"),
    layer="nn::GroupNorm(4, n[0])", torch_layer="nn.GroupNorm(4, n[0])", dtypes=HALF_TOO)
FEATURES = "1x5 | 5\n*64x50x96 | 96\n512x768 | 768\n1x4096 | 4096\n3x7x33 | 33"
add("nn::LayerNorm", "x", Shapes(FEATURES), layer="nn::LayerNorm({n[0]})", torch_layer="nn.LayerNorm(n[0])",
    dtypes=HALF_TOO)
add("nn::RMSNorm", "x", Shapes(FEATURES), layer="nn::RMSNorm({n[0]})", torch_layer="nn.RMSNorm(n[0])", dtypes=HALF_TOO)
add("nn::LocalResponseNorm", "x", Shapes("1x3x5x5\n*2x32x28x28\n2x32x28x28/n"), layer="nn::LocalResponseNorm(5)",
    torch_layer="nn.LocalResponseNorm(5)", dtypes=WIDE)

# Products.
add("nn::Linear", "x",
    Shapes("1x1 | 1 1\n7x33 | 33 17\n*64x784 | 784 128\n*4x96x128 | 128 512\n4096x64 | 64 1\n1x512 | 512 1000\n"
                              "64x784/t | 784 128\n2000x8 | 8 3", "64x784 | 784 128 -> 640x784 | 784 128"),
    layer="nn::Linear(n[0], n[1])", torch_layer="nn.Linear(n[0], n[1])", dtypes=FLOATS)
add("nn::Bilinear", "a b", Shapes("1x3 1x4 | 3 4 2\n*64x20 64x30 | 20 30 10\n512x10 512x10 | 10 10 10"),
    layer="nn::Bilinear(n[0], n[1], n[2])", torch_layer="nn.Bilinear(n[0], n[1], n[2])", dtypes=WIDE)
CONVOLUTIONS = {1: "1x1x7 | 1 1 3 1\n*4x16x200 | 16 32 5 1\n2x32x101 | 32 64 3 2",
                2: "1x1x5x5 | 1 1 3 1\n*4x16x28x28 | 16 32 3 1\n1x3x64x64 | 3 16 7 2\n4x16x28x28/n | 16 32 3 1\n"
                   "1x64x14x14 | 64 128 1 1\n3x5x17x23 | 5 7 3 1",
                3: "1x1x4x5x5 | 1 1 3 1\n*1x8x4x14x14 | 8 16 3 1"}
for dims_, shapes_ in CONVOLUTIONS.items():
    for name_ in ("Conv", "ConvTranspose"):
        add(f"nn::{name_}{dims_}d", "x", Shapes(shapes_),
            layer=f"nn::{name_}{dims_}d(n[0], n[1], n[2], {{.stride = n[3]}})",
            torch_layer=f"nn.{name_}{dims_}d(n[0], n[1], n[2], stride=n[3])", dtypes=HALF_TOO)
add("nn::Embedding", "i:index(1000)", Shapes("1\n7\n64x50\n10000"), layer="nn::Embedding(1000, 64)",
    torch_layer="nn.Embedding(1000, 64)")
add("nn::EmbeddingBag", "i:index(1000)", Shapes("1x1\n64x50\n1000x10"), layer="nn::EmbeddingBag(1000, 64)",
    torch_layer="nn.EmbeddingBag(1000, 64)")

# Pools, padding, sizes.
for dims_, shapes_ in ((1, "1x1x8\n*8x32x300"), (2, "1x1x6x6\n*8x32x28x28\n8x32x28x28/n\n1x64x56x56\n3x5x17x23"),
                       (3, "1x1x4x4x4\n*2x8x8x14x14")):
    shapes_ = Shapes(shapes_)
    for name_ in ("MaxPool", "AvgPool"):
        add(f"nn::{name_}{dims_}d", "x", shapes_, layer=f"nn::{name_}{dims_}d(3, {{.stride = 2, .padding = 1}})",
            torch_layer=f"nn.{name_}{dims_}d(3, 2, 1)",
            dtypes=WIDE if (name_, dims_) == ("AvgPool", 3) else HALF_TOO)
    for name_ in ("AdaptiveAvgPool", "AdaptiveMaxPool"):
        add(f"nn::{name_}{dims_}d", "x", shapes_, layer=f"nn::{name_}{dims_}d(3)", torch_layer=f"nn.{name_}{dims_}d(3)",
            dtypes=HALF_TOO)
    add(f"nn::LPPool{dims_}d", "x:pos", shapes_, layer=f"nn::LPPool{dims_}d(2, 2)",
        torch_layer=f"nn.LPPool{dims_}d(2, 2)",
        dtypes=WIDE)
    add(f"nn::MaxUnpool{dims_}d", f"x i:place({2**dims_})", shapes_, layer=f"nn::MaxUnpool{dims_}d(2)",
        torch_layer=f"nn.MaxUnpool{dims_}d(2)")
    for name_ in ("ZeroPad", "ConstantPad", "ReflectionPad", "ReplicationPad", "CircularPad"):
        number_ = ", 2" if name_ == "ConstantPad" else ""
        add(f"nn::{name_}{dims_}d", "x", shapes_, layer=f"nn::{name_}{dims_}d(2{number_})",
            torch_layer=f"nn.{name_}{dims_}d(2{number_})", dtypes=HALF_TOO)
for name_, shapes_ in (("PixelShuffle", "1x4x3x3\n*4x64x28x28\n4x64x28x28/n"), 
                       ("PixelUnshuffle", "1x1x4x4\n*4x16x56x56"),
                       ("ChannelShuffle", "1x4x3x3\n*4x64x28x28")):
    add(f"nn::{name_}", "x", Shapes(shapes_), layer=f"nn::{name_}(2)", torch_layer=f"nn.{name_}(2)", dtypes=HALF_TOO)
add("nn::Upsample", "x", Shapes("1x1x5x5\n*4x16x28x28\n4x16x28x28/n"), layer="nn::Upsample(2)",
    torch_layer="nn.Upsample(scale_factor=2)", dtypes=HALF_TOO)
add("nn::Unfold", "x", Shapes("1x1x5x5\n*4x16x28x28\n3x5x17x23"), layer="nn::Unfold(3)", torch_layer="nn.Unfold(3)")
add("nn::Fold", "x", Shapes("1x9x676\n*4x144x676"), layer="nn::Fold(28, 3)", torch_layer="nn.Fold(28, 3)", dtypes=WIDE)
ROWS = Shapes("7x5 7x5\n*1000x64 1000x64\n64x1000 64x1000")
for name_ in ("CosineSimilarity", "PairwiseDistance"):
    add(f"nn::{name_}", "a b", ROWS, layer=f"nn::{name_}()", torch_layer=f"nn.{name_}()", dtypes=WIDE)

# Sequences.
RECURRENT = Shapes("1x1x3 | 3 4\n*20x16x32 | 32 64\n100x1x64 | 64 128\n5x128x100 | 100 100\n30x7x17 | 17 33",
                   "20x16x32 | 32 64 -> 200x16x32 | 32 64")
for name_ in ("LSTM", "GRU", "RNN"):
    add(f"nn::{name_}", "x", RECURRENT, layer=f"nn::{name_}(n[0], n[1])", torch_layer=f"nn.{name_}(n[0], n[1])",
        dtypes=HALF_TOO)
    add(f"nn::{name_}/deep", "x", Shapes("3x2x5 | 5 4\n*20x16x32 | 32 48"),
        layer=f"nn::{name_}(n[0], n[1], {{.num_layers = 2, .bidirectional = true}})",
        torch_layer=f"nn.{name_}(n[0], n[1], 2, bidirectional=True)", dtypes=WIDE)
    add(f"nn::{name_}Cell", "x", Shapes("1x3 | 3 4\n*64x32 | 32 64\n1x256 | 256 256"),
        layer=f"nn::{name_}Cell(n[0], n[1])",
        cpp="layer(x)" if name_ == "LSTM" else "layer(x, zeros({x.size(0), n[1]}, dtype))",
        torch="layer(x)" if name_ == "LSTM" else "layer(x, torch.zeros(x.shape[0], n[1], dtype=dtype))",
        torch_layer=f"nn.{name_}Cell(n[0], n[1])", dtypes=HALF_TOO)
LENGTHS = "Numbers(static_cast<std::size_t>(x.size(1)), n[0])"
PACKED = "nn.utils.rnn.pack_padded_sequence(x, [n[0]] * x.shape[1])"
TIMES = Shapes("5x2x3 | 5\n*30x16x32 | 20\n100x64x8 | 100\n30x1x64 | 30\n30x7x33 | 7", fixed=True)
add("nn::pack_padded_sequence", "x", TIMES, f"nn::pack_padded_sequence(x, {LENGTHS})", PACKED, check="none")
add("nn::pad_packed_sequence", "x", TIMES, f"nn::pad_packed_sequence(nn::pack_padded_sequence(x, {LENGTHS})).output",
    f"nn.utils.rnn.pad_packed_sequence({PACKED})[0]")
add("nn::pad_sequence", "a b", Shapes("3x4 5x4\n*300x64 200x64"), "nn::pad_sequence({a, b})",
    "nn.utils.rnn.pad_sequence([a, b])")
add("nn::pack_sequence", "a b", Shapes("5x4 3x4\n*300x64 200x64"), "nn::pack_sequence({a, b})",
    "nn.utils.rnn.pack_sequence([a, b])",
    check="none")
TOKENS = Shapes("1x3x8 | 8 2\n*4x32x64 | 64 4\n1x128x256 | 256 8\n16x17x48 | 48 3", "2x32x64 | 64 4 -> 20x32x64 | 64 4")
add("nn::MultiheadAttention", "x", TOKENS, layer="nn::MultiheadAttention(n[0], n[1])",
    torch_layer="nn.MultiheadAttention(n[0], n[1], batch_first=True)", torch="layer(x, x, x, need_weights=False)[0]",
    dtypes=HALF_TOO)
OPTIONS = "{.dim_feedforward = 2 * n[0], .dropout = 0}"
TORCH_OPTIONS = "dim_feedforward=2 * n[0], dropout=0.0, batch_first=True"
add("nn::TransformerEncoderLayer", "x", TOKENS, layer=f"nn::TransformerEncoderLayer(n[0], n[1], {OPTIONS})",
    torch_layer=f"nn.TransformerEncoderLayer(n[0], n[1], {TORCH_OPTIONS})", dtypes=HALF_TOO)
add("nn::TransformerDecoderLayer", "x m", TOKENS, layer=f"nn::TransformerDecoderLayer(n[0], n[1], {OPTIONS})",
    torch_layer=f"nn.TransformerDecoderLayer(n[0], n[1], {TORCH_OPTIONS})", dtypes=HALF_TOO)
for name_, inputs_ in (("Encoder", "x"), ("Decoder", "x m")):
    add(f"nn::Transformer{name_}", inputs_, Shapes("1x3x8 | 8 2\n*4x32x64 | 64 4"),
        layer=f"nn::Transformer{name_}(nn::Transformer{name_}Layer(n[0], n[1], {OPTIONS}), 2)",
        torch_layer=f"nn.Transformer{name_}(nn.Transformer{name_}Layer(n[0], n[1], {TORCH_OPTIONS}), 2)")

# What holds and what changes modules.
MLP = Shapes("1x8 | 8 4\n*64x128 | 128 64")
add("nn::Sequential", "x", MLP, layer="nn::Sequential(nn::Linear(n[0], n[1]), nn::ReLU(), nn::Linear(n[1], 10))",
    torch_layer="nn.Sequential(nn.Linear(n[0], n[1]), nn.ReLU(), nn.Linear(n[1], 10))", dtypes=HALF_TOO)
add("nn::weight_norm", "x", MLP, layer="nn::weight_norm(nn::Linear(n[0], n[1]))",
    torch_layer="nn.utils.parametrizations.weight_norm(nn.Linear(n[0], n[1]))", check="none")
add("nn::spectral_norm", "x", MLP, layer="nn::spectral_norm(nn::Linear(n[0], n[1]))",
    torch_layer="nn.utils.parametrizations.spectral_norm(nn.Linear(n[0], n[1]))", check="none")
add("nn::parameters_to_vector", "a b", Shapes(
    "3x4 5\n*300x400 400\n1 1\n7 9\n64x32x3x3 64\n1000x1000 1000\n1x5 1\n33x35 33"), "nn::parameters_to_vector({a, b})",
    "nn.utils.parameters_to_vector([a, b])")
WEIGHTS = Shapes("3x4\n*300x400\n32x16x3x3")
for name_ in ("uniform_", "normal_", "trunc_normal_", "xavier_uniform_", "xavier_normal_", "kaiming_uniform_",
              "kaiming_normal_", "orthogonal_"):
    add(f"nn::init::{name_}", "w", WEIGHTS, torch=f"nn.init.{name_}(w)", dtypes=WIDE, backward=False, check="none")
add("nn::init::eye_", "w", Shapes("3x4\n300x400"), torch="nn.init.eye_(w)", dtypes=WIDE, backward=False)
add("nn::init::dirac_", "w", Shapes("4x4x3\n32x16x3x3"), torch="nn.init.dirac_(w)", dtypes=WIDE, backward=False)
add("nn::init::sparse_", "w", Shapes("3x4\n300x400"), "nn::init::sparse_(w, 0.5)", "nn.init.sparse_(w, 0.5)",
    dtypes=WIDE,
    backward=False, check="none")
