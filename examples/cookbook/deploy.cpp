// Recipes of docs/cookbook/deploy.md.
#include <chrono>
#include <cstdio>
#include <thread>
#include <minnow/onnx/onnx.h>

#include "recipe.h"

using namespace minnow;

namespace {

nn::Sequential classifier() {
  return nn::Sequential(nn::Linear(16, 64), nn::ReLU(), nn::Linear(64, 4));
}

}  // namespace

// # Save and load weights
// The file has tensors by name. The network that loads them is made by the same code.
const Recipe weights_recipe("save and load", [] {
  nn::Sequential net = classifier(), other = classifier();
  // [
  save(net.state_dict(), "net.safetensors");
  other.load_state_dict(
      load("net.safetensors"));  // also .pt of torch.save, .npz; load(path, device)
  // ]
  const Tensor x = rand({2, 16});
  expect(equal(net(x), other(x)));
});

// # Load weights under other names
// Beginnings of names are replaced; `.strict = false` takes what fits. A tensor of another shape is
// always an error.
const Recipe rename_them_recipe("other names", [] {
  nn::Sequential trained = classifier(), net = classifier();
  StateDict file;
  for (const auto& [name, tensor] : trained.state_dict())
    file.set("module.encoder." + name, tensor);
  file.set("module.head.weight", ones({3}));
  save(file, "parallel.safetensors");
  // [
  const StateDict weights = load(
      "parallel.safetensors", {.prefix = "module.encoder.", .rename = {{"module.encoder.", ""}}});
  const nn::LoadReport report = net.load_state_dict(weights, {.strict = false});
  for (const std::string& name : report.missing) std::cout << "not in the file: " << name << '\n';
  // ]
  expect(report.loaded.size() == 4 && equal(net(ones({1, 16})), trained(ones({1, 16}))));
});

// # Look into a file
// Headers alone are read; `minnow-inspect FILE` prints the same with statistics.
const Recipe look_recipe("inspect a file", [] {
  save(classifier().state_dict(), "net.safetensors", {{"trained", "2026"}});
  std::size_t count = 0;
  // [
  const SafetensorsFile file("net.safetensors");
  for (const TensorInfo& tensor : file.tensors()) {
    std::cout << tensor.name << ' ' << tensor.shape << '\n';
    ++count;  // [hidden]
  }
  const Tensor bias = file.load("2.bias");  // one of them
  // ]
  expect(count == 4 && bias.shape() == Shape{4} && file.metadata().size() == 1);
});

// # Predict
// `eval()` for dropout and BatchNorm, and no recording: half the memory and time.
const Recipe predict_recipe("predict", [] {
  nn::Sequential net = classifier();
  const Tensor x = rand({1, 16});
  // [
  net.eval();
  const NoGradGuard no_grad;
  const Tensor probability = softmax(net(x), 1);
  const auto [best, label] = probability.max(1);
  std::printf("class %d with probability %.2f\n", label.item<int>(), best.item());
  // ]
  expect(!net(x).requires_grad() && std::abs(probability.sum().item() - 1) < 1e-5);
});

// # Serve from several threads
// Threads may share a model that none of them changes. Requests run in parallel, so an operation
// gets one thread.
const Recipe serve_recipe("serve", [] {
  nn::Sequential net = classifier();
  std::atomic<int> answers = 0;
  const int threads = num_threads();
  // [
  net.eval();  // before the threads start
  set_num_threads(1);
  {
    std::vector<std::jthread> workers;
    for (int t = 0; t < 4; ++t)
      workers.emplace_back([&] {
        const NoGradGuard no_grad;  // of this thread
        for (int i = 0; i < 10; ++i) answers += net(rand({1, 16})).argmax(1).item<int>() < 4;
      });
  }
  // ]
  set_num_threads(threads);
  expect(answers == 40);
});

// # Weights of 8 bits
// Of Linear, LSTM and GRU; for the CPU, without gradients. A program that loads them quantizes its
// network first.
const Recipe int8_recipe("int8", [] {
  nn::Sequential net = classifier(), loaded = classifier();
  // [
  const nn::Sequential small = nn::quantize_dynamic(net);  // a copy
  save(small.state_dict(), "int8.safetensors");

  nn::quantize_dynamic_(loaded);  // in place
  loaded.load_state_dict(load("int8.safetensors"));
  // ]
  const NoGradGuard no_grad;
  const Tensor x = rand({8, 16});
  expect(equal(small(x), loaded(x)) && allclose(small(x), net(x), 0.1, 0.05));
});

// # Export to ONNX
// With `#include <minnow/onnx/onnx.h>` and `minnow::onnx`. Dimension 0 of input 0 may have any
// size.
const Recipe onnx_file_recipe("onnx", [] {
  nn::Sequential net = classifier();
  // [
  net.eval();
  onnx::save(net, {zeros({2, 16})}, "net.onnx",
             {.dynamic = {{{0, 0, "batch"}}}, .input_names = {"features"}});
  const onnx::Model model = onnx::load("net.onnx");  // a module, also of files from PyTorch
  // ]
  const Tensor x = rand({5, 16});
  expect(allclose(model(x), net(x), 1e-4, 1e-6));
});

// # A copy of a network
// Copying a module gives another handle of the same weights; `clone` copies the weights.
const Recipe copies_recipe("clone", [] {
  // [
  nn::Linear net(2, 2);
  nn::Linear same = net;
  nn::Linear copy = nn::clone(net);
  // ]
  const NoGradGuard no_grad;
  net.weight.zero_();
  expect(same.weight.abs().sum().item() == 0 && copy.weight.abs().sum().item() > 0);
});

// # Measure the time of a prediction
// After some calls, which choose algorithms and get memory. `synchronize` waits for a GPU; on the
// CPU it does nothing.
const Recipe latency_recipe("latency", [] {
  nn::Sequential net = classifier();
  const Device device = "cpu";
  // [
  const NoGradGuard no_grad;
  const Tensor x = rand({1, 16}, device);
  for (int i = 0; i < 10; ++i) (void)net(x);
  synchronize(device);
  const auto start = std::chrono::steady_clock::now();
  for (int i = 0; i < 100; ++i) (void)net(x);
  synchronize(device);
  const std::chrono::duration<double, std::micro> time = std::chrono::steady_clock::now() - start;
  std::printf("%.1f us\n", time.count() / 100);
  // ]
  expect(time.count() > 0);
});

// # Errors of a library in your program
// All errors are `minnow::Error`, a `std::runtime_error`; the classes below say which kind.
// `where()` is your line.
const Recipe errors_recipe("errors", [] {
  nn::Sequential net = classifier();
  bool caught = false;
  // [
  try {
    net(rand({2, 15}));  // 15 features in place of 16
  } catch (const ShapeError&
               error) {  // also DTypeError, DeviceError, ValueError, IoError, OutOfMemoryError ...
    std::cerr << error.what() << '\n';
    caught = true;  // [hidden]
  }
  // ]
  expect(caught);
});
