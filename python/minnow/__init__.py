"""minnow: models of ONNX and language models, on arrays of NumPy and PyTorch without a copy."""

from ._minnow import LanguageModel, Model, Tensor, __version__, load, manual_seed, set_num_threads, tensor

__all__ = ["LanguageModel", "Model", "Tensor", "load", "manual_seed", "set_num_threads", "tensor"]
