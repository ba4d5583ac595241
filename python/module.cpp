#include <Python.h>
#include <nanobind/nanobind.h>
#include <nanobind/stl/function.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <iterator>
#include <mutex>
#include <set>
#include <sstream>
#include <string>
#include <vector>
#include <minnow/autograd/grad_mode.h>
#include <minnow/interop/dlpack.h>
#include <minnow/minnow.h>
#include <minnow/onnx/onnx.h>

#include "interop/dlpack_structs.h"
#include "language_model.h"

// The Python module minnow: arrays go in and out by DLPack, without a copy.

namespace nb = nanobind;
using namespace minnow;

namespace {

/// The line of the Python program that calls.
SourceLocation here() {
  PyFrameObject* const frame = PyEval_GetFrame();  // borrowed
  if (!frame) return {};
  const auto code = nb::steal<nb::object>(reinterpret_cast<PyObject*>(PyFrame_GetCode(frame)));
  static std::mutex mutex;
  static auto& files = *new std::set<std::string>;  // graphs name them as long as the program runs
  const std::scoped_lock lock(mutex);
  return {files.insert(nb::cast<std::string>(code.attr("co_filename"))).first->c_str(),
          static_cast<unsigned>(PyFrame_GetLineNumber(frame))};
}

/// Python's class for an error; its text has minnow's.
PyObject* class_of(const Error& error) {
  if (dynamic_cast<const DTypeError*>(&error)) return PyExc_TypeError;
  if (dynamic_cast<const IndexError*>(&error)) return PyExc_IndexError;
  if (dynamic_cast<const IoError*>(&error)) return PyExc_OSError;
  if (dynamic_cast<const OutOfMemoryError*>(&error)) return PyExc_MemoryError;
  if (dynamic_cast<const ShapeError*>(&error) || dynamic_cast<const ValueError*>(&error) ||
      dynamic_cast<const FormatError*>(&error))
    return PyExc_ValueError;
  return PyExc_RuntimeError;
}

constexpr const char *kNew = "dltensor_versioned", *kUsedNew = "used_dltensor_versioned";
constexpr const char *kOld = "dltensor", *kUsedOld = "used_dltensor";

template <class Managed> Tensor taken(const nb::capsule& capsule, const char* name, const char* used) {
  auto* const managed = static_cast<Managed*>(PyCapsule_GetPointer(capsule.ptr(), name));
  if (!managed) throw nb::python_error();
  Tensor t = from_dlpack(managed, here());
  PyCapsule_SetName(capsule.ptr(), used);  // which says that its deleter is called by another
  return t;
}

/// A tensor of the array's memory.
Tensor tensor_of(nb::handle array) {
  if (nb::isinstance<Tensor>(array)) return nb::cast<Tensor>(array);
  if (!nb::hasattr(array, "__dlpack__"))
    throw nb::type_error(
        "minnow takes arrays of NumPy, PyTorch and others that have __dlpack__; of a list or a number, "
        "numpy.array(x, numpy.float32)");
  nb::object capsule;
  try {
    capsule = array.attr("__dlpack__")(nb::arg("max_version") = nb::make_tuple(1, 0));
  } catch (nb::python_error& error) {  // NumPy before 2.1, and PyTorch before 2.9, know no versions
    if (!error.matches(PyExc_TypeError)) throw;
    capsule = array.attr("__dlpack__")();
  }
  const auto own = nb::cast<nb::capsule>(capsule);
  return PyCapsule_IsValid(own.ptr(), kNew) ? taken<DLManagedTensorVersioned>(own, kNew, kUsedNew)
                                            : taken<DLManagedTensor>(own, kOld, kUsedOld);
}

template <class Managed> nb::object given(const Tensor& t, const char* name) {
  const auto destroy = [](PyObject* capsule) {
    for (const char* unused : {kNew, kOld})
      if (PyCapsule_IsValid(capsule, unused)) {
        auto* const managed = static_cast<Managed*>(PyCapsule_GetPointer(capsule, unused));
        managed->deleter(managed);
      }
  };
  Managed* const managed = to_dlpack<Managed>(t, here());
  PyObject* const capsule = PyCapsule_New(managed, name, destroy);
  if (!capsule) {
    managed->deleter(managed);
    throw nb::python_error();
  }
  return nb::steal(capsule);
}

nb::object dlpack(const Tensor& t, nb::kwargs options) {
  const bool versioned = options.contains("max_version") && !options["max_version"].is_none() &&
                         nb::cast<int>(options["max_version"][0]) >= 1;
  const bool copy = options.contains("copy") && options["copy"].ptr() == Py_True;
  const Tensor shared = copy ? t.clone(here()) : t;
  return versioned ? given<DLManagedTensorVersioned>(shared, kNew) : given<DLManagedTensor>(shared, kOld);
}

/// The tensor as an array of the library that the input came from.
nb::object array_as(nb::handle input, const Tensor& t) {
  const auto library =
      nb::cast<std::string>(nb::handle(reinterpret_cast<PyObject*>(Py_TYPE(input.ptr()))).attr("__module__"));
  nb::object own = nb::cast(t);
  if (library == "numpy") return nb::module_::import_("numpy").attr("from_dlpack")(own);
  if (library.starts_with("torch")) return nb::module_::import_("torch").attr("from_dlpack")(own);
  return own;
}

/// Of tensors, the result is tensors and recorded; of arrays, arrays of their library.
nb::object call(const onnx::Model& model, nb::args arrays) {
  std::vector<Tensor> inputs;
  nb::handle other;
  for (nb::handle array : arrays) {
    inputs.push_back(tensor_of(array));
    if (!other && !nb::isinstance<Tensor>(array)) other = array;
  }
  const SourceLocation where = here();
  std::vector<Tensor> outputs;
  {
    const nb::gil_scoped_release release;
    const AutoGradMode recorded(!other && is_grad_enabled());
    outputs = model(std::move(inputs), where);
  }
  nb::list result;
  for (const Tensor& t : outputs) result.append(other ? array_as(other, t) : nb::cast(t));
  return nb::len(result) == 1 ? nb::object(result[0]) : nb::tuple(result);
}

/// A str, or what has a path.
std::string path_of(nb::handle path) { return nb::cast<std::string>(nb::module_::import_("os").attr("fspath")(path)); }

/// Bytes that are no UTF-8, which a model may write, are replaced.
nb::object text_of(const std::string& bytes) {
  return nb::steal(PyUnicode_DecodeUTF8(bytes.data(), std::ssize(bytes), "replace"));
}

std::vector<std::int64_t> sizes(const Shape& shape) { return {shape.begin(), shape.end()}; }

}  // namespace

NB_MODULE(_minnow, m) {
  nb::register_exception_translator([](const std::exception_ptr& p, void*) {
    try {
      std::rethrow_exception(p);
    } catch (const Error& error) { PyErr_SetString(class_of(error), error.what()); }
  });

  nb::class_<Tensor>(m, "Tensor", "An array of minnow; numpy.from_dlpack() and torch.from_dlpack() share its memory.")
      .def_prop_ro(
          "shape", [](const Tensor& t) { return nb::tuple(nb::cast(sizes(t.shape(here())))); },
          nb::sig("def shape(self) -> tuple[int, ...]"))
      .def_prop_ro("dtype", [](const Tensor& t) { return std::string(name_of(t.dtype(here()))); })
      .def_prop_ro("device", [](const Tensor& t) { return t.device(here()).str(); })
      .def_prop_ro("name", [](const Tensor& t) { return t.name(here()); })
      .def_prop_ro("requires_grad", [](const Tensor& t) { return t.requires_grad(here()); })
      .def_prop_ro("grad",
                   [](const Tensor& t) -> std::optional<Tensor> {
                     const Tensor grad = t.grad(here());
                     return grad.defined() ? std::optional(grad) : std::nullopt;
                   })
      .def(
          "detach", [](const Tensor& t) { return t.detach(here()); }, "The same memory, without gradients.")
      .def(
          "item", [](const Tensor& t) { return t.item<double>(here()); }, "The value of the only element.")
      .def("backward", [](const Tensor& t) { t.backward(BackwardOptions{}, here()); })
      .def(
          "to",
          [](const Tensor& t, const std::string& device) { return t.to(Device(device, here()), ToOptions{}, here()); },
          nb::arg("device"))
      .def(
          "numpy", [](const Tensor& t) { return nb::module_::import_("numpy").attr("from_dlpack")(t.cpu(here())); },
          "An array of NumPy, of the same memory if that is on the CPU.")
      .def("__dlpack__", &dlpack)
      .def("__dlpack_device__",
           [](const Tensor& t) {
             const Device device = t.device(here());
             if (device.is_sim())
               throw DeviceError("other libraries cannot read the simulated device\nexport t.to(\"cpu\")", here());
             return std::pair(device.is_cpu() ? 1 : 2, device.index());
           })
      .def("__len__", [](const Tensor& t) { return t.size(0, here()); })
      .def("__repr__", [](const Tensor& t) {
        std::ostringstream out;
        out << t;
        return out.str();
      });
  m.def("tensor", &tensor_of, nb::arg("array"), "A tensor of the memory of an array of NumPy, PyTorch or others.");

  nb::class_<onnx::Model>(m, "Model", "A model of ONNX.")
      .def("__call__", &call, nb::arg("inputs"),
           "The outputs. Arrays give arrays of their library, without gradients; tensors give tensors.",
           nb::sig("def __call__(self, *inputs: typing.Any) -> typing.Any"))
      .def("__repr__", [](const onnx::Model& net) { return net.describe(); })
      .def_prop_ro("input_names", &onnx::Model::input_names)
      .def_prop_ro("output_names", &onnx::Model::output_names)
      .def("parameters", [](const onnx::Model& net) { return net.parameters(); })
      .def(
          "state_dict",
          [](const onnx::Model& net) {
            nb::dict result;
            for (const auto& [name, tensor] : net.state_dict()) result[name.c_str()] = nb::cast(tensor);
            return result;
          },
          "Parameters and buffers by name, of the model's memory.",
          nb::sig("def state_dict(self) -> dict[str, Tensor]"))
      .def(
          "train", [](onnx::Model& net, bool on) { net.train(on); }, nb::arg("on") = true)
      .def("eval", [](onnx::Model& net) { net.eval(); })
      .def(
          "to", [](onnx::Model& net, const std::string& device) { net.to(Device(device, here()), here()); },
          nb::arg("device"))
      .def(
          "save",
          [](const onnx::Model& net, nb::handle path) { save(net.state_dict(), path_of(path), Metadata{}, here()); },
          nb::arg("path"), "Writes the weights, for example as net.safetensors.",
          nb::sig("def save(self, path: str | os.PathLike[str]) -> None"))
      .def(
          "load_weights",
          [](onnx::Model& net, nb::handle path) {
            net.load_state_dict(load(path_of(path), Device(), here()), {}, here());
          },
          nb::arg("path"), "Reads them, from a file of safetensors, NumPy (.npz) or PyTorch (.pt).",
          nb::sig("def load_weights(self, path: str | os.PathLike[str]) -> None"));
  m.def(
      "load", [](nb::handle path) { return onnx::load(path_of(path), here()); }, nb::arg("path"),
      "Reads a model of ONNX.", nb::sig("def load(path: str | os.PathLike[str]) -> Model"));

  nb::class_<LanguageModel>(m, "LanguageModel", "Llama 3, SmolLM2, Qwen2 and others of their form.")
      .def(
          "__init__",
          [](LanguageModel* self, nb::handle path, const std::string& device) {
            const detail::CallSite site(here());
            new (self) LanguageModel(path_of(path), device);
          },
          nb::arg("path"), nb::arg("device") = "cpu", "Reads a GGUF file, or a folder of Hugging Face's.",
          nb::sig("def __init__(self, path: str | os.PathLike[str], device: str = 'cpu') -> None"))
      .def(
          "generate",
          [](const LanguageModel& model, const std::string& text, std::int64_t max_tokens, double temperature,
             std::int64_t top_k, double top_p, std::uint64_t seed, bool chat, std::optional<nb::callable> on_text) {
            const llm::SamplerOptions sampling{
                .temperature = temperature, .top_k = top_k, .top_p = top_p, .seed = seed};
            const detail::CallSite site(here());
            bool failed = false;
            std::string written;
            {
              const nb::gil_scoped_release release;
              written = model.generate(text, max_tokens, sampling, chat, [&](const std::string& part) {
                const nb::gil_scoped_acquire acquire;
                failed = PyErr_CheckSignals() != 0;  // Ctrl-C
                if (!failed && on_text) (*on_text)(text_of(part));
                return !failed;
              });
            }
            if (failed) throw nb::python_error();
            return text_of(written);
          },
          nb::arg("text"), nb::kw_only(), nb::arg("max_tokens") = 100, nb::arg("temperature") = 0.0,
          nb::arg("top_k") = 0, nb::arg("top_p") = 1.0, nb::arg("seed") = 0, nb::arg("chat") = false,
          nb::arg("on_text") = nb::none(),
          "What follows a text, or with chat=True the answer to it. on_text is called with each part as it is "
          "written.",
          nb::sig("def generate(self, text: str, *, max_tokens: int = 100, temperature: float = 0.0, top_k: int = 0, "
                  "top_p: float = 1.0, seed: int = 0, chat: bool = False, "
                  "on_text: collections.abc.Callable[[str], object] | None = None) -> str"));

  m.def("manual_seed", &manual_seed, nb::arg("seed"));
  m.def(
      "set_num_threads", [](int threads) { set_num_threads(threads, here()); }, nb::arg("threads"));
  m.attr("__version__") = MINNOW_VERSION;
}
