"""module_test.py MODULE MODELS TOKENS: the Python module in the folder MODULE, with the models of tests/capi and the tokens of tests/llm.

Without NumPy it is skipped, with status 77; what needs PyTorch is left out without it."""

import gc
import json
import os
import pathlib
import shutil
import sys
import tempfile
import unittest
import weakref

sys.path.insert(0, sys.argv[1])
MODELS, TOKENS = sys.argv[2:4]

try:
    import numpy as np
except ImportError:
    print("skipped: numpy is missing; pip install numpy")
    sys.exit(77)
try:
    import torch
except ImportError:
    torch = None
    print("without torch: what is about PyTorch is left out")

import minnow

X = [[1, 1], [2, 0], [0, -1]]
Y = [[3.5, 6.5], [2.5, 5.5], [-1.5, -4.5]]


def model(name="affine"):
    return minnow.load(pathlib.Path(MODELS, name + ".onnx"))


class Arrays(unittest.TestCase):
    def test_memory_is_shared_both_ways(self):
        x = np.array(X, np.float32)
        t = minnow.tensor(x)
        self.assertEqual((t.shape, t.dtype, t.device, len(t)), ((3, 2), "float32", "cpu", 3))
        x[0, 0] = 7
        back = np.from_dlpack(t)
        self.assertEqual(back[0, 0], 7)
        self.assertEqual(back.ctypes.data, x.ctypes.data)
        self.assertEqual(t.numpy().ctypes.data, x.ctypes.data)
        transposed = minnow.tensor(x.T)
        self.assertEqual(transposed.shape, (2, 3))
        np.testing.assert_array_equal(transposed.numpy(), x.T)

    def test_memory_lives_as_long_as_it_is_used(self):
        class Array(np.ndarray):
            pass

        x = np.arange(6, dtype=np.float32).view(Array)
        ended = weakref.ref(x)
        t = minnow.tensor(x)
        y = t.numpy()
        del x, t
        gc.collect()
        self.assertIsNotNone(ended())
        np.testing.assert_array_equal(y, np.arange(6))
        del y
        gc.collect()
        self.assertIsNone(ended())

    def test_what_cannot_be_shared(self):
        with self.assertRaisesRegex(TypeError, "__dlpack__"):
            minnow.tensor([1, 2])
        with self.assertRaisesRegex(TypeError, "dtype"):
            minnow.tensor(np.array([1j]))
        with self.assertRaisesRegex(ValueError, "strides"):
            minnow.tensor(np.arange(3.0)[::-1])
        frozen = np.arange(3.0)
        frozen.flags.writeable = False
        np.testing.assert_array_equal(minnow.tensor(frozen).numpy(), frozen)


class Stub(unittest.TestCase):
    def test_it_has_the_types_of_all_names(self):
        folder = pathlib.Path(minnow.__file__).parent
        self.assertTrue((folder / "py.typed").exists())
        stub = (folder / "_minnow.pyi").read_text(encoding="utf-8")
        for name in minnow.__all__:
            self.assertRegex(stub, rf"(class|def) {name}\b")
        self.assertIn("def load(path: str | os.PathLike[str]) -> Model", stub)


class Models(unittest.TestCase):
    def test_numpy(self):
        y = model()(np.array(X, np.float32))
        self.assertIs(type(y), np.ndarray)
        np.testing.assert_array_equal(y, Y)

    @unittest.skipIf(torch is None, "needs PyTorch")
    def test_torch(self):
        x = torch.tensor(X, dtype=torch.float32)
        y = model()(x)
        self.assertIs(type(y), torch.Tensor)
        self.assertEqual(y.tolist(), Y)
        self.assertEqual(torch.from_dlpack(minnow.tensor(x)).data_ptr(), x.data_ptr())
        net = model()
        weight = torch.from_dlpack(net.state_dict()["weight"])
        weight.zero_()
        self.assertEqual(net(x).tolist(), [[0.5, -0.5]] * 3)

    def test_several_inputs_and_outputs(self):
        net = model("two")
        self.assertEqual((net.input_names, net.output_names), (["a", "b"], ["sum", "difference"]))
        a, b = np.ones((2, 3), np.float32), np.full((2, 3), 5, np.float32)
        total, difference = net(a, b)
        np.testing.assert_array_equal(total, a + b)
        np.testing.assert_array_equal(difference, a - b)

    def test_tensors_are_recorded_and_arrays_are_not(self):
        net = model()
        x = minnow.tensor(np.array(X[:1], np.float32))
        y = net(x)
        self.assertTrue(y.requires_grad)
        with self.assertRaisesRegex(RuntimeError, "detach"):
            y.numpy()
        np.testing.assert_array_equal(y.detach().numpy(), Y[:1])
        self.assertEqual([p.shape for p in net.parameters()], [(2, 2), (2,)])
        self.assertIsNone(net.parameters()[0].grad)

    def test_weights_are_saved_and_loaded(self):
        net, other = model("net"), model("net")
        x = np.array(X, np.float32)
        before = net(x)
        for values in net.state_dict().values():
            values.numpy()[...] *= 2
        self.assertFalse(np.allclose(net(x), before))
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "net.safetensors")
            net.save(pathlib.Path(path))
            other.load_weights(pathlib.Path(path))
        np.testing.assert_array_equal(other(x), net(x))

    def test_devices(self):
        net = model()
        net.to("sim:0")
        y = net(minnow.tensor(np.array(X, np.float32)).to("sim:0"))
        self.assertEqual(y.device, "sim:0")
        with self.assertRaisesRegex(RuntimeError, "simulated device"):
            y.__dlpack_device__()
        with self.assertRaisesRegex(RuntimeError, "other libraries cannot read sim:0"):
            np.from_dlpack(y.detach())
        np.testing.assert_array_equal(y.detach().numpy(), Y)

    def test_errors_name_the_line_of_python(self):
        line = sys._getframe().f_lineno + 2
        with self.assertRaisesRegex(ValueError, rf"ShapeError: linear.*module_test.py:{line}\)"):
            model()(np.zeros((1, 3), np.float32))
        with self.assertRaisesRegex(OSError, "gone.onnx"):
            minnow.load("gone.onnx")
        with self.assertRaisesRegex(TypeError, "PathLike"):
            minnow.load(3)
        with self.assertRaisesRegex(ValueError, "1 inputs|inputs are given"):
            model()()


def write_language_model(folder):
    """A Llama as Hugging Face stores it, with random weights and SmolLM's kind of tokens."""
    shutil.copy(os.path.join(TOKENS, "smollm.json"), os.path.join(folder, "tokenizer.json"))
    with open(os.path.join(folder, "tokenizer.json"), encoding="utf-8") as file:
        tokens = json.load(file)
    vocabulary = 1 + max([token["id"] for token in tokens["added_tokens"]] + list(tokens["model"]["vocab"].values()))
    with open(os.path.join(folder, "config.json"), "w", encoding="utf-8") as file:
        json.dump({"model_type": "llama", "vocab_size": vocabulary, "hidden_size": 16, "intermediate_size": 32,
                   "num_hidden_layers": 1, "num_attention_heads": 2, "num_key_value_heads": 1, "head_dim": 8,
                   "max_position_embeddings": 64, "rms_norm_eps": 1e-6, "rope_theta": 10000.0, "hidden_act": "silu",
                   "tie_word_embeddings": True, "eos_token_id": vocabulary - 1}, file)
    layer = "model.layers.0."
    shapes = {"model.embed_tokens.weight": (vocabulary, 16), "model.norm.weight": (16,),
              layer + "input_layernorm.weight": (16,), layer + "post_attention_layernorm.weight": (16,),
              layer + "self_attn.q_proj.weight": (16, 16), layer + "self_attn.k_proj.weight": (8, 16),
              layer + "self_attn.v_proj.weight": (8, 16), layer + "self_attn.o_proj.weight": (16, 16),
              layer + "mlp.gate_proj.weight": (32, 16), layer + "mlp.up_proj.weight": (32, 16),
              layer + "mlp.down_proj.weight": (16, 32)}
    random = np.random.default_rng(0)
    header, data = {}, b""
    for name, shape in shapes.items():
        values = random.standard_normal(shape).astype(np.float32).tobytes()
        header[name] = {"dtype": "F32", "shape": shape, "data_offsets": [len(data), len(data) + len(values)]}
        data += values
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with open(os.path.join(folder, "model.safetensors"), "wb") as file:
        file.write(len(text).to_bytes(8, "little") + text + data)


class LanguageModels(unittest.TestCase):
    def setUp(self):
        with tempfile.TemporaryDirectory() as folder:
            write_language_model(folder)
            self.net = minnow.LanguageModel(folder)

    def test_generate(self):
        net = self.net
        parts = []
        text = net.generate("The fish", max_tokens=8, on_text=parts.append)
        self.assertEqual(text, net.generate("The fish", max_tokens=8))
        self.assertTrue(text.startswith("".join(parts)))
        self.assertLessEqual(len(parts), 8)
        drawn = [net.generate("The fish", max_tokens=8, temperature=5.0, seed=seed) for seed in (1, 1, 2)]
        self.assertEqual(drawn[0], drawn[1])
        self.assertNotEqual(drawn[0], drawn[2])

    def test_errors(self):
        net = self.net
        with self.assertRaisesRegex(ValueError, "max_tokens is 0"):
            net.generate("a", max_tokens=0)
        with self.assertRaisesRegex(ValueError, "temperature"):
            net.generate("a", temperature=-1.0)
        with self.assertRaisesRegex(ValueError, "chat"):
            net.generate("a", chat=True)
        with self.assertRaises(ZeroDivisionError):
            net.generate("a", on_text=lambda part: 1 / 0)
        with self.assertRaisesRegex(OSError, "gone"):
            minnow.LanguageModel("gone.gguf")


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
