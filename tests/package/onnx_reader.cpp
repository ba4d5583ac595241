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

/// Steps against a loss whose gradient reaches all outputs; the loss must fall.
std::string trained(onnx::Model& net, const std::vector<Tensor>& inputs) {
  net.train();
  if (net.parameters().empty()) return "";
  const auto loss = [&] {
    Tensor sum = zeros({});
    for (const Tensor& y : net(inputs))
      if (y.is_floating_point()) sum = sum + (y - 0.5).square().mean();
    return sum;
  };
  std::vector<Tensor> parameters = net.parameters();
  optim::Adam adam(parameters, {.lr = 1e-4});
  const Tensor first = loss();
  first.backward();
  std::size_t reached = 0;
  for (const Tensor& p : parameters)
    if (p.grad().defined()) {
      ++reached;
      if (!isfinite(p.grad()).all().item<bool>()) return "a gradient is not finite";
    }
  if (2 * reached < parameters.size()) return std::to_string(reached) + " of the parameters get gradients";
  adam.step();
  const double before = first.item(), after = loss().item();
  return std::isfinite(after) && after < before ? "" : "the loss does not fall";
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
  return trains ? trained(net, inputs) : "";
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
