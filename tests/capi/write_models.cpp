// write_models FOLDER: the models that the programs in C and Fortran read.
#include <string>
#include <vector>
#include <minnow/minnow.h>
#include <minnow/onnx/onnx.h>

using namespace minnow;

namespace {

/// The sum and the difference of two inputs.
struct TwoOutputs : nn::Module {
  nn::Parameter scale = parameter("scale", ones({1}));
};

}  // namespace

int main(int, char** argv) {
  const std::string folder = argv[1];
  // Exact weights: y = [x0 + 2 x1 + 0.5, 3 x0 + 4 x1 - 0.5].
  nn::Linear affine(2, 2);
  {
    const NoGradGuard guard;
    affine.weight.copy_(tensor({{1.F, 2.F}, {3.F, 4.F}}));
    affine.bias.copy_(tensor({0.5F, -0.5F}));
  }
  affine.eval();
  onnx::save(affine, {zeros({2, 2})}, folder + "/affine.onnx");

  manual_seed(7);
  nn::Sequential net(nn::Linear(2, 16), nn::Functional([](const Tensor& x) { return tanh(x); }), nn::Linear(16, 2));
  net.eval();
  onnx::save(net, {zeros({2, 2})}, folder + "/net.onnx");

  const TwoOutputs two;
  const auto forward = [&](std::span<const Tensor> x) -> std::vector<Tensor> {
    return {x[0] * two.scale + x[1], x[0] - x[1]};
  };
  TwoOutputs(two).eval();
  onnx::save(two, {zeros({2, 3}), zeros({2, 3})}, forward, folder + "/two.onnx",
             {.input_names = {"a", "b"}, .output_names = {"sum", "difference"}});
}
