#include <functional>
#include <gtest/gtest.h>
#include <protozero/pbf_writer.hpp>
#include <minnow/minnow.h>
#include <minnow/onnx/onnx.h>

#include "onnx/model_file.h"
#include "thrown.h"

namespace minnow::test {
namespace {

using protozero::pbf_writer;
using Names = std::vector<std::string>;

struct ConvNet : nn::Module {
  nn::Sequential features = child("features", nn::Sequential(nn::Conv2d(1, 4, 3), nn::BatchNorm2d(4), nn::ReLU()));
  nn::Linear fc = child("fc", nn::Linear(4, 3));
  Tensor forward(const Tensor& x) override { return fc(features(x).mean({2, 3})); }
};

class OnnxLoad : public ::testing::Test {
 protected:
  TemporaryFolder folder;
  const std::string path = folder / "net.onnx";

  template <class M> onnx::Model again(M& net, const std::vector<Tensor>& example) {
    net.eval();
    onnx::save(net, example, path);
    return onnx::load(path);
  }

  /// The error of a file with a graph, which `fill` writes, and an opset.
  std::string fault(const std::function<void(pbf_writer&)>& fill, std::int64_t opset = 18) {
    std::string bytes;
    {
      pbf_writer model(bytes);
      {
        pbf_writer graph(model, 7);
        fill(graph);
      }
      pbf_writer(model, 8).add_int64(2, opset);
    }
    write_bytes(path, bytes);
    return error_of<FormatError>([&] { (void)onnx::load(path); });
  }
  static void add_node(pbf_writer& graph, const char* op, const Names& inputs, const Names& outputs) {
    pbf_writer node(graph, 1);
    for (const std::string& name : inputs) node.add_string(1, name);
    for (const std::string& name : outputs) node.add_string(2, name);
    node.add_string(4, op);
  }
  static void add_port(pbf_writer& graph, protozero::pbf_tag_type tag, const char* name) {
    pbf_writer(graph, tag).add_string(1, name);
  }
  static void add_weight(pbf_writer& graph, const Names& entries, std::int64_t size, const std::string& raw) {
    pbf_writer weight(graph, 5);
    weight.add_int64(1, size);
    weight.add_int32(2, 1);
    weight.add_string(8, "w");
    if (!raw.empty()) weight.add_bytes(9, raw);
    for (std::size_t i = 0; i + 1 < entries.size(); i += 2) {
      pbf_writer entry(weight, 13);
      entry.add_string(1, entries[i]);
      entry.add_string(2, entries[i + 1]);
    }
    if (!entries.empty()) weight.add_int32(14, 1);
  }
};

TEST_F(OnnxLoad, ComputesWhatWasSavedForOtherSizes) {
  ConvNet net;
  (void)net(randn({8, 1, 6, 6}) * 3 + 1);
  const onnx::Model loaded = again(net, {zeros({2, 1, 6, 6})});
  const NoGradGuard no_grad;
  for (const std::int64_t batch : {1, 2, 7}) {
    const Tensor x = randn({batch, 1, 6, 6});
    EXPECT_TRUE(allclose(loaded(x), net(x), 1e-5, 1e-6));
  }
  EXPECT_EQ(loaded.input_names(), Names{"input"});
  EXPECT_EQ(loaded.output_names(), Names{"output"});
}

TEST_F(OnnxLoad, HasTheWeightsByTheirNames) {
  ConvNet net;
  const onnx::Model loaded = again(net, {zeros({2, 1, 6, 6})});
  Names names, buffers;
  for (const auto& [name, value] : loaded.named_parameters()) names.push_back(name);
  for (const auto& [name, value] : loaded.named_buffers()) buffers.push_back(name);
  std::sort(names.begin(), names.end());
  EXPECT_EQ(names, (Names{"fc.bias", "fc.weight", "features.0.bias", "features.0.weight", "features.1.bias",
                          "features.1.weight"}));
  EXPECT_EQ(buffers, (Names{"features.1.running_mean", "features.1.running_var"}));
  EXPECT_FALSE(loaded.is_training());
}

TEST_F(OnnxLoad, TrainsAsTheModelThatWasSaved) {
  ConvNet net;
  onnx::Model loaded = again(net, {zeros({2, 1, 6, 6})});
  net.train();
  loaded.train();
  optim::SGD first(net.parameters(), {.lr = 0.1}), second(loaded.parameters(), {.lr = 0.1});
  const Tensor x = randn({5, 1, 6, 6}), y = randn({5, 3});
  for (int step = 0; step < 3; ++step) {
    const Tensor one = (net(x) - y).square().mean(), other = (loaded(x) - y).square().mean();
    EXPECT_NEAR(one.item(), other.item(), 1e-5);
    one.backward();
    other.backward();
    first.step(), second.step();
    first.zero_grad(), second.zero_grad();
  }
  EXPECT_TRUE(allclose(loaded.state_dict().at("features.1.running_mean"),
                       net.state_dict().at("features.1.running_mean"), 1e-4, 1e-5));
}

TEST_F(OnnxLoad, MovesIsClonedAndLoadsItsState) {
  ConvNet net;
  const onnx::Model loaded = again(net, {zeros({2, 1, 6, 6})});
  const Tensor x = randn({3, 1, 6, 6});
  const NoGradGuard no_grad;
  const Tensor y = loaded(x);
  onnx::Model copy = nn::clone(loaded);
  copy.to("sim:0");
  EXPECT_TRUE(allclose(copy(x.to("sim:0")).cpu(), y, 1e-5, 1e-6));
  for (const Tensor& p : loaded.parameters()) p.zero_();
  EXPECT_FALSE(allclose(loaded(x), y));
  copy.to(Device());
  ASSERT_TRUE(allclose(copy(x), y, 1e-5, 1e-6));
  onnx::Model other = loaded;
  other.load_state_dict(copy.state_dict());
  EXPECT_TRUE(allclose(loaded(x), y, 1e-5, 1e-6));
}

TEST_F(OnnxLoad, ReadsWeightsBesideTheFile) {
  nn::Linear net(40, 20);
  net.eval();
  onnx::save(net, {zeros({2, 40})}, path, {.external_data = true});
  const Tensor x = randn({3, 40});
  EXPECT_TRUE(allclose(onnx::load(path)(x), net(x), 1e-5, 1e-6));
  std::filesystem::resize_file(path + ".data", 3199);
  expect_contains(error_of<FormatError>([&] { (void)onnx::load(path); }), "'weight' should have 3200 bytes at 0");
}

TEST_F(OnnxLoad, GivesSeveralOutputs) {
  nn::LSTM net(3, 4);
  const onnx::Model loaded = again(net, {zeros({5, 2, 3})});
  const Tensor x = randn({5, 2, 3});
  const auto [y, h, c] = net(x);
  const std::vector<Tensor> results = loaded(std::vector<Tensor>{x});
  ASSERT_EQ(results.size(), 3U);
  EXPECT_TRUE(allclose(results[0], y, 1e-5, 1e-6));
  EXPECT_TRUE(allclose(results[2], c, 1e-5, 1e-6));
  EXPECT_TRUE(allclose(loaded(x), y, 1e-5, 1e-6));
}

TEST_F(OnnxLoad, OutputsMayBeInputsWeightsAndOneValueTwice) {
  nn::Linear net(3, 2);
  net.eval();
  onnx::save(
      net, {zeros({2, 3})},
      [&](std::span<const Tensor> x) -> std::vector<Tensor> {
        const Tensor y = net(x[0]);
        return {x[0], net.weight, y, y, ones({4})};
      },
      path);
  const Tensor x = randn({5, 3});
  const std::vector<Tensor> results = onnx::load(path)(std::vector<Tensor>{x});
  ASSERT_EQ(results.size(), 5U);
  EXPECT_TRUE(equal(results[0], x));
  EXPECT_TRUE(equal(results[1], net.weight));
  EXPECT_TRUE(allclose(results[2], net(x)));
  EXPECT_TRUE(equal(results[2], results[3]));
  EXPECT_TRUE(equal(results[4], ones({4})));
}

TEST_F(OnnxLoad, ComputesOperatorsThatOnlyOthersWrite) {
  const auto run = [&](const char* op, const std::vector<Tensor>& inputs) {
    std::string bytes;
    {
      pbf_writer model(bytes);
      {
        pbf_writer graph(model, 7);
        Names names;
        for (std::size_t i = 0; i < inputs.size(); ++i) names.push_back("x" + std::to_string(i));
        add_node(graph, op, names, {"y"});
        for (const std::string& name : names) add_port(graph, 11, name.c_str());
        add_port(graph, 12, "y");
      }
      pbf_writer(model, 8).add_int64(2, 18);
    }
    write_bytes(path, bytes);
    return onnx::load(path)(inputs)[0];
  };
  const Tensor x = arange(6.0).reshape({3, 2}), rows = tensor({2, 0}).reshape({2, 1});
  EXPECT_EQ(run("GatherND", {x, rows}).to_vector<float>(), (std::vector<float>{4, 5, 0, 1}));
  EXPECT_EQ(run("GatherND", {x, tensor({{-1, 1}, {1, 0}})}).to_vector<float>(), (std::vector<float>{5, 2}));
  EXPECT_EQ(run("ScatterND", {x, rows, tensor({{7.F, 8.F}, {9.F, 10.F}})}).to_vector<float>(),
            (std::vector<float>{9, 10, 2, 3, 7, 8}));
  EXPECT_EQ(run("ScatterElements", {x, tensor({{-1, 0}}), tensor({{7.F, 8.F}})}).to_vector<float>(),
            (std::vector<float>{0, 8, 2, 3, 7, 5}));
  EXPECT_EQ(run("QuantizeLinear", {x, tensor(0.5F), tensor(3).to(uint8)}).to_vector<std::uint8_t>(),
            (std::vector<std::uint8_t>{3, 5, 7, 9, 11, 13}));
  expect_contains(error_of<FormatError>([&] { run("GatherND", {x, tensor({{3}})}); }), "beyond dimension 0 of [3, 2]");
  expect_contains(error_of<FormatError>([&] {
                    run("ScatterND", {x, rows, ones({3})});
                  }),
                  "updates are not of the size");

  const Tensor leaf = x.clone().requires_grad_(), update = ones({2, 2}).requires_grad_();
  (run("ScatterND", {leaf, rows, update}) * x).sum().backward();
  EXPECT_EQ(leaf.grad().to_vector<float>(), (std::vector<float>{0, 0, 2, 3, 0, 0}));
  EXPECT_EQ(update.grad().to_vector<float>(), (std::vector<float>{4, 5, 0, 1}));
}

TEST_F(OnnxLoad, NamesOperatorsThatItDoesNotHave) {
  const std::string error = fault([](pbf_writer& g) {
    add_node(g, "Quux", {}, {"a"});
    add_node(g, "Loop", {}, {"b"});
    add_port(g, 12, "b");
  });
  expect_contains(error, "operators that minnow does not read: Loop, Quux");
}

TEST_F(OnnxLoad, RefusesGraphsThatMakeNoSense) {
  const auto identity = [](const char* from, const char* to) {
    return [=](pbf_writer& g) {
      add_port(g, 11, "x");
      add_node(g, "Identity", {from}, {to});
      add_port(g, 12, "y");
    };
  };
  expect_contains(fault(identity("later", "y")), "'later', which is used before it is computed");
  expect_contains(fault(identity("y", "y")), "'y', which is used before it is computed");
  expect_contains(fault(identity("x", "x")), "two values 'x'");
  expect_contains(fault(identity("x", "z")), "'y', which is used before it is computed");
  expect_contains(fault(identity("x", "y"), 12), "its opset is 12");
  expect_contains(fault([](pbf_writer& g) { add_port(g, 11, "x"); }), "a graph without outputs");
  write_bytes(path, "<!DOCTYPE html>\n<html>");
  expect_contains(error_of<FormatError>([&] { (void)onnx::load(path); }), "a text that begins with '<!DOCTYPE html>'");
  write_bytes(path, "");
  expect_contains(error_of<FormatError>([&] { (void)onnx::load(path); }), "it has no graph");
}

TEST_F(OnnxLoad, RefusesWeightsWhoseBytesAreNotThere) {
  const auto weight = [&](const Names& entries, std::int64_t size, const std::string& raw) {
    return fault([&](pbf_writer& g) { add_weight(g, entries, size, raw); });
  };
  expect_contains(weight({}, std::int64_t{1} << 40, "1234"), "4 elements or bytes of 'w'");
  expect_contains(weight({}, std::int64_t{1} << 62, "1234"), "of absurd size");
  expect_contains(weight({}, -1, "1234"), "of a negative size");
  expect_contains(weight({}, 2, ""), "0 elements or bytes of 'w'");
  expect_contains(weight({"location", "../secret"}, 2, ""), "not beside the model");
  expect_contains(weight({"location", "/etc/passwd"}, 2, ""), "not beside the model");
  expect_contains(weight({"location", "net.onnx", "offset", "-1"}, 2, ""), "the offset of 'w' is no number");
  expect_contains(weight({"location", "net.onnx", "offset", "999999999"}, 2, ""), "should have 8 bytes at");
}

TEST_F(OnnxLoad, DamagedFilesAreErrors) {
  nn::Sequential net(nn::Linear(3, 2), nn::ReLU(), nn::Linear(2, 2));
  net.eval();
  onnx::save(net, {zeros({2, 3})}, path);
  const std::string whole = read_bytes(path), other = folder / "other.onnx";
  const NoGradGuard no_grad;
  int read = 0;
  const auto try_it = [&](const std::string& bytes) {
    write_bytes(other, bytes);
    try {
      (void)onnx::load(other)(zeros({2, 3}));
      ++read;
    } catch (const Error&) {}
  };
  for (std::size_t size = 0; size < whole.size(); size += 7) try_it(whole.substr(0, size));
  for (std::size_t at = 0; at < whole.size(); at += 3)
    for (const char bits : {char(0x01), char(0x80), char(0xff)}) {
      std::string bytes = whole;
      bytes[at] = static_cast<char>(bytes[at] ^ bits);
      try_it(bytes);
    }
  EXPECT_GT(read, 0);  // of some only the numbers have changed
}

TEST_F(OnnxLoad, ACallChecksItsInputs) {
  nn::Linear net(3, 2);
  const onnx::Model loaded = again(net, {zeros({2, 3})});
  expect_contains(error_of<ValueError>([&] { (void)loaded(zeros({2, 3}), zeros({2, 3})); }), "2 inputs are given");
  const std::string error = error_of<ShapeError>([&] { (void)loaded(zeros({2, 4})); });
  expect_contains(error, "an input is not what the file says");
  expect_contains(error,
                  "input  float32[2, 4] on cpu, the file says float32[batch, 3]\nbecause of that: ShapeError: linear");
  expect_contains(error_of<DTypeError>([&] {
                    (void)loaded(zeros({2, 3}, float64));
                  }),
                  "the file says float32[batch, 3]");
  EXPECT_EQ(loaded(zeros({0, 3})).shape(), (Shape{0, 2}));
}

}  // namespace
}  // namespace minnow::test
