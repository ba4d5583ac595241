#include <gtest/gtest.h>
#include <minnow/autograd/grad_mode.h>
#include <minnow/minnow.h>
#include <minnow/tensorboard/tensorboard.h>

#include "tensorboard/events.h"
#include "thrown.h"
#include "training/memory_folder.h"

namespace minnow::test {
namespace {

using tensorboard::Writer;

/// "NAME (OP) <- INPUT, INPUT", a line for each node.
std::string graph_of(const std::string& path) {
  std::string text;
  for (const std::string& node : fields(field(records_of(path).back(), 4), 1)) {
    text += field(node, 1) + " (" + field(node, 2) + ")";
    for (const std::string& input : fields(node, 3)) text += (input == fields(node, 3)[0] ? " <- " : ", ") + input;
    text += "\n";
  }
  return text;
}

class TensorBoardGraph : public ::testing::Test {
 protected:
  TemporaryFolder folder;
  Writer writer{folder / "run"};
};

struct Block : nn::Module {
  nn::Linear first = child("first", nn::Linear(4, 4)), second = child("second", nn::Linear(4, 4));
  Tensor forward(const Tensor& x) override { return relu(x + second(relu(first(x)))); }
};
struct GraphNet : nn::Module {
  nn::Sequential features = child("features", nn::Sequential(nn::Linear(6, 4), nn::Dropout(0.5)));
  Block block = child("block", Block());
  nn::Linear head = child("head", nn::Linear(4, 2));
  Tensor forward(const Tensor& x) override {
    const Tensor y = block(features(x.flatten(1)));
    return head(y) + head(y * 2);
  }
};

TEST_F(TensorBoardGraph, HasANodeForEachCallOfALayer) {
  GraphNet net;
  {
    const NoGradGuard off;
    writer.add_graph(net, zeros({5, 2, 3}));
    EXPECT_FALSE(is_grad_enabled());
  }
  EXPECT_TRUE(net.features.is_training());
  EXPECT_EQ(graph_of(writer.path()),
            "input (IO Node)\n"
            "GraphNet/Sequential[features]/Linear[0] (Linear) <- input\n"
            "GraphNet/Sequential[features]/Dropout[1] (Dropout) <- GraphNet/Sequential[features]/Linear[0]\n"
            "GraphNet/Block[block]/Linear[first] (Linear) <- GraphNet/Sequential[features]/Dropout[1]\n"
            "GraphNet/Block[block]/Linear[second] (Linear) <- GraphNet/Block[block]/Linear[first]\n"
            "GraphNet/Linear[head] (Linear) <- GraphNet/Sequential[features]/Dropout[1], "
            "GraphNet/Block[block]/Linear[second]\n"
            "GraphNet/Linear[head]_1 (Linear) <- GraphNet/Sequential[features]/Dropout[1], "
            "GraphNet/Block[block]/Linear[second]\n"
            "output (IO Node) <- GraphNet/Linear[head], GraphNet/Linear[head]_1\n");
  for (const std::string& node : fields(field(records_of(writer.path()).back(), 4), 1)) {
    if (field(node, 1) != "GraphNet/Linear[head]") continue;
    const auto attributes = fields(node, 5);
    ASSERT_EQ(attributes.size(), 2);
    EXPECT_EQ(field(attributes[0], 1), "_output_shapes");
    std::vector<double> sizes;  // ListValue.shape = 7: dim = 2: size = 1
    for (const std::string& dim : fields(field(field(field(attributes[0], 2), 1), 7), 2))
      sizes.push_back(numbers(dim)[1][0]);
    EXPECT_EQ(sizes, (std::vector{5.0, 2.0}));
    EXPECT_EQ(field(field(attributes[1], 2), 2), "Linear(4, 2)");
  }
}

struct Pair : nn::ModuleOf<std::pair<Tensor, Tensor>(Tensor, Tensor)> {
  nn::Embedding words = child("words", nn::Embedding(10, 4));
  nn::Linear out = child("out", nn::Linear(4, 4));
  std::pair<Tensor, Tensor> forward(Tensor tokens, Tensor mask) override {
    const Tensor x = words(tokens);
    return {out(x * mask), x};
  }
};

struct InPlaceNet : nn::Module {
  bool by_view = false;
  nn::Linear head = child("head", nn::Linear(3, 2));
  Tensor forward(const Tensor& x) override {
    Tensor y = x;
    y.sub_(0.5);
    if (by_view) y.view({-1, 3}).mul_(2);
    return head(y);
  }
};

TEST_F(TensorBoardGraph, OfAModelThatWritesToItsInput) {
  const Tensor x = ones({2, 3});
  InPlaceNet net;
  for (const bool by_view : {false, true}) {
    net.by_view = by_view;
    writer.add_graph(net, x);
    EXPECT_EQ(
        graph_of(writer.path()),
        "input (IO Node)\nInPlaceNet/Linear[head] (Linear) <- input\noutput (IO Node) <- InPlaceNet/Linear[head]\n");
  }
  EXPECT_EQ(x.to_vector<float>(), std::vector<float>(6, 1));
}

struct LatinNet : nn::Module {
  nn::Linear head = child("Schl\xfcssel", nn::Linear(3, 2));
  Tensor forward(const Tensor& x) override { return head(x); }
};

TEST_F(TensorBoardGraph, NamesModulesInUtf8) {
  const std::string text = error_of<ValueError>([&] { writer.add_graph(LatinNet(), ones({2, 3})); });
  expect_contains(text, R"(add_graph: "LatinNet/Linear[Schl\xfcssel]" is not UTF-8)");
}

TEST_F(TensorBoardGraph, TakesOtherInputsByACall) {
  const Pair net;
  const Tensor tokens = zeros({3}, int64), mask = ones({3, 1});
  writer.add_graph(net, [&] { (void)net(tokens, mask); });
  EXPECT_EQ(graph_of(writer.path()),
            "input (IO Node)\n"
            "input_1 (IO Node)\n"
            "Pair/Embedding[words] (Embedding) <- input\n"
            "Pair/Linear[out] (Linear) <- input_1, Pair/Embedding[words]\n"
            "output (IO Node) <- Pair/Linear[out]\n"
            "output_1 (IO Node) <- Pair/Embedding[words]\n");
  EXPECT_FALSE(mask.requires_grad());
}

TEST_F(TensorBoardGraph, IsThatOfALayerOrOfAQuantizedModel) {
  writer.add_graph(nn::Linear(3, 2), zeros({1, 3}));
  EXPECT_EQ(graph_of(writer.path()), "input (IO Node)\nLinear (Linear) <- input\noutput (IO Node) <- Linear\n");
  nn::Sequential net(nn::Linear(3, 2), nn::Linear(2, 2));
  nn::quantize_dynamic_(net);
  writer.add_graph(net, zeros({1, 3}));
  EXPECT_TRUE(has(graph_of(writer.path()), "Sequential/Linear[1] (Linear) <- Sequential/Linear[0]\n"))
      << graph_of(writer.path());
}

TEST_F(TensorBoardGraph, OfALongModelTakesLittleTime) {
  nn::Sequential net;
  for (int i = 0; i < 2000; ++i) net.push_back(nn::Linear(1, 1));
  writer.add_graph(net, zeros({1, 1}));
  EXPECT_TRUE(has(graph_of(writer.path()), "Sequential/Linear[1999] (Linear) <- Sequential/Linear[1998]\n"));
}

TEST_F(TensorBoardGraph, IsLeftOutWhereForwardThrows) {
  const auto size = std::filesystem::file_size(writer.path());
  const nn::Linear net(3, 2);
  expect_contains(error_of<ShapeError>([&] { writer.add_graph(net, zeros({1, 4})); }), "graph_test.cpp");
  EXPECT_EQ(std::filesystem::file_size(writer.path()), size);
}

}  // namespace
}  // namespace minnow::test
