// Reads the models that onnx_import_test.py wrote: onnx_reader FOLDER [train].  Of each NAME.onnx it computes from in0,
// in1, ... of NAME.npz, compares with out0, ..., and may train for a step.  Prints a line for each fault, and for each
// model that is refused by a FormatError.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <string>
#include <vector>
#include <minnow/minnow.h>
#include <minnow/onnx/onnx.h>

using namespace minnow;

namespace {

std::vector<Tensor> numbered(const StateDict& values, const std::string& name) {
  std::vector<Tensor> found;
  while (const Tensor* x = values.find(name + std::to_string(found.size()))) found.push_back(*x);
  return found;
}

double distance(const Tensor& got, const Tensor& want) {
  if (got.shape() != want.shape() || got.dtype() != want.dtype()) return HUGE_VAL;
  if (want.numel() == 0) return 0;
  const Tensor a = got.detach().to(float64), b = want.to(float64);
  return (abs(a - b) / clamp_min(abs(b), 1)).max().item();
}

/// The gradient of the first input, for a loss that reaches all outputs, as PyTorch has it; and a step in train mode.
std::string trained(onnx::Model& net, std::vector<Tensor> inputs, const Tensor& gradient) {
  const auto loss = [&] {
    Tensor sum = zeros({});
    for (const Tensor& y : net(inputs)) sum = sum + (y - 0.5).square().mean();
    return sum;
  };
  inputs[0].requires_grad_();
  loss().backward();
  const Tensor got = inputs[0].grad();
  if (!got.defined()) return "the input gets no gradient";
  const double far = abs(got - gradient).max().item() / abs(gradient).max().item();
  if (!(far <= 1e-4)) return "the gradient of the input differs by " + std::to_string(far) + " of its largest element";
  net.train();
  net.zero_grad();
  const std::vector<Tensor> parameters = net.parameters();
  optim::SGD sgd(parameters, {.lr = 1e-3});
  loss().backward();
  std::size_t reached = 0;
  for (const Tensor& p : parameters)
    if (p.grad().defined()) ++reached;
  sgd.step();
  if (!isfinite(loss()).item<bool>()) return "a step makes the loss infinite";
  return 2 * reached < parameters.size() ? std::to_string(reached) + " of the parameters get gradients" : "";
}

std::string fault_of(const std::filesystem::path& path, bool trains) {
  onnx::Model net = onnx::load(path.string());
  const StateDict values = load(std::filesystem::path(path).replace_extension(".npz").string());
  const std::vector<Tensor> inputs = numbered(values, "in"), outputs = numbered(values, "out");
  double far = 0;
  {
    const NoGradGuard no_grad;
    const std::vector<Tensor> got = net(inputs);
    if (got.size() != outputs.size()) return "it gives " + std::to_string(got.size()) + " outputs";
    for (std::size_t i = 0; i < got.size(); ++i) far = std::max(far, distance(got[i], outputs[i]));
  }
  // The tests of single operators have numbers of four digits.
  const bool half = !outputs.empty() && is_half(outputs[0].dtype());
  if (!(far <= (half ? 1e-3 : trains ? 1e-5 : 1e-4))) return "an output differs by " + std::to_string(far);
  return trains ? trained(net, inputs, values.at("grad")) : "";
}

}  // namespace

int main(int count, char** arguments) {
  manual_seed(1);
  std::vector<std::filesystem::path> paths;
  for (const auto& file : std::filesystem::directory_iterator(arguments[1]))
    if (file.path().extension() == ".onnx") paths.push_back(file.path());
  std::sort(paths.begin(), paths.end());
  for (const auto& path : paths) {
    std::string fault;
    try {
      fault = fault_of(path, count > 2);
    } catch (const FormatError& e) { fault = std::string("refused: ") + e.what(); } catch (const Error& e) {
      fault = e.what();
    }
    std::replace(fault.begin(), fault.end(), '\n', ';');
    if (!fault.empty()) std::printf("%s: %s\n", path.stem().c_str(), fault.c_str());
  }
  return 0;
}
