#!/usr/bin/env python3
"""Writes data/bpe/vocab.json, merges.txt and golden.txt of the tests: a small byte-level vocabulary, trained on the text below,
and what Hugging Face's tokenizers makes of some texts with it.  Needs tokenizers.  Run by hand."""
import json
import pathlib

from tokenizers import ByteLevelBPETokenizer

HERE = pathlib.Path(__file__).parent.parent / "data" / "bpe"
TRAINED = """The quick brown fox jumps over the lazy dog. The dog doesn't mind; it's used to foxes, and they'll be back.
In 2019 the model had 1542 million weights, 48 layers and a context of 1024 tokens. We've read it, I'd say we're done.
Tensors have shapes, strides and types; gradients flow backwards through the graph, and the optimizer steps.
Größe über alles: naïve café, Ελληνικά, русский текст, 日本語のテキスト, عربى. x = (a + b) * 3.14 / 2e-5;\n\n    return x;\n"""
TEXTS = ["", " ", "the", " the dog", "The quick brown fox jumps over the lazy dog.", "doesn't they'll we've I'd we're it's I'm",
         "'s 't''re'", "  two  spaces   three ", "tabs\t\tand\nlines\n\n  end \n", "12345 1.5e-7 ½ Ⅷ ²", "x=(a+b)*3;// done!!!",
         "Größe über naïve café", "русский текст и Ελληνικά", "日本語のテキスト", "emoji 😀👍🏽 and \u200b zero \u00a0width\u3000space",
         "a" * 50, "the the the the", "e\u0301 combining", "\u0000\u0001 control", "line\r\nend\r\n", "'tis 'twas 'S", "عربى ٣٤",
         " \n x", "\n\nx", "   x", "!?… —“quoted”", "snake_case CamelCase", "𝔘𝔫𝔦 𝟜𝟚"]


def main():
    HERE.mkdir(exist_ok=True)
    tokenizer = ByteLevelBPETokenizer()
    tokenizer.train_from_iterator([TRAINED] * 3, vocab_size=420, min_frequency=2, special_tokens=["<|endoftext|>"])
    tokenizer.save_model(str(HERE))
    tokenizer = ByteLevelBPETokenizer(str(HERE / "vocab.json"), str(HERE / "merges.txt"))
    with open(HERE / "golden.txt", "w") as out:  # a line of numbers and one of the text's bytes
        for text in TEXTS:
            ids = tokenizer.encode(text).ids
            assert tokenizer.decode(ids) == text, text
            out.write(" ".join(map(str, ids)) + "\n" + text.encode().hex() + "\n")
    print(len(json.load(open(HERE / "vocab.json"))), "tokens,", len(TEXTS), "texts")


if __name__ == "__main__":
    main()
