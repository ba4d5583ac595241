"""Writes corpus/NAME/*, the files that fuzz_NAME starts from: small, and together of every kind that a reader accepts."""

import gzip
import io
import json
import os
import struct
import zipfile
import zlib

HERE = os.path.dirname(os.path.abspath(__file__))
SIZES = {"BOOL": 1, "U8": 1, "I8": 1, "I16": 2, "F16": 2, "BF16": 2, "I32": 4, "F32": 4, "F64": 8, "I64": 8}


def put(target, name, data):
    folder = os.path.join(HERE, "corpus", target)
    os.makedirs(folder, exist_ok=True)
    with open(os.path.join(folder, name), "wb") as file:
        file.write(data)


def counting(n):
    return bytes(i % 251 for i in range(1, n + 1))


def safetensors(entries, metadata=None, pad=True):
    header, at = ({"__metadata__": metadata} if metadata is not None else {}), 0
    for name, dtype, shape in entries:
        size = SIZES[dtype]
        for n in shape:
            size *= n
        header[name] = {"dtype": dtype, "shape": shape, "data_offsets": [at, at + size]}
        at += size
    text = json.dumps(header, separators=(",", ":"), ensure_ascii=False).encode()
    text += b" " * (-len(text) % 8 if pad else 0)
    return struct.pack("<Q", len(text)) + text + counting(at)


def make_safetensors():
    put("safetensors", "empty", safetensors([]))
    put("safetensors", "dtypes", safetensors([(d.lower(), d, [2]) for d in SIZES], {"format": "pt"}))
    put("safetensors", "shapes", safetensors([("s", "F32", []), ("z", "I64", [0, 3]), ("m", "U8", [1, 2, 3, 1])]))
    put("safetensors", "names", safetensors([("", "U8", [1]), ('"\\\n\u00e9\U0001f600', "BOOL", [2])], {"a": "b"}, False))
    put("safetensors", "extra", struct.pack("<Q", 86) +
        b'{"a":{"x":[1,{"y":null},-2.5e3,true],"dtype":"U8","shape":[1],"data_offsets":[0,1]}}  \1')


def npy(descr, shape, data, order=False, version=1):
    text = ("{'descr': '%s', 'fortran_order': %s, 'shape': %s, }" % (descr, order, shape)).encode()
    head = 10 if version == 1 else 12
    text += b" " * (-(head + 1 + len(text)) % 64) + b"\n"
    return b"\x93NUMPY" + bytes([version, 0]) + struct.pack("<H" if version == 1 else "<I", len(text)) + text + data


def make_npy():
    for descr in ("<f4", ">f8", "<f2", "|b1", "|u1", "|i1", ">i2", "<i4", "<i8"):
        put("npy", descr[1:] + ("b" if descr[0] == ">" else ""), npy(descr, "(2,)", counting(2 * int(descr[2:]))))
    put("npy", "fortran", npy("|u1", "(2, 3)", counting(6), True))
    put("npy", "number", npy("<f4", "()", counting(4)))
    put("npy", "empty", npy("<f4", "(0, 7)", b""))
    put("npy", "long", npy("|u1", "(1L, 1, 2)", counting(2), False, 2))
    put("npy", "utf8", npy("|u1", "(2,)", counting(2), False, 3))


def make_npz():
    def archive(method, names, zip64=False):
        out = io.BytesIO()
        with zipfile.ZipFile(out, "w", method) as file:
            for i, name in enumerate(names):
                with file.open(zipfile.ZipInfo(name), "w", force_zip64=zip64) as member:
                    member.write(npy("|u1", "(%d,)" % (i + 1), counting(i + 1)))
        return out.getvalue()

    put("npz", "empty", archive(zipfile.ZIP_STORED, []))
    put("npz", "stored", archive(zipfile.ZIP_STORED, ["a.npy", "b/c.npy"]))
    put("npz", "zip64", archive(zipfile.ZIP_STORED, ["a.npy"], True))
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as file:
        file.writestr(zipfile.ZipInfo("a.npy"), npy("<f4", "(3,)", counting(12)), zipfile.ZIP_DEFLATED)
        file.comment = b"made by hand"
    put("npz", "deflated", out.getvalue())


def idx(kind, sizes, data):
    return bytes([0, 0, kind, len(sizes)]) + b"".join(struct.pack(">I", n) for n in sizes) + data


def make_idx():
    for kind, size in ((8, 1), (9, 1), (11, 2), (12, 4), (13, 4), (14, 8)):
        put("idx", "type%d" % kind, idx(kind, [3], counting(3 * size)))
    put("idx", "images", idx(8, [2, 3, 4], counting(24)))
    put("idx", "none", idx(8, [0, 28, 28], b""))
    put("idx", "packed", gzip.compress(idx(8, [40], bytes(40)), mtime=0))
    named = io.BytesIO()
    with gzip.GzipFile("name", "wb", fileobj=named, mtime=0) as file:
        file.write(idx(13, [2], counting(8)))
    put("idx", "named", named.getvalue())


def make_csv():
    put("csv", "numbers", b"a,b\n1,2.5\n-3,1e-3\n9223372036854775807,inf\n")
    put("csv", "texts", b'name,"a ""b"""\nx,"1,2"\n"y\nz",\nNA,q\n')
    put("csv", "crlf", b"\xef\xbb\xbfa,b\r\n\r\n 1 ,x\r\n,nan\r\n")
    put("csv", "digits", b"a\n12345678901234567890\n0.1234567890123456789\n1e400\n1e-400\n.5\n5.\n+7\n")
    put("csv", "one", b"a")
    put("csv", "packed", gzip.compress(b"a,b\n1,2\n3,4\n", mtime=0))


def chunk(kind, data):
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def png(depth, colour, rows, width, height, interlace=0, more=b""):
    head = struct.pack(">II", width, height) + bytes([depth, colour, 0, 0, interlace])
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + more + chunk(b"IDAT", zlib.compress(rows, 9)) + chunk(b"IEND", b"")


def make_image():
    palette = chunk(b"PLTE", counting(12))
    put("image", "grey.png", png(8, 0, b"\0\1\2\1\3\4", 2, 2))
    put("image", "bits.png", png(1, 0, b"\0\xa5\x80", 9, 1, 0, chunk(b"tRNS", b"\0\1")))
    put("image", "rgb16.png", png(16, 2, b"\0" + counting(12), 2, 1))
    put("image", "rgba.png", png(8, 6, b"\2" + counting(8), 2, 1, 0, chunk(b"tEXt", b"a\0b")))
    put("image", "grey_alpha.png", png(8, 4, b"\4" + counting(4), 2, 1))
    put("image", "palette.png", png(2, 3, b"\0\x1b", 4, 1, 0, palette + chunk(b"tRNS", b"\7\x80")))
    put("image", "interlaced.png", png(8, 0, b"\0\1\0\2\0\3\4", 2, 2, 1))
    with open(os.path.join(HERE, "../golden/images.safetensors"), "rb") as file:
        golden = file.read()
    size = struct.unpack("<Q", golden[:8])[0]
    for name, entry in json.loads(golden[8:8 + size]).items():
        if "jpeg" in name and name.endswith("/file"):
            begin, end = entry["data_offsets"]
            if end - begin < 8000:
                put("image", name.replace("/file", "").replace("/", "_") + ".jpg", golden[8 + size + begin:8 + size + end])


def make_bpe():
    printed = [b for b in range(256) if 0x21 <= b <= 0x7e or 0xa1 <= b <= 0xac or b >= 0xae]
    codes = {b: b for b in printed}
    codes.update({b: 256 + i for i, b in enumerate(b for b in range(256) if b not in codes)})
    vocabulary = {chr(codes[b]): b for b in range(256)}
    vocabulary["ab"] = 256
    put("bpe", "vocabulary", b"v" + json.dumps(vocabulary, separators=(",", ":"), ensure_ascii=False).encode())
    put("bpe", "escaped", b"v" + json.dumps(vocabulary).encode())
    put("bpe", "merges", b"m#version: 0.2\na b\nab c\n")
    put("bpe", "crlf", b"ma b\r\n\r\nb c")


def gguf(values, tensors, alignment=32):
    """values: (key, type, bytes); tensors: (name, sizes, type, bytes)."""
    text = lambda t: struct.pack("<Q", len(t)) + t
    out = b"GGUF" + struct.pack("<IQQ", 3, len(tensors), len(values))
    for key, kind, data in values:
        out += text(key) + struct.pack("<I", kind) + data
    at, body = 0, b""
    for name, sizes, kind, data in tensors:
        out += text(name) + struct.pack("<I%dQIQ" % len(sizes), len(sizes), *sizes, kind, at)
        body += data + b"\0" * (-len(data) % alignment)
        at = len(body)
    return out + b"\0" * (-len(out) % alignment) + body


def make_gguf():
    u32, f32 = (lambda n: struct.pack("<I", n)), (lambda x: struct.pack("<f", x))
    text = lambda t: struct.pack("<Q", len(t)) + t
    llama = [(b"general.architecture", 8, text(b"llama")), (b"llama.block_count", 4, u32(1)),
             (b"llama.context_length", 4, u32(8)), (b"llama.embedding_length", 4, u32(4)),
             (b"llama.feed_forward_length", 4, u32(4)), (b"llama.attention.head_count", 4, u32(2)),
             (b"llama.attention.layer_norm_rms_epsilon", 6, f32(1e-5)), (b"llama.rope.freq_base", 6, f32(100))]
    every = [(b"a", 0, b"\1"), (b"b", 1, b"\xff"), (b"c", 2, b"\1\0"), (b"d", 3, b"\1\0"), (b"e", 5, u32(1)), (b"f", 7, b"\1"),
             (b"g", 10, struct.pack("<Q", 1)), (b"h", 11, struct.pack("<q", -1)), (b"i", 12, struct.pack("<d", 1.5)),
             (b"j", 9, u32(8) + struct.pack("<Q", 2) + text(b"x") + text(b"")),
             (b"k", 9, u32(6) + struct.pack("<Q", 1) + f32(1)), (b"l", 9, u32(5) + struct.pack("<Q", 1) + u32(7))]
    put("gguf", "llama", gguf(llama, [(b"token_embd.weight", [4, 2], 0, counting(32)),
                                      (b"rope_freqs.weight", [1], 0, f32(1))]))
    put("gguf", "types", gguf(every, [(b"t%d" % kind, [32], kind, counting(size))
                                      for kind, size in ((0, 128), (1, 64), (2, 18), (3, 20), (8, 34), (30, 64))]))
    put("gguf", "aligned", gguf([(b"general.alignment", 4, u32(64))], [(b"x", [1, 2, 1], 0, counting(8))], 64))


def make_llm_config():
    with open(os.path.join(HERE, "../llm/data/llama/config.json"), "rb") as file:
        put("llm_config", "llama", b"c" + file.read())
    put("llm_config", "qwen2", b'c{"model_type":"qwen2","vocab_size":8,"hidden_size":8,"intermediate_size":4,"num_hidden_layers":1,'
        b'"num_attention_heads":2,"num_key_value_heads":null,"rope_scaling":null,"eos_token_id":[1,2],"tie_word_embeddings":true}')
    with open(os.path.join(HERE, "../llm/data/adapter/adapter_config.json"), "rb") as file:
        put("llm_config", "adapter", b"a" + file.read())


def make_tokenizer():
    put("tokenizer", "texts", "tab abc's 12\u00bd3  <|x|>\r\n \u00e9\n'LL'\u017f".encode())
    put("tokenizer", "chats", b'c{"messages":[{"role":"user","content":"a"}],"n":[1]}\n\n{"messages":[{"role":"x","content":""}]}\n')
    bytes_ = {'"pre_tokenizer"': '{"type":"ByteLevel","add_prefix_space":false,"use_regex":true}',
              '"normalizer"': '{"type":"NFC"}', '"post_processor"': "null",
              '"added_tokens"': '[{"id":3,"content":"<x>","lstrip":false,"special":true}]',
              '"model"': '{"type":"BPE","unk_token":"a","vocab":{"a":0,"b":1,"ab":2},"merges":["a b"]}'}
    put("tokenizer", "json", b"j" + ("{" + ",".join(k + ":" + v for k, v in bytes_.items()) + "}").encode())
    digits = '{"type":"Sequence","pretokenizers":[{"type":"Digits","individual_digits":true},{"type":"ByteLevel"}]}'
    put("tokenizer", "digits", b"j" + ('{"pre_tokenizer":' + digits + ',"model":{"vocab":{"a":0},"merges":[["a","a"]]}}').encode())


def make_torch():
    with open(os.path.join(HERE, "../golden/torch_files.safetensors"), "rb") as file:
        golden = file.read()
    size = struct.unpack("<Q", golden[:8])[0]
    for name, entry in json.loads(golden[8:8 + size]).items():
        if name.startswith("good/") and name.endswith("/file"):
            begin, end = entry["data_offsets"]
            if end - begin < 3000:
                put("torch", name[5:-5], golden[8 + size + begin:8 + size + end])


def make_cifar():
    put("cifar", "one", b"\7" + bytes(3072))
    put("cifar", "two", (b"\0" + bytes(3072)) * 2)


def record(data):
    def masked(data):
        crc = 0xffffffff
        for byte in data:
            crc ^= byte
            for _ in range(8):
                crc = crc >> 1 ^ (0x82f63b78 if crc & 1 else 0)
        crc ^= 0xffffffff
        return struct.pack("<I", ((crc >> 15 | crc << 17 & 0xffffffff) + 0xa282ead8) & 0xffffffff)

    length = struct.pack("<Q", len(data))
    return length + masked(length) + data + masked(data)


def make_tensorboard():
    begin = b"\x09" + struct.pack("<d", 1.5) + b"\x1a\x0dbrain.Event:2"
    value = b"\x0a\x01a\x15" + struct.pack("<f", 0.25)
    event = b"\x09" + struct.pack("<d", 2.5) + b"\x10\x07\x2a" + bytes([len(value) + 2]) + b"\x0a" + bytes([len(value)]) + value
    put("tensorboard", "file", record(begin) + record(event) * 2)
    put("tensorboard", "event", b"e" + event)
    put("tensorboard", "graph", b"e" + begin[:9] + b"\x22\x02\x0a\x00")


def field(number, value):
    if isinstance(value, int):
        data, value = b"", value % 2**64
        while value > 127:
            data, value = data + bytes([value & 127 | 128]), value >> 7
        return bytes([number << 3]) + data + bytes([value])
    value = value.encode() if isinstance(value, str) else value
    return bytes([number << 3 | 2]) + bytes([len(value)]) + value  # of less than 128 bytes


def onnx_model(*graph):
    return field(1, 8) + b"\x3a" + bytes([len(b"".join(graph)) & 127 | 128, len(b"".join(graph)) >> 7]) + b"".join(graph) + \
        field(8, field(2, 18))


def make_onnx():
    def node(op, inputs, output, *attributes):
        return field(1, b"".join(field(1, i) for i in inputs) + field(2, output) + field(4, op) + b"".join(attributes))

    ports = field(11, field(1, "x")), field(12, field(1, "y"))
    raw = field(1, 2) + field(1, 2) + field(2, 1) + field(8, "fc.weight") + field(9, counting(16))
    floats = field(1, 2) + field(2, 1) + field(4, counting(8)) + field(8, "fc.bias")
    integers = field(1, 2) + field(2, 7) + field(7, b"\x02\x03") + field(8, "shape")
    external = field(1, 1) + field(2, 1) + field(8, "far") + field(13, field(1, "location") + field(2, "file")) + field(14, 1)
    turned = field(5, field(1, "transB") + field(3, 1) + field(20, 2))
    listed = field(5, field(1, "perm") + field(8, b"\x01\x00") + field(20, 7))
    text = field(5, field(1, "approximate") + field(4, "tanh") + field(20, 3))
    value = field(5, field(1, "value") + field(5, floats) + field(20, 4))
    put("onnx", "gemm", onnx_model(*ports, field(5, raw), field(5, floats), node("Gemm", ["x", "fc.weight", "fc.bias"], "y", turned)))
    put("onnx", "reshape", onnx_model(*ports, field(5, integers), node("Reshape", ["x", "shape"], "a"), node("Transpose", ["a"], "y", listed)))
    put("onnx", "constant", onnx_model(*ports, node("Constant", [], "c", value), node("Gelu", ["x"], "g", text), node("Add", ["c", "g"], "y")))
    put("onnx", "external", onnx_model(*ports, field(5, external), node("Add", ["x", "far"], "y")))


for make in (make_safetensors, make_npy, make_npz, make_idx, make_csv, make_image, make_bpe, make_gguf, make_llm_config,
             make_tokenizer, make_cifar, make_torch, make_tensorboard, make_onnx):
    make()
