"""Writes tests/cpu/model_convolutions.txt: the convolutions of 18 of torchvision's models at their usual image sizes.

A line: channels height width outputs kernel_h kernel_w stride padding_h padding_w dilation groups models
"""

import pathlib

import torch
import torchvision

NAMES = """resnet18 resnet50 resnext50_32x4d wide_resnet50_2 densenet121 googlenet squeezenet1_0 mobilenet_v2
mobilenet_v3_small efficientnet_b0 regnet_y_400mf regnet_x_1_6gf convnext_tiny vgg16 shufflenet_v2_x1_0 mnasnet1_0 alexnet
inception_v3""".split()
OPTIONS = {"googlenet": {"aux_logits": False, "init_weights": False}, "inception_v3": {"init_weights": False}}


def main():
    models = {}
    for name in NAMES:

        def note(module, inputs, _, name=name):
            x, m = inputs[0], module
            key = (*x.shape[1:], m.out_channels, *m.kernel_size, m.stride[0], *m.padding, m.dilation[0], m.groups)
            models.setdefault(key, set()).add(name)

        network = getattr(torchvision.models, name)(weights=None, **OPTIONS.get(name, {})).eval()
        for module in network.modules():
            if isinstance(module, torch.nn.Conv2d):
                module.register_forward_hook(note)
        size = 299 if name == "inception_v3" else 224
        with torch.no_grad():
            network(torch.zeros(1, 3, size, size))
    lines = [" ".join(map(str, key)) + " " + "+".join(sorted(names)) for key, names in models.items()]
    path = pathlib.Path(__file__).resolve().parent.parent / "cpu" / "model_convolutions.txt"
    path.write_text("\n".join(lines) + "\n")


main()
