#!/usr/bin/env python3
"""Writes tests/llm/data: small models of Hugging Face's (transformers 5.24, peft 0.21, gguf 0.19) as folders and a GGUF file,
with what they compute, and tokenizer.json files with what tokenizers 0.23 makes of texts.  Run by hand.

make_llm.py --smollm2 FILE: instead of that tests/golden/smollm2.safetensors, with what SmolLM2-135M-Instruct writes."""
import json
import pathlib
import random
import shutil
import sys

import gguf
import numpy as np
import torch
from peft import LoraConfig, get_peft_model
from safetensors.torch import save_file
from tokenizers import Tokenizer
from transformers import AutoModelForCausalLM, AutoTokenizer, LlamaConfig, LlamaForCausalLM, Qwen2Config, Qwen2ForCausalLM

HERE = pathlib.Path(__file__).parent.parent
DATA = HERE / "llm" / "data"
SIZES = dict(vocab_size=60, hidden_size=32, intermediate_size=64, num_hidden_layers=2, num_attention_heads=4,
             num_key_value_heads=2, max_position_embeddings=64)
LLAMA3 = dict(rope_type="llama3", rope_theta=10000.0, factor=4.0, low_freq_factor=1.0, high_freq_factor=4.0,
              original_max_position_embeddings=32)


def results(net, golden, name):
    ids = torch.randint(0, 60, (2, 9), generator=torch.Generator().manual_seed(1))
    out = net(ids, labels=ids)
    out.loss.backward()
    golden |= {"ids": ids, f"{name}/logits": out.logits.detach().contiguous(), f"{name}/loss": out.loss.detach()}
    for key, parameter in net.named_parameters():
        if parameter.grad is not None and (".1." in key or "embed" in key) and ("k_proj" in key or "embed" in key or "down" in key):
            golden[f"{name}/grad/{key.replace('.default', '')}"] = parameter.grad.clone()
            parameter.grad = None


def model(cls, config, name, golden):
    torch.manual_seed(0)
    net = cls(config)
    with torch.no_grad():
        for parameter in net.parameters():  # larger than initial ones, and biases that are not 0; bfloat16 holds them
            parameter.copy_((parameter + torch.randn_like(parameter) * 0.15).bfloat16().float())
    net.bfloat16().save_pretrained(DATA / name, max_shard_size="25KB")
    net = cls.from_pretrained(DATA / name, dtype=torch.float32)  # whose tables were not rounded
    (DATA / name / "generation_config.json").unlink(missing_ok=True)
    results(net, golden, name)
    return net


def write_gguf(net, golden):
    """With llama.cpp's names and order of rows, and a type for each kind of tensor."""
    names = {"model.embed_tokens": "token_embd", "model.norm": "output_norm", "self_attn.q_proj": "attn_q",
             "self_attn.k_proj": "attn_k", "self_attn.v_proj": "attn_v", "self_attn.o_proj": "attn_output",
             "mlp.gate_proj": "ffn_gate", "mlp.up_proj": "ffn_up", "mlp.down_proj": "ffn_down",
             "input_layernorm": "attn_norm", "post_attention_layernorm": "ffn_norm", "model.layers": "blk"}
    T = gguf.GGMLQuantizationType
    types = {"token_embd": T.Q8_0, "attn_q": T.Q4_0, "attn_k": T.Q4_1, "attn_v": T.F16, "ffn_gate": T.BF16, "ffn_up": T.Q8_0,
             "ffn_down": T.Q4_1}
    writer = gguf.GGUFWriter(DATA / "llama.gguf", "llama")
    c = net.config
    writer.add_block_count(c.num_hidden_layers)
    writer.add_context_length(c.max_position_embeddings)
    writer.add_embedding_length(c.hidden_size)
    writer.add_feed_forward_length(c.intermediate_size)
    writer.add_head_count(c.num_attention_heads)
    writer.add_head_count_kv(c.num_key_value_heads)
    writer.add_layer_norm_rms_eps(c.rms_norm_eps)
    writer.add_rope_freq_base(500.0)
    writer.add_rope_dimension_count(8)
    writer.add_bool("test.flag", True)
    writer.add_token_list(["a", "b", "\u00e9"])
    for key, value in net.state_dict().items():
        if key == "lm_head.weight":
            continue
        name = key
        for old, new in names.items():
            name = name.replace(old, new)
        w = value.numpy()
        heads = {"attn_q": c.num_attention_heads, "attn_k": c.num_key_value_heads}.get(name.split(".")[-2])
        if heads:  # as convert_hf_to_gguf.py
            w = w.reshape(heads, 2, w.shape[0] // heads // 2, *w.shape[1:]).swapaxes(1, 2).reshape(w.shape)
        kind = types.get(name.split(".")[-2], T.F32)
        if kind == T.F32:
            writer.add_tensor(name, np.ascontiguousarray(w))
            kept = w
        else:
            packed = gguf.quants.quantize(np.ascontiguousarray(w), kind)
            writer.add_tensor(name, packed, raw_dtype=kind)
            kept = gguf.quants.dequantize(packed, kind)
        if heads:
            kept = kept.reshape(heads, w.shape[0] // heads // 2, 2, *w.shape[1:]).swapaxes(1, 2).reshape(w.shape)
        golden["gguf/" + key] = torch.from_numpy(np.ascontiguousarray(kept)).clone()
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def write_adapter(net, golden):
    torch.manual_seed(2)
    tuned = get_peft_model(net, LoraConfig(r=2, lora_alpha=6, target_modules=["q_proj", "down_proj"], task_type="CAUSAL_LM"))
    for key, parameter in tuned.named_parameters():
        if "lora_B" in key:
            torch.nn.init.normal_(parameter, std=0.3)
    tuned.save_pretrained(DATA / "adapter")
    (DATA / "adapter" / "README.md").unlink(missing_ok=True)
    results(tuned, golden, "adapter")


LLAMA3_PATTERN = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
TEXTS = ["", " ", "The quick brown fox", "doesn't they'LL we've I'D 'S '\u017f 'sx ''s", "  two  spaces   three ",
         "tabs\t\tand\nlines\n\n  end \n", "12345 1.5e-7 \u00bd\u2167 \u00b2 7", "x=(a+b)*3;// done!!!\n\n", "\r\n \r\n\tx",
         "Gr\u00f6\u00dfe e\u0301 \u212b", "\u0440\u0443\u0441\u0441\u043a\u0438\u0439 \u30c6\u30ad\u30b9\u30c8", "\U0001f600\U0001f44d\U0001f3fd",
         "<|im_start|>user\nhi<|im_end|>\n", "<|im_start <|im_end|>|>", "a \u00a0\u3000b\u2028c", "don\u2019t", " 7 8  9", "!?\u2026 \u2014\n\n\nx",
         "_a _\n.b\u200bc", "The the\u0301 \u0e01\u0e33", " \n x", "   x", "#include <x>\n"]


def write_tokenizers():
    vocab = json.loads((HERE / "data/bpe/vocab.json").read_text())
    merges = [line for line in (HERE / "data/bpe/merges.txt").read_text().split("\n")[1:] if line]
    byte_level = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True}

    def split(pattern):
        return {"type": "Sequence", "pretokenizers": [{"type": "Split", "pattern": {"Regex": pattern}, "behavior": "Isolated",
                                                       "invert": False}, dict(byte_level, use_regex=False)]}

    pre = {"gpt2": byte_level, "llama3": split(LLAMA3_PATTERN), "qwen2": split(LLAMA3_PATTERN.replace("{1,3}", "")),
           "smollm": {"type": "Sequence", "pretokenizers": [{"type": "Digits", "individual_digits": True}, byte_level]}}
    texts = list(TEXTS)
    rng = random.Random(3)
    for _ in range(60):
        texts.append("".join(rng.choice([" ", "\n", "'s", "7", "The", "\u00e9", "!", "\t", "\r", "x", "<|im_end|>", "\u00a0", "fox"])
                             for _ in range(12)))
    for name, part in pre.items():
        added = [{"id": 420 + i, "content": text, "single_word": False, "lstrip": False, "rstrip": False, "normalized": False,
                  "special": True} for i, text in enumerate(["<|im_start|>", "<|im_end|>", "<|im"])]
        first = {"type": "TemplateProcessing", "single": [{"SpecialToken": {"id": "<|im", "type_id": 0}},
                                                          {"Sequence": {"id": "A", "type_id": 0}}],
                 "pair": [], "special_tokens": {"<|im": {"id": "<|im", "ids": [422], "tokens": ["<|im"]}}}
        value = {"version": "1.0", "truncation": None, "padding": None, "added_tokens": added,
                 "normalizer": {"type": "NFC"} if name == "qwen2" else None, "pre_tokenizer": part,
                 "post_processor": first if name == "llama3" else None, "decoder": byte_level,
                 "model": {"type": "BPE", "dropout": None, "unk_token": None, "continuing_subword_prefix": "",
                           "end_of_word_suffix": "", "fuse_unk": False, "byte_fallback": False,
                           "ignore_merges": name == "llama3", "vocab": vocab, "merges": merges}}
        path = DATA / f"{name}.json"
        path.write_text(json.dumps(value, separators=(",", ":")))
        tokenizer = Tokenizer.from_file(str(path))
        with open(DATA / f"{name}.txt", "w") as out:  # a line of numbers and one of the text's bytes
            for text in texts:
                ids = tokenizer.encode(text, add_special_tokens=False).ids
                out.write(" ".join(map(str, ids)) + "\n" + text.encode().hex() + "\n")


QUESTIONS = ["What is a minnow?", "Write a haiku about rivers.", "What is 17 + 25?", "Sort: pear, apple, fig", "\u00bfQu\u00e9 es el sol?"]
PASSAGE = """The Nile flows north. Its two sources, the White Nile and the Blue Nile, meet in Khartoum, and from there the river
crosses the desert for 2,700 km to the sea. In 1902 a dam was built at Aswan; a second, larger one followed in 1970. def f(x):
    return [x ** 2 for x in range(10) if x % 2 == 0]  # squares of even numbers
La rivi\u00e8re est longue, und der Strom flie\u00dft langsam."""


def smollm2(path):
    """Texts as bytes, their tokens, greedy answers, some logits behind each prompt, and the mean loss of a passage."""
    folder, name = str(path.parent), path.name
    tokenizer = AutoTokenizer.from_pretrained(folder, gguf_file=name)
    net = AutoModelForCausalLM.from_pretrained(folder, gguf_file=name, dtype=torch.float32).eval()
    golden = {}
    with torch.inference_mode():
        for i, question in enumerate(QUESTIONS):
            ids = tokenizer.apply_chat_template([{"role": "user", "content": question}], add_generation_prompt=True,
                                                return_dict=False)
            ids = torch.tensor([ids])
            out = net.generate(ids, max_new_tokens=24, do_sample=False, eos_token_id=-1, pad_token_id=0)
            golden |= {f"{i}/text": torch.tensor(list(question.encode()), dtype=torch.uint8), f"{i}/tokens": ids[0],
                       f"{i}/greedy": out[0, ids.shape[1]:].clone(), f"{i}/logits": net(ids).logits[0, -1, ::64].clone()}
        ids = torch.tensor([tokenizer.encode(PASSAGE, add_special_tokens=False)])
        golden |= {"passage/text": torch.tensor(list(PASSAGE.encode()), dtype=torch.uint8), "passage/tokens": ids[0],
                   "passage/loss": net(ids, labels=ids).loss}
    save_file(golden, HERE / "golden" / "smollm2.safetensors")


def main():
    if sys.argv[1:2] == ["--smollm2"]:
        return smollm2(pathlib.Path(sys.argv[2]))
    shutil.rmtree(DATA, ignore_errors=True)
    DATA.mkdir()
    golden = {}
    model(Qwen2ForCausalLM, Qwen2Config(**SIZES, tie_word_embeddings=False, rope_parameters={"rope_type": "default", "rope_theta": 1000.0}),
          "qwen2", golden)
    net = model(LlamaForCausalLM, LlamaConfig(**SIZES, tie_word_embeddings=True, rope_parameters=LLAMA3), "llama", golden)
    write_gguf(net, golden)
    write_adapter(net, golden)
    save_file(golden, DATA / "golden.safetensors")
    write_tokenizers()
    print(sum(f.stat().st_size for f in DATA.rglob("*") if f.is_file()), "bytes")


if __name__ == "__main__":
    main()
