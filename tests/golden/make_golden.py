#!/usr/bin/env python3
"""Writes the golden values of this folder with PyTorch 2.15.  Run by hand; the tests read the files only."""
import make_combined
import make_composed
import make_distributions
import make_elementwise
import make_layers
import make_modules
import make_ops
import make_order
import make_quantized
import make_signal
import make_spatial
import make_training
import torch

if __name__ == "__main__":
    torch.set_num_threads(1)
    make_elementwise.main()
    make_ops.main()
    make_order.main()
    make_layers.main()
    make_spatial.main()
    make_training.main()
    make_modules.main()
    make_combined.main()
    make_composed.main()
    make_distributions.main()
    make_quantized.main()
    make_signal.main()
