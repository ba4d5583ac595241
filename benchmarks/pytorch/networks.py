"""benchmarks/workloads/networks.cpp on PyTorch."""

import math

import torch
import torch.nn.functional as F
from torch import nn


class BasicBlock(nn.Module):
    def __init__(self, before, after, stride):
        super().__init__()
        self.conv1 = nn.Conv2d(before, after, 3, stride, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(after)
        self.conv2 = nn.Conv2d(after, after, 3, 1, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(after)
        self.downsample = None
        if stride != 1 or before != after:
            self.downsample = nn.Sequential(nn.Conv2d(before, after, 1, stride, bias=False), nn.BatchNorm2d(after))

    def forward(self, x):
        y = self.bn2(self.conv2(F.relu(self.bn1(self.conv1(x)))))
        return F.relu(y + (self.downsample(x) if self.downsample else x))


class ResNet18(nn.Module):
    def __init__(self, width, classes):
        super().__init__()
        self.conv1 = nn.Conv2d(3, width, 7, 2, 3, bias=False)
        self.bn1 = nn.BatchNorm2d(width)
        self.layer1, self.layer2, self.layer3, self.layer4 = (
            nn.Sequential(BasicBlock(before, after, stride), BasicBlock(after, after, 1))
            for before, after, stride in ((width, width, 1), (width, 2 * width, 2), (2 * width, 4 * width, 2),
                                          (4 * width, 8 * width, 2)))
        self.fc = nn.Linear(8 * width, classes)

    def forward(self, x):
        x = F.max_pool2d(F.relu(self.bn1(self.conv1(x))), 3, 2, 1)
        x = self.layer4(self.layer3(self.layer2(self.layer1(x))))
        return self.fc(F.adaptive_avg_pool2d(x, 1).flatten(1))


def two_convolutions(before, after):
    return nn.Sequential(nn.Conv2d(before, after, 3, padding=1, bias=False), nn.BatchNorm2d(after), nn.ReLU(),
                         nn.Conv2d(after, after, 3, padding=1, bias=False), nn.BatchNorm2d(after), nn.ReLU())


class UNet(nn.Module):
    def __init__(self, width, classes):
        super().__init__()
        for i in range(4):
            setattr(self, f"down{i}", two_convolutions(width << i - 1 if i else 1, width << i))
        for i in range(3):
            wide = width << 3 - i
            setattr(self, f"up{i}", nn.ConvTranspose2d(wide, wide // 2, 2, 2))
            setattr(self, f"join{i}", two_convolutions(wide, wide // 2))
        self.head = nn.Conv2d(width, classes, 1)

    def forward(self, x):
        x, skips = self.down0(x), []
        for down in (self.down1, self.down2, self.down3):
            skips.append(x)
            x = down(F.max_pool2d(x, 2))
        for up, join in ((self.up0, self.join0), (self.up1, self.join1), (self.up2, self.join2)):
            x = join(torch.cat([up(x), skips.pop()], 1))
        return self.head(x)


class Conv1D(nn.Module):
    """GPT-2's linear map, whose weight is [in, out]."""

    def __init__(self, inputs, outputs):
        super().__init__()
        self.weight = nn.Parameter(torch.empty(inputs, outputs))
        self.bias = nn.Parameter(torch.empty(outputs))

    def forward(self, x):
        return F.linear(x, self.weight.t(), self.bias)


class Block(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.ln_1, self.ln_2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.attn = nn.ModuleDict({"c_attn": Conv1D(width, 3 * width), "c_proj": Conv1D(width, width)})
        self.mlp = nn.ModuleDict({"c_fc": Conv1D(width, 4 * width), "c_proj": Conv1D(4 * width, width)})

    def forward(self, x, cache=None, at=0):
        """cache: keys and values of the positions before `at`, [2, N, heads, room, width]; gets those of x."""
        qkv = self.attn.c_attn(self.ln_1(x))
        q, k, v = qkv.view(x.size(0), x.size(1), 3, self.heads, -1).permute(2, 0, 3, 1, 4)
        if cache is not None:
            end = at + x.size(1)
            cache[0, :, :, at:end], cache[1, :, :, at:end] = k, v
            k, v = cache[0, :, :, :end], cache[1, :, :, :end]
        y = F.scaled_dot_product_attention(q, k, v, is_causal=x.size(1) > 1)
        x = x + self.attn.c_proj(y.transpose(1, 2).flatten(2))
        return x + self.mlp.c_proj(F.gelu(self.mlp.c_fc(self.ln_2(x)), approximate="tanh"))


class GPT2(nn.Module):
    def __init__(self, words, length, width, layers, heads):
        super().__init__()
        self.transformer = nn.ModuleDict({
            "wte": nn.Embedding(words, width), "wpe": nn.Embedding(length, width),
            "h": nn.ModuleList(Block(width, heads) for _ in range(layers)), "ln_f": nn.LayerNorm(width)})
        self.lm_head = nn.Linear(width, words, bias=False)
        self.lm_head.weight = self.transformer.wte.weight

    def forward(self, tokens):
        x = self.transformer.wte(tokens) + self.transformer.wpe(torch.arange(tokens.size(1)))
        for block in self.transformer.h:
            x = block(x)
        return self.lm_head(self.transformer.ln_f(x))

    def generate(self, tokens, count):
        """`count` tokens more, each the most probable one."""
        n, block = tokens.size(0), self.transformer.h[0]
        room, width = tokens.size(1) + count, self.lm_head.in_features // block.heads
        cache = torch.empty(len(self.transformer.h), 2, n, block.heads, room, width)
        every, at = [tokens], 0
        for _ in range(count):
            new = every[-1]
            x = self.transformer.wte(new) + self.transformer.wpe(torch.arange(at, at + new.size(1)))
            for block, kept in zip(self.transformer.h, cache):
                x = block(x, kept, at)
            at += new.size(1)
            every.append(self.lm_head(self.transformer.ln_f(x[:, -1:])).argmax(-1))
        return torch.cat(every, 1)


def workloads(tools):
    """By name.  tools: the module that has formula, forward_only and Settings."""
    formula, pick = tools.formula, tools.Settings.pick

    @torch.no_grad()
    def fill_by_name(model):
        model.to(tools.Settings.device)
        # A tied parameter has the first of its names.
        for i, (name, p) in enumerate(sorted(model.named_parameters())):
            wide = p.dim() > 1
            values = formula(100 + i, tuple(p.shape), 1 / math.sqrt(p[0].numel()) if wide else 0.1)
            p.copy_(values + 1 if not wide and name.endswith("weight") else values)
        return model

    def sgd(parameters):
        return torch.optim.SGD(parameters, lr=0.01, momentum=0.9, fused=True)

    def steps(makes, make_optimizer=sgd):
        """makes: a model and the function that gives its loss, by name of the variant."""
        variants, values = {}, []
        for name, make in makes.items():
            model, loss = make()
            fill_by_name(model)
            model.to(memory_format=torch.channels_last if name == "NHWC" else torch.contiguous_format)
            optimizer = make_optimizer(model.parameters())

            def step(model=model, loss=loss, optimizer=optimizer):
                value = loss(model)
                optimizer.zero_grad()
                value.backward()
                optimizer.step()
                return value

            losses = [step().item() for _ in range(3)]
            variants[name], values = step, values or losses
        return variants, values

    device = tools.Settings.device
    on_gpu = device.type != "cpu"  # rows of both kinds of devices have the sizes of papers on a GPU

    def sequence():
        return formula(1, pick((100, 32 if on_gpu else 64, 512), (5, 2, 16)))

    def recurrent_forward(layer):
        x = sequence()
        model = fill_by_name(layer(x.size(2), x.size(2)))
        return tools.forward_only(lambda: model(x)[0])

    def recurrent_step(layer):
        x = sequence()
        return steps({"": lambda: (layer(x.size(2), x.size(2)), lambda model: model(x)[0].square().mean())})

    def resnet():
        n, side = pick(64 if on_gpu else 16, 2), pick(224 if on_gpu else 64, 32)
        labels = (torch.arange(n) * 7 % 10).to(device)

        def make(layout):
            images = formula(1, (n, 3, side, side)).contiguous(memory_format=layout)
            return ResNet18(pick(64, 4), 10), lambda model: F.cross_entropy(model(images), labels)

        return steps({"NCHW": lambda: make(torch.contiguous_format), "NHWC": lambda: make(torch.channels_last)})

    def unet(amp):
        n, side = pick(8, 2), pick(96, 16)
        labels = (torch.arange(n * side * side) * 7 % 3).view(n, side, side)

        def make(layout):
            images = formula(1, (n, 1, side, side)).contiguous(memory_format=layout)

            def loss(model):
                with torch.autocast("cpu", torch.bfloat16, enabled=amp):
                    return F.cross_entropy(model(images), labels)

            return UNet(pick(32, 4), 3), loss

        return steps({"NCHW": lambda: make(torch.contiguous_format), "NHWC": lambda: make(torch.channels_last)},
                     lambda parameters: torch.optim.AdamW(parameters, lr=1e-3, fused=True))

    def gpt(amp):
        n, length, words = pick(8, 2), pick(256, 8), 256
        places = torch.arange(n * length)
        tokens, following = (places.square() * 31 % words).view(n, length), (places + 1).square() * 31 % words
        def loss(model):
            with torch.autocast("cpu", torch.bfloat16, enabled=amp):
                return F.cross_entropy(model(tokens).view(-1, words), following)

        return steps({"": lambda: (GPT2(words, length, *pick((384, 6, 6), (24, 2, 2))), loss)})

    def gpt2():
        """Of Hugging Face's size, 124 million parameters."""
        return GPT2(*pick((50257, 1024, 768, 12, 12), (256, 32, 24, 2, 2)))

    def tokens_of(n, length):
        return (torch.arange(n * length).square() * 31 % pick(50257, 256)).view(n, length)

    def gpt2_train(amp):
        tokens = tokens_of(8 if on_gpu else 4, pick(1024 if on_gpu else 64, 8) + 1).to(device)
        x, following = tokens[:, :-1].contiguous(), tokens[:, 1:].flatten()

        def loss(model):
            with torch.autocast(device.type, torch.bfloat16, enabled=amp):
                return F.cross_entropy(model(x).flatten(0, 1), following)

        return steps({"": lambda: (gpt2(), loss)},
                     lambda parameters: torch.optim.AdamW(parameters, lr=1e-4, fused=True))

    def gpt2_generate():
        model, prompt, count = fill_by_name(gpt2()).eval(), tokens_of(1, pick(16, 4)), pick(64, 16)

        @torch.inference_mode()
        def run():
            return model.generate(prompt, count)

        with torch.no_grad():
            values = tools.digest(model(prompt)) + run().flatten().tolist()
        return {"": run}, values[:len(values) // 9 * 9]

    def int8_linear():
        from torch.ao.quantization import per_channel_dynamic_qconfig, quantize_dynamic
        n = pick(1024, 64)
        x, model = formula(1, (32, n)), nn.Sequential(fill_by_name(nn.Linear(n, n)))
        variants = {}
        for engine in ("x86", "onednn", "fbgemm"):
            if engine not in torch.backends.quantized.supported_engines:
                continue
            torch.backends.quantized.engine = engine
            quantized = quantize_dynamic(model, {nn.Linear: per_channel_dynamic_qconfig})
            variants[engine] = tools.forward_only(lambda quantized=quantized: quantized(x))[0][""]
        # The modules round x to 7 bits; the same operation with all 8 gives the numbers to compare.
        packed = quantized[0]._packed_params._packed_params
        return variants, tools.digest(torch.ops.quantized.linear_dynamic(x, packed, reduce_range=False))

    return {"gpt2_train": lambda: gpt2_train(False), "gpt2_train_bf16": lambda: gpt2_train(True),
            "gpt2_generate_64": gpt2_generate, "int8_linear": int8_linear,
            "lstm_forward": lambda: recurrent_forward(nn.LSTM), "lstm_step": lambda: recurrent_step(nn.LSTM),
            "gru_forward": lambda: recurrent_forward(nn.GRU), "gru_step": lambda: recurrent_step(nn.GRU),
            "resnet18_step": resnet, "unet_step": lambda: unet(False), "unet_step_bf16": lambda: unet(True),
            "gpt_step": lambda: gpt(False), "gpt_step_bf16": lambda: gpt(True)}
