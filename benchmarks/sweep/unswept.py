"""The functions of docs/operations.md and layers of docs/layers.md that the sweep does not time, and why."""

import re

import table

STATE = "keeps or sets state; does not compute"
HOST = "reads values of the host's language, of which Python has others"
BASE = "what others are made of, or holds them"
MADE = "made once, before training"
PARTS = "made of pad, unfold, mul and rfft, which have rows"
SEGMENTS = "made of scatter_reduce and searchsorted, which have rows"
LAYERED = "made of layers or functions that have rows"
GATHERED = "made of gather and max, which have rows; the windows are random"
ONCE = "changes a module once, before training"
UNSWEPT = {
    "default_generator": STATE, "manual_seed": STATE, "unary_functions": "a list of the others", "from_blob": HOST,
    "tensor": HOST, "nn::ActivationLayer": BASE,
    "nn::Normalizing": BASE, "nn::BatchNorm": BASE, "nn::AnyModule": BASE, "nn::Named": BASE, "nn::ModuleList": BASE,
    "nn::ModuleDict": BASE, "nn::ParameterList": BASE, "nn::ParameterDict": BASE, "nn::DropoutLayer": BASE,
    "nn::Functional": BASE, "nn::LoadReport": BASE, "nn::ForwardPreCall": BASE, "nn::ForwardCall": BASE,
    "nn::BackwardCall": BASE, "nn::ForwardHook": BASE, "nn::ForwardCallHook": BASE, "nn::Module": BASE,
    "nn::ModuleOf": BASE,
    "nn::PackedSequence": BASE, "nn::PaddedSequence": BASE, "nn::PaddingSizes": BASE, "nn::PaddingLayer": BASE, "nn::Parameter": BASE,
    "nn::Buffer": BASE,
    "nn::TransformerDecoderMasks": BASE, "nn::init::Fans": BASE, "nn::init::calculate_gain": "a number",
    "nn::init::fans": "two numbers", **dict.fromkeys(("nn::init::constant_", "nn::init::ones_", "nn::init::zeros_"), "fill_ has rows"),
    "nn::clone": ONCE,
    "nn::snapshot": ONCE, "nn::vector_to_parameters": ONCE, "nn::remove_parametrizations": ONCE,
    "nn::quantize_dynamic_": ONCE, "nn::quantize_dynamic": "a row of compare.py: int8_linear",
    "concat": "cat by another name", "normal": "randn, times and plus a number", "nn::replace": ONCE,
    "hann_window": MADE, "hamming_window": MADE, "blackman_window": MADE, "bartlett_window": MADE, "melscale_fbanks": MADE,
    "rope": "made of mul and addcmul, which have rows", "rope_table": MADE,
    "segment_reduce": SEGMENTS, "scatter_softmax": SEGMENTS,
    "bilinear": "nn::Bilinear has a row", "nn::Transformer": LAYERED, "nn::TransformerMasks": BASE,
    "nn::linear_cross_entropy": LAYERED, "nn::LinearCrossEntropyLoss": LAYERED,
    **dict.fromkeys(("fractional_max_pool2d", "fractional_max_pool3d", "fractional_max_pool2d_with_indices",
                     "fractional_max_pool3d_with_indices", "nn::FractionalMaxPool2d", "nn::FractionalMaxPool3d"), GATHERED),
    "stft": PARTS, "istft": PARTS,
    "nn::functional_call": "a row of compare.py: maml", "nn::NamedWeights": BASE,
    "nn::FiniteCheck": "PyTorch has none", "nn::summary": "text",
}


def documented(folder):
    """The names of docs/operations.md, and those of nn in docs/layers.md."""
    text = (folder / "operations.md").read_text(encoding="utf-8").partition("## Methods of Tensor alone")[0]
    text += (folder / "layers.md").read_text(encoding="utf-8").partition("\n## nn\n")[2].partition("\n## ")[0]
    for name, more in re.findall(r"^\| `([\w:]+)((?:/\dd)*)", text, re.M):
        if name.endswith("::"):  # enumerators
            continue
        yield name
        yield from (name[:-2] + other for other in more.split("/") if other)


def missing(folder):
    """Names of docs/ that have neither a row nor a reason."""
    swept = {name.partition("/")[0] for name in table.FUNCTIONS}
    return sorted(set(documented(folder)) - swept - set(UNSWEPT))
