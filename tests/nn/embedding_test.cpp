#include <gtest/gtest.h>
#include <support/devices.h>
#include <minnow/minnow.h>
#include "errors.h"

namespace minnow {
namespace {

using test::expect_errors;
using test::Misuse;

class EmbeddingOn : public test::DeviceTest {};
INSTANTIATE_TEST_SUITE_P(Devices, EmbeddingOn, test::all_devices(), test::device_test_name);

TEST_P(EmbeddingOn, ReturnsRowsAndTheirGradients) {
  nn::Embedding table(5, 3);
  table.to(device());
  ASSERT_EQ(table.state_dict().size(), 1u);
  EXPECT_EQ(table.state_dict().begin()->first, "weight");
  EXPECT_EQ(table.describe(), "Embedding(5, 3)");
  const Tensor words = tensor({{4, 0}, {4, 1}}).to(int32).to(device());
  const Tensor before = table.weight.detach().cpu().clone();
  const Tensor y = table(words);
  EXPECT_EQ(y.shape(), (Shape{2, 2, 3}));
  EXPECT_TRUE(y.detach().cpu()(0, 0).equal(before(4)));
  y.sum().backward();
  EXPECT_EQ(table.weight.grad().cpu()(all, 0).to_vector<float>(), (std::vector<float>{1, 1, 0, 0, 2}));
}

TEST_P(EmbeddingOn, PaddingRowStaysZero) {
  nn::Embedding table(4, 2, {.padding_idx = -1});
  table.to(device());
  EXPECT_EQ(table.describe(), "Embedding(4, 2, padding_idx -1)");
  optim::SGD sgd(table.parameters(), 0.1);
  table(tensor({3, 0, 3}).to(device())).sum().backward();
  sgd.step();
  EXPECT_EQ(table.weight.detach().cpu()(3).to_vector<float>(), (std::vector<float>{0, 0}));
}

TEST(Embedding, RefusesBadSizesAndIndices) {
  nn::Embedding table(4, 2);
  const Tensor words = tensor({1, 7});
  expect_errors({
      Misuse{"ValueError", "Embedding", "must be positive, got 0 and 2", [] { nn::Embedding(0, 2); }},
      Misuse{"IndexError", "Embedding", "padding_idx must be in [-4, 3], got 4",
             [] { nn::Embedding(4, 2, {.padding_idx = 4}); }},
      Misuse{"IndexError", "embedding", "7", [=]() mutable { table(words); }},
      Misuse{"DTypeError", "embedding", "index must be int64 or int32", [=]() mutable { table(ones({2})); }},
      Misuse{"ShapeError", "embedding", "weight must have two dimensions", [=] { embedding(words, ones({3})); }},
      Misuse{"IndexError", "embedding", "padding_idx must be in [-3, 2], got 3",
             [=] {
               embedding(words, ones({3, 2}), 3);
             }},
  });
}

}  // namespace
}  // namespace minnow
