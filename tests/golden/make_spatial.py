"""Golden values of convolutions, pools, resampling and blocks of images, and of their layers (PyTorch 2.15)."""
import torch
import torch.nn.functional as F
from book import Book, randn
from torch import nn


def conv():
    book = Book("conv_forms")
    x, w, b = randn("conv1d x", 2, 4, 9), randn("conv1d w", 6, 4, 3), randn("conv1d b", 6)
    book.case("1d/plain", F.conv1d, x, w, b)
    book.case("1d/all", lambda *t: F.conv1d(*t, stride=2, padding=2, dilation=2, groups=2), x, w[:, :2], b)
    book.case("1d/same", lambda *t: F.conv1d(*t, padding="same"), x, w[:, :, :2], b)
    book.case("1d/same,dilation 3", lambda *t: F.conv1d(*t, padding="same", dilation=3), x, w)
    book.case("1d/float64", F.conv1d, x.double(), w.double(), b.double())
    image, kernel = randn("conv2d x", 2, 4, 5, 6), randn("conv2d w", 3, 4, 2, 3)
    book.case("2d/same", lambda *t: F.conv2d(*t, padding="same"), image, kernel, b[:3])
    book.case("2d/same,dilation 1,2", lambda *t: F.conv2d(*t, padding="same", dilation=(1, 2)), image, kernel)
    book.case("2d/valid", lambda *t: F.conv2d(*t, padding="valid"), image, kernel)
    volume, kernel = randn("conv3d x", 2, 4, 5, 4, 6), randn("conv3d w", 6, 4, 3, 2, 3)
    book.case("3d/plain", F.conv3d, volume, kernel, b)
    book.case("3d/all", lambda *t: F.conv3d(*t, stride=(2, 1, 2), padding=(2, 1, 0), dilation=(2, 1, 1), groups=2),
              volume, kernel[:, :2], b)
    book.case("3d/same", lambda *t: F.conv3d(*t, padding="same"), volume[:1, :2], kernel[:2, :2])
    book.case("3d/1", F.conv3d, volume, kernel[:, :, :1, :1, :1], b)
    book.case("3d/float64", F.conv3d, volume[:1, :2].double(), kernel[:2, :2].double())
    w = randn("transpose1d w", 4, 3, 3)
    book.case("t1d/plain", F.conv_transpose1d, x, w, b[:3])
    book.case("t1d/all", lambda *t: F.conv_transpose1d(*t, stride=3, padding=1, output_padding=2, groups=2, dilation=2), x, w, b)
    image, w = image[:, :, :3, :4], randn("transpose2d w", 4, 3, 3, 2)
    book.case("t2d/plain", F.conv_transpose2d, image, w, b[:3])
    book.case("t2d/no bias", F.conv_transpose2d, image, w)
    book.case("t2d/stride 2,3", lambda *t: F.conv_transpose2d(*t, stride=(2, 3)), image, w, b[:3])
    book.case("t2d/padding 1,0", lambda *t: F.conv_transpose2d(*t, padding=(1, 0)), image, w, b[:3])
    book.case("t2d/output_padding 1,0", lambda *t: F.conv_transpose2d(*t, stride=2, padding=1, output_padding=(1, 0)), image, w, b[:3])
    book.case("t2d/output_padding of dilation", lambda *t: F.conv_transpose2d(*t, padding=(1, 0), output_padding=(1, 2), dilation=(2, 3)), image, w, b[:3])
    book.case("t2d/groups", lambda *t: F.conv_transpose2d(*t, groups=2), image, w, b)
    book.case("t2d/depthwise", lambda *t: F.conv_transpose2d(*t, stride=2, groups=4), image, w[:, :1], b[:4])
    book.case("t2d/all", lambda *t: F.conv_transpose2d(*t, stride=2, padding=1, output_padding=1, groups=2, dilation=(1, 2)), image, w, b)
    book.case("t2d/float64", lambda *t: F.conv_transpose2d(*t, stride=2), image.double(), w.double())
    volume, w = volume[:, :, :2, :3, :3], randn("transpose3d w", 4, 2, 3, 2, 2)
    book.case("t3d/plain", F.conv_transpose3d, volume, w, b[:2])
    book.case("t3d/all", lambda *t: F.conv_transpose3d(*t, stride=(2, 2, 1), padding=(1, 0, 1), output_padding=(1, 1, 0), groups=2, dilation=(2, 1, 1)), volume, w, b[:4])
    book.close()


def pool():
    book = Book("pool_forms")
    inputs = randn("pool1d", 2, 3, 9), randn("pool2d", 1, 2, 7, 6), randn("pool3d", 1, 2, 5, 6, 4)
    for d, x in enumerate(inputs, 1):
        largest, mean = getattr(F, f"max_pool{d}d"), getattr(F, f"avg_pool{d}d")
        book.case(f"max{d}d/2", lambda t: largest(t, 2), x)
        book.case(f"max{d}d/3,stride 2,padding 1", lambda t: largest(t, 3, 2, 1), x)
        book.case(f"max{d}d/2,stride 3,dilation 2,ceil", lambda t: largest(t, 2, 3, 1, 2, ceil_mode=True), x)
        book.case(f"max{d}d/indices", lambda t: largest(t, 3, 2, 1, ceil_mode=True, return_indices=True), x)
        book.case(f"max{d}d/ties", lambda t: largest(t, 3, 2, return_indices=True), F.relu(x).sign())
        book.case(f"avg{d}d/2", lambda t: mean(t, 2), x)
        book.case(f"avg{d}d/ceil", lambda t: mean(t, 3, 2, 1, ceil_mode=True), x)
        book.case(f"avg{d}d/ceil,without pad", lambda t: mean(t, 3, 2, 1, True, False), x)
        if d > 1:
            book.case(f"avg{d}d/divisor", lambda t: mean(t, 3, 2, 1, True, divisor_override=5), x)
        book.case(f"lp{d}d/2", lambda t: getattr(F, f"lp_pool{d}d")(t, 2, 2), x.abs())
        book.case(f"lp{d}d/3,stride 1,ceil", lambda t: getattr(F, f"lp_pool{d}d")(t, 3, 3, 2, True), x.abs())
        adaptive = getattr(F, f"adaptive_max_pool{d}d")
        size = (4, 4, 3)[:d]
        book.case(f"adaptive_max{d}d", lambda t: adaptive(t, size, True), x)
        book.case(f"adaptive_max{d}d/ties", lambda t: adaptive(t, size, True), F.relu(x).sign())
        book.case(f"adaptive_max{d}d/1", lambda t: adaptive(t, 1, True), x)
        y, at = largest(x, 2, return_indices=True)
        book.case(f"unpool{d}d", lambda t, i: getattr(F, f"max_unpool{d}d")(t, i, 2), y, at)
        book.case(f"unpool{d}d/size", lambda t, i: getattr(F, f"max_unpool{d}d")(t, i, 2, output_size=list(x.shape)), y, at)
    book.case("adaptive_avg3d", lambda t: F.adaptive_avg_pool3d(t, (2, 4, 3)), inputs[2])
    book.case("adaptive_avg3d/1", lambda t: F.adaptive_avg_pool3d(t, 1), inputs[2])
    book.close()


def interpolate():
    book = Book("interpolate")
    inputs = randn("interpolate1d", 2, 3, 5), randn("interpolate2d", 2, 2, 4, 5), randn("interpolate3d", 1, 2, 3, 2, 4)
    for d, x in enumerate(inputs, 1):
        size, less, factor = (7, 9, 5)[:d], (2, 3, 2)[:d], (1.7, 2.5, 0.6)[:d]
        modes = {1: ["linear"], 2: ["bilinear", "bicubic"], 3: ["trilinear"]}[d]
        for mode in ["nearest", "nearest-exact", "area"] + modes:
            book.case(f"{d}d/{mode}/size", lambda t: F.interpolate(t, size, mode=mode), x)
            book.case(f"{d}d/{mode}/less", lambda t: F.interpolate(t, less, mode=mode), x)
            book.case(f"{d}d/{mode}/factor", lambda t: F.interpolate(t, scale_factor=factor, mode=mode), x)
        for mode in modes:
            book.case(f"{d}d/{mode}/corners", lambda t: F.interpolate(t, size, mode=mode, align_corners=True), x)
            book.case(f"{d}d/{mode}/corners,one", lambda t: F.interpolate(t, (1,) * d, mode=mode, align_corners=True), x)
            book.case(f"{d}d/{mode}/corners,factor", lambda t: F.interpolate(t, scale_factor=2, mode=mode, align_corners=True), x)
    book.case("2d/bilinear/float64", lambda t: F.interpolate(t, (3, 8), mode="bilinear"), inputs[1].double())
    book.close()


def grid_sample():
    book = Book("grid_sample")
    x, grid = randn("grid_sample x", 2, 3, 4, 5), randn("grid_sample grid", 2, 3, 4, 2) * 0.9
    for mode in ("bilinear", "nearest", "bicubic"):
        for padding in ("zeros", "border", "reflection"):
            for corners in (False, True):
                book.case(f"{mode}/{padding}{'/corners' if corners else ''}",
                          lambda t, g: F.grid_sample(t, g, mode, padding, corners), x, grid)
    volume, places = randn("grid_sample volume", 1, 2, 3, 4, 2), randn("grid_sample places", 1, 2, 2, 3, 3) * 0.9
    for mode in ("bilinear", "nearest"):
        book.case(f"3d/{mode}", lambda t, g: F.grid_sample(t, g, mode, align_corners=False), volume, places)
    book.case("3d/reflection", lambda t, g: F.grid_sample(t, g, "bilinear", "reflection", True), volume, places)
    for corners in (False, True):
        name = "corners" if corners else "edges"
        book.case(f"affine/{name}", lambda t: F.affine_grid(t, [2, 3, 3, 4], corners), randn("theta", 2, 2, 3))
        book.case(f"affine/3d,{name}", lambda t: F.affine_grid(t, [2, 1, 1, 3, 2], corners), randn("theta", 2, 3, 4))
    book.close()


def unfold():
    book = Book("unfold")
    x = randn("unfold", 2, 3, 5, 6)
    for name, options in {"2": dict(kernel_size=2), "3x2,stride 2x1": dict(kernel_size=(3, 2), stride=(2, 1)),
                          "all": dict(kernel_size=(2, 3), dilation=(2, 1), padding=(1, 2), stride=2)}.items():
        book.case(f"unfold/{name}", lambda t: F.unfold(t, **options), x)
        book.case(f"fold/{name}", lambda t: F.fold(t, (5, 6), **options), randn("fold", *F.unfold(x, **options).shape))
    book.case("unfold/one", lambda t: F.unfold(t, 2), x[0])
    book.case("fold/one", lambda t: F.fold(t, (3, 3), 2), randn("fold", 8, 4))
    book.case("windows/3,2", lambda t: t.unfold(3, 3, 2), x)
    book.case("windows/2,3", lambda t: t.unfold(1, 2, 3), x)
    book.case("windows/rows", lambda t: t.unfold(-1, 5, 1), x[0, 0])
    book.case("unflatten", lambda t: t.unflatten(-1, (2, -1)), x)
    book.case("channel_shuffle/3", lambda t: F.channel_shuffle(t, 3), randn("shuffle", 2, 6, 2, 3))
    book.case("local_response_norm/3", lambda t: F.local_response_norm(t, 3), randn("response", 2, 5, 2, 3))
    book.case("local_response_norm/all", lambda t: F.local_response_norm(t, 4, 0.5, 0.6, 2.0), randn("response", 2, 5, 4))
    book.close()


def embedding_bag():
    book = Book("embedding_bag")
    weight, index = randn("bag weight", 7, 3), torch.tensor([1, 2, 4, 5, 4, 3, 2, 6, 0])
    offsets, rows = torch.tensor([0, 4, 4, 7]), torch.tensor([[1, 2, 4], [5, 4, 4]])
    each = randn("bag each", 9)
    for mode in ("sum", "mean", "max"):
        bag = lambda i, w, o=None, **k: F.embedding_bag(i, w, o, mode=mode, **k)
        book.case(f"{mode}/offsets", bag, index, weight, offsets)
        book.case(f"{mode}/rows", bag, rows, weight)
        book.case(f"{mode}/padding", lambda i, w, o: bag(i, w, o, padding_idx=4), index, weight, offsets)
        book.case(f"{mode}/rows,padding", lambda i, w: bag(i, w, padding_idx=-3), rows, weight)
        book.case(f"{mode}/last", lambda i, w, o: bag(i, w, o, include_last_offset=True), index, weight, torch.tensor([0, 4, 4, 9]))
    book.case("sum/each", lambda i, w, o, s: F.embedding_bag(i, w, o, mode="sum", per_sample_weights=s), index, weight, offsets, each)
    book.case("sum/rows,each", lambda i, w, s: F.embedding_bag(i, w, mode="sum", per_sample_weights=s), rows, weight, each[:6].reshape(2, 3))
    book.close()


def layers():
    """Of each layer the state dict under NAME/net., its input, result, and the gradients for the sum of the result's squares."""
    book = Book("spatial_layers")

    def case(name, net, *inputs):
        torch.manual_seed(1)
        with torch.no_grad():
            for p in net.parameters():
                p.copy_(torch.randn(p.shape) * 0.5)
        for key, value in net.state_dict().items():
            book.put(f"{name}/net.{key}", value)
        leaves = [v.clone().requires_grad_(v.is_floating_point()) for v in inputs]
        y = net(*leaves)
        for i, value in enumerate(leaves):
            book.put(f"{name}/in{i}", value)
        book.put(f"{name}/out0", y)
        y.square().sum().backward()
        for i, value in enumerate(leaves):
            if value.grad is not None:
                book.put(f"{name}/grad{i}", value.grad)
        for key, p in net.named_parameters():
            book.put(f"{name}/grad.{key}", p.grad)

    line, image, volume = randn("layer1d", 2, 4, 7), randn("layer2d", 2, 4, 5, 4), randn("layer3d", 1, 4, 3, 4, 3)
    case("Conv1d", nn.Conv1d(4, 6, 3, stride=2, padding=1, groups=2), line)
    case("Conv1d/circular", nn.Conv1d(4, 2, 3, padding=2, padding_mode="circular"), line)
    case("Conv2d/same", nn.Conv2d(4, 2, (2, 3), padding="same"), image)
    case("Conv2d/reflect", nn.Conv2d(4, 2, 3, padding=(1, 2), padding_mode="reflect"), image)
    case("Conv2d/replicate,same", nn.Conv2d(4, 2, 2, padding="same", padding_mode="replicate", bias=False), image)
    case("Conv3d", nn.Conv3d(4, 2, (3, 2, 2), stride=(1, 2, 1), padding=(1, 0, 1)), volume)
    case("ConvTranspose1d", nn.ConvTranspose1d(4, 6, 3, stride=2, padding=1, output_padding=1, groups=2), line)
    case("ConvTranspose2d", nn.ConvTranspose2d(4, 3, 4, stride=2, padding=1), image)
    case("ConvTranspose2d/no bias", nn.ConvTranspose2d(4, 3, 2, bias=False, dilation=2), image)
    case("ConvTranspose3d", nn.ConvTranspose3d(4, 2, 2, stride=2, padding=(1, 0, 0)), volume)
    case("MaxPool1d", nn.MaxPool1d(3, stride=2, padding=1, ceil_mode=True), line)
    case("MaxPool3d", nn.MaxPool3d(2, stride=1), volume)
    case("AvgPool1d", nn.AvgPool1d(2), line)
    case("AvgPool3d", nn.AvgPool3d(2, padding=1, count_include_pad=False), volume)
    case("LPPool2d", nn.LPPool2d(2, 2), image)
    case("AdaptiveMaxPool1d", nn.AdaptiveMaxPool1d(3), line)
    case("AdaptiveMaxPool2d", nn.AdaptiveMaxPool2d((3, 2)), image)
    case("AdaptiveAvgPool3d", nn.AdaptiveAvgPool3d(2), volume)
    case("Upsample/bilinear", nn.Upsample(scale_factor=2, mode="bilinear", align_corners=True), image)
    case("Upsample/size", nn.Upsample(size=(7, 3), mode="bicubic"), image)
    case("Unfold", nn.Unfold(2, padding=1, stride=2), image)
    case("Fold", nn.Fold((4, 5), (2, 2)), randn("layer fold", 2, 8, 12))
    case("ChannelShuffle", nn.ChannelShuffle(2), image)
    case("ZeroPad2d", nn.ZeroPad2d((1, 2, 0, -1)), image)
    case("ConstantPad1d", nn.ConstantPad1d(2, 3.5), line)
    case("ReflectionPad2d", nn.ReflectionPad2d((1, 2, 3, 0)), image)
    case("ReplicationPad3d", nn.ReplicationPad3d(1), volume)
    case("CircularPad2d", nn.CircularPad2d(2), image)
    case("Unflatten", nn.Unflatten(1, (2, 2)), image)
    case("LocalResponseNorm", nn.LocalResponseNorm(2), image)
    index, offsets = torch.tensor([1, 2, 4, 5, 4, 3]), torch.tensor([0, 4, 4])
    case("EmbeddingBag", nn.EmbeddingBag(7, 3), index, offsets)
    case("EmbeddingBag/max", nn.EmbeddingBag(7, 3, mode="max", padding_idx=2), index, offsets)
    case("EmbeddingBag/sum", nn.EmbeddingBag(7, 3, mode="sum", include_last_offset=True), index, torch.tensor([0, 4, 6]))
    book.close()


def main():
    conv()
    pool()
    interpolate()
    grid_sample()
    unfold()
    embedding_bag()
    layers()


if __name__ == "__main__":
    torch.set_num_threads(1)
    main()
