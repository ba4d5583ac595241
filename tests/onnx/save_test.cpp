#include <gtest/gtest.h>
#include <minnow/minnow.h>
#include <minnow/onnx/onnx.h>

#include "onnx/model_file.h"
#include "thrown.h"

namespace minnow::test {
namespace {

using Names = std::vector<std::string>;

class OnnxSave : public ::testing::Test {
 protected:
  TemporaryFolder folder;
  const std::string path = folder / "net.onnx";

  /// The error of exporting a function of one tensor [2, 3].
  template <class F> std::string refusal(F f, const onnx::SaveOptions& options = {}) {
    nn::Identity none;
    none.eval();
    return error_of<ValueError>([&] {
      onnx::save(
          none, {ones({2, 3})}, [&](std::span<const Tensor> x) -> std::vector<Tensor> { return {f(x[0])}; }, path,
          options);
    });
  }
};

struct Mlp : nn::Module {
  nn::Linear fc1 = child("fc1", nn::Linear(4, 5)), fc2 = child("fc2", nn::Linear(5, 2));
  Tensor forward(const Tensor& x) override { return fc2(relu(fc1(x))); }
};

TEST_F(OnnxSave, WritesNodesWeightsAndOpenSizes) {
  Mlp net;
  net.eval();
  onnx::save(net, {zeros({3, 4})}, path);
  const ModelFile file(path);
  EXPECT_EQ(file.nodes(),
            "Gemm(input, fc1.weight, fc1.bias) Relu(fc1/Gemm_output) Gemm(Mlp/Relu_output, fc2.weight, fc2.bias)");
  EXPECT_EQ(file.weights(), (Names{"fc1.weight", "fc1.bias", "fc2.weight", "fc2.bias"}));
  EXPECT_EQ(file.ports(11), Names{"input[batch, 4]"});
  EXPECT_EQ(file.ports(12), Names{"output[batch, 2]"});
}

TEST_F(OnnxSave, TakesNamesAndFixedSizes) {
  Mlp net;
  net.eval();
  onnx::save(net, {zeros({3, 4})}, path, {.dynamic = {{}}, .input_names = {"pixels"}, .output_names = {"scores"}});
  const ModelFile file(path);
  EXPECT_EQ(file.ports(11), Names{"pixels[3, 4]"});
  EXPECT_EQ(file.ports(12), Names{"scores[3, 2]"});
}

TEST_F(OnnxSave, ShapesAreComputedFromOpenSizes) {
  nn::Identity none;
  none.eval();
  onnx::save(none, {zeros({2, 6, 4})},
             [](std::span<const Tensor> x) -> std::vector<Tensor> {
               const Tensor y = x[0].reshape({x[0].size(0), -1, 2});
               return {y + zeros({x[0].size(0), 1, 2})};
             },
             path, {.dynamic = {{{0, 0, "batch"}, {0, 1, "length"}}}});
  EXPECT_EQ(ModelFile(path).nodes(false), "Reshape Shape Concat Expand Add");
}

TEST_F(OnnxSave, WhatIsComputedFromWeightsIsAConstant) {
  nn::Linear net(3, 2);
  nn::weight_norm(net);
  net.eval();
  onnx::save(net, {zeros({2, 3})}, path);
  EXPECT_EQ(ModelFile(path).nodes(false), "Gemm");
}

TEST_F(OnnxSave, WritesInPlaceAreFollowed) {
  nn::Identity none;
  none.eval();
  onnx::save(
      none, {zeros({2, 3})},
      [](std::span<const Tensor> x) -> std::vector<Tensor> {
        const Tensor y = x[0] * 2;
        y.relu_();
        return {y - x[0]};
      },
      path);
  EXPECT_EQ(ModelFile(path).nodes(false), "Mul Relu Sub");
}

TEST_F(OnnxSave, PutsLargeWeightsBesideTheFile) {
  nn::Linear net(40, 20);
  net.eval();
  onnx::save(net, {zeros({2, 40})}, path, {.external_data = true});
  const ModelFile file(path);
  const std::string weight = fields_of(file.graph, 5)[0];
  ASSERT_EQ(first_of(weight, 8), "weight");
  EXPECT_EQ(first_of(weight, 9), "");
  Names entries;
  for (const std::string& entry : fields_of(weight, 13))
    entries.push_back(first_of(entry, 1) + "=" + first_of(entry, 2));
  EXPECT_EQ(entries, (Names{"location=net.onnx.data", "offset=0", "length=3200"}));
  const std::string data = read_bytes(path + ".data");
  EXPECT_EQ(data, std::string(static_cast<const char*>(net.weight.raw_data()), 3200));
}

TEST_F(OnnxSave, OtherObserversHearToo) {
  profile::OperationCounts counts;
  nn::ReLU net;
  net.eval();
  onnx::save(net, {zeros({2, 3})}, path);
  expect_contains(counts.str(), "relu");
}

TEST_F(OnnxSave, RefusesTrainMode) {
  Mlp net;
  expect_contains(error_of<ValueError>([&] { onnx::save(net, {zeros({3, 4})}, path); }), "call eval() first");
}

TEST_F(OnnxSave, NamesFunctionLineAndModuleOfWhatOnnxDoesNotHave) {
  struct Net : nn::Module {
    Tensor forward(const Tensor& x) override { return cumprod(x, 1); }
  };
  nn::Sequential net{nn::ReLU(), Net()};
  net.eval();
  const unsigned line = __LINE__ - 4;
  expect_contains(error_of<ValueError>([&] {
                    onnx::save(net, {zeros({3, 4})}, path);
                  }),
                  "cumprod at save_test.cpp:" + std::to_string(line) + " in the module '1'");
}

TEST_F(OnnxSave, RefusesAForwardThatDependsOnTheSize) {
  const auto loop = [](const Tensor& x) {
    Tensor y = x;
    for (std::int64_t i = 0; i < x.size(0); ++i) y = y * 2;
    return y;
  };
  expect_contains(refusal(loop), "does other things for other sizes");
  expect_contains(refusal([](const Tensor& x) { return x.size(0) == 2 ? exp(x) : tanh(x); }), "first exp at");
  expect_contains(refusal([](const Tensor& x) { return x * static_cast<double>(x.size(0)); }),
                  "follows from the inputs");
}

TEST_F(OnnxSave, RefusesNumbersThatWereRead) {
  expect_contains(refusal([](const Tensor& x) { return x * x.sum().item(); }), "item at save_test.cpp");
  expect_contains(refusal([](const Tensor& x) { return x.sum().item() > 0 ? x : -x; }), "item at save_test.cpp");
  expect_contains(refusal([](const Tensor& x) { return unique(x).values; }), "reads numbers");
  expect_contains(refusal([](const Tensor& x) { return x + rand({3}); }), "or is random");
}

TEST_F(OnnxSave, RefusesPartsThatWereWritten) {
  const auto write = [](const Tensor& x) {
    const Tensor y = x * 2;
    y(all, 0) = x(all, 1);
    return y + 1;
  };
  expect_contains(refusal(write), "not known how it was computed");
}

TEST_F(OnnxSave, ChecksOptions) {
  const auto f = [](const Tensor& x) { return x * 2; };
  expect_contains(refusal(f, {.opset = 17}), "give 18 to 23");
  expect_contains(refusal(f, {.dynamic = {{{1, 0, "batch"}}}}), "dynamic dimension 0 of input 1 does not exist");
  expect_contains(refusal(f, {.dynamic = {{{0, 0, "n"}, {0, 1, "n"}}}}), "use two names");
  expect_contains(refusal(f, {.input_names = {"a", "b"}}), "2 names of inputs are given, there are 1");
  expect_contains(refusal(f, {.output_names = {""}}), "names of outputs");
  expect_contains(refusal(f, {.input_names = {"a"}, .output_names = {"a"}}), "of an input and of an output");
  Mlp net;
  net.eval();
  expect_contains(error_of<ValueError>([&] { onnx::save(net, {}, path); }), "0 inputs are given");
  EXPECT_EQ(folder.files(), 0U);
}

}  // namespace
}  // namespace minnow::test
