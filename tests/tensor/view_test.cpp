#include <gtest/gtest.h>
#include <minnow/ops/elementwise/arithmetic.h>
#include <minnow/tensor/create.h>
#include <minnow/tensor/error.h>
#include "devices.h"

namespace minnow {
namespace {

using Values = std::vector<std::int64_t>;

class Views : public test::DeviceTest {
 protected:
  /// 0, 1, 2, ... in this shape.
  static Tensor counted(const Shape& shape) { return arange(shape.numel(), {DType::int64, device()}).reshape(shape); }
  static Values values(const Tensor& t) { return t.to_vector<std::int64_t>(); }
};
INSTANTIATE_TEST_SUITE_P(Devices, Views, test::all_devices(), test::device_test_name);

TEST_P(Views, ShareStorage) {
  const Tensor x = counted({2, 3});
  for (const Tensor& v :
       std::vector<Tensor>{x.view({3, 2}), x.t(), x.permute({1, 0}), x.unsqueeze(1), x.expand({4, 2, 3}), x.flatten(),
                           x.narrow(1, 0, 2), x.select(0, 1), x(all, slice(1))})
    EXPECT_EQ(v.storage(), x.storage());
  fill_(x.select(0, 1), 9);
  EXPECT_EQ(values(x), (Values{0, 1, 2, 9, 9, 9}));
}

TEST_P(Views, ShapesAndValues) {
  EXPECT_EQ(Shape({64, 784}).to_string(), "[64, 784]");
  const Tensor x = counted({2, 3});
  EXPECT_EQ(values(x.t()), (Values{0, 3, 1, 4, 2, 5}));
  EXPECT_EQ(values(x.t().reshape({-1})), (Values{0, 3, 1, 4, 2, 5}));
  EXPECT_EQ(x.reshape({3, -1}).shape(), (Shape{3, 2}));
  EXPECT_EQ(x.unsqueeze(-1).shape(), (Shape{2, 3, 1}));
  EXPECT_EQ(x.unsqueeze(0).squeeze().shape(), (Shape{2, 3}));
  EXPECT_EQ(x.unsqueeze(0).squeeze(1).shape(), (Shape{1, 2, 3}));
  EXPECT_EQ(x.expand({2, -1, 3}).shape(), (Shape{2, 2, 3}));
  EXPECT_EQ(values(x(0).expand({2, 3})), (Values{0, 1, 2, 0, 1, 2}));
  EXPECT_EQ(counted({2, 3, 4}).flatten(1).shape(), (Shape{2, 12}));
  EXPECT_EQ(counted({2, 3, 4}).flatten(0, 1).shape(), (Shape{6, 4}));
  EXPECT_EQ(counted({2, 3, 4}).permute({2, 0, 1}).shape(), (Shape{4, 2, 3}));
  EXPECT_EQ(tensor(7, {{}, device()}).flatten().shape(), (Shape{1}));
}

TEST_P(Views, IndexingAsInPython) {
  const Tensor x = counted({3, 10});
  EXPECT_EQ(values(x(0, slice(1, 9, 3))), (Values{1, 4, 7}));
  EXPECT_EQ(values(x(-1, slice(-2))), (Values{28, 29}));
  EXPECT_EQ(x(1, 2).item<std::int64_t>(), 12);
  EXPECT_EQ(x(newaxis, all, 0, newaxis).shape(), (Shape{1, 3, 1}));
  EXPECT_EQ(x(ellipsis, 3).shape(), (Shape{3}));
  EXPECT_EQ(values(x(ellipsis, 3)), (Values{3, 13, 23}));
  EXPECT_EQ(x(slice(2, 1)).shape(), (Shape{0, 10}));
  EXPECT_EQ(x(slice(0, 100)).shape(), (Shape{3, 10}));
  EXPECT_EQ(x(slice(3)).shape(), (Shape{0, 10}));
  EXPECT_EQ(x(slice(3)).storage_offset(), 0);  // nothing lies beyond the end of the memory
  EXPECT_EQ(values(x.narrow(1, -2, 2)), (Values{8, 9, 18, 19, 28, 29}));
  EXPECT_EQ(values(x(slice(1, 3), slice(0, 10, 5)).t()), (Values{10, 20, 15, 25}));
}

TEST_P(Views, ReshapeOfStridesThatAllowIt) {
  const Tensor x = counted({4, 6})(slice(0, 4), slice(0, 3));
  EXPECT_EQ(x.view({2, 2, 3}).storage(), x.storage());
  EXPECT_EQ(values(x.view({2, 2, 3})), values(x));
  EXPECT_THROW(x.view({12}), ShapeError);
  EXPECT_NE(x.reshape({12}).storage(), x.storage());
  EXPECT_EQ(values(x.reshape({12})), values(x));
  EXPECT_EQ(counted({0, 3}).reshape({3, 0, 2}).shape(), (Shape{3, 0, 2}));
  // A dimension of size 1 may have any stride.
  const Tensor one = counted({4, 3, 6})(all, slice(1, 2), slice(0, 3));
  EXPECT_EQ(one.view({2, 2, 3}).storage(), one.storage());
  EXPECT_EQ(values(one.view({2, 2, 3})), (Values{6, 7, 8, 24, 25, 26, 42, 43, 44, 60, 61, 62}));
  const Tensor leading = counted({2, 6})(slice(1, 2), slice(0, 6, 2));
  EXPECT_EQ(values(leading.view({3})), (Values{6, 8, 10}));
}

TEST_P(Views, ChannelsLastIsKeptByLikeAndClone) {
  const Tensor x = counted({2, 3, 4, 5}), last = x.contiguous(MemoryFormat::channels_last);
  EXPECT_TRUE(last.is_contiguous(MemoryFormat::channels_last));
  EXPECT_EQ(values(last), values(x));
  EXPECT_EQ(zeros_like(last).strides(), last.strides());
  EXPECT_EQ(last.clone().strides(), last.strides());
  EXPECT_EQ((last + 1).strides(), last.strides());
  EXPECT_EQ(values(last.contiguous()), values(x));
}

TEST_P(Views, BadInputsAreTypedErrors) {
  const Tensor x = counted({2, 3});
  EXPECT_THROW(x.reshape({4, 2}), ShapeError);
  EXPECT_THROW(x.reshape({-1, -1}), ShapeError);
  EXPECT_THROW(x.reshape({-1, 0}), ShapeError);
  EXPECT_THROW(x.reshape({-1, 4}), ShapeError);
  EXPECT_THROW(x.reshape({-2, -3}), ShapeError);
  EXPECT_THROW(x.permute({0, 0}), ShapeError);
  EXPECT_THROW(x.permute({0}), ShapeError);
  EXPECT_THROW(x.permute({0, 2}), IndexError);
  EXPECT_THROW(x.transpose(0, 2), IndexError);
  EXPECT_THROW(x.unsqueeze(4), IndexError);
  EXPECT_THROW(x.squeeze(-3), IndexError);
  EXPECT_THROW(x.expand({2, 4}), ShapeError);
  EXPECT_THROW(x.expand({3}), ShapeError);
  EXPECT_THROW(x.expand({-1, 2, 3}), ShapeError);  // a new dimension has no size to keep
  EXPECT_THROW(x(slice(0, 1)).expand({-2, 3}), ShapeError);
  EXPECT_THROW(x.flatten(1, 0), ValueError);
  EXPECT_THROW(x.narrow(1, 2, 2), IndexError);
  EXPECT_THROW(x.narrow(1, 0, -1), IndexError);
  EXPECT_THROW(x.select(0, 2), IndexError);
  EXPECT_THROW(x(0, 0, 0), IndexError);
  EXPECT_THROW(x(ellipsis, ellipsis), IndexError);
  EXPECT_THROW(x(slice(0, 2, -1)), ValueError);
  EXPECT_THROW(x.size(2), IndexError);
  EXPECT_THROW(static_cast<void>(x.contiguous(MemoryFormat::channels_last)), ShapeError);
  EXPECT_THROW(Tensor().shape(), ValueError);
  EXPECT_THROW(Shape({1, 1, 1, 1, 1, 1, 1, 1, 1}), ShapeError);
  const Tensor deep = counted({1, 1, 1, 1, 1, 1, 1}).unsqueeze(0);  // as many dimensions as there may be
  EXPECT_EQ(deep.dim(), 8);
  EXPECT_THROW(deep.unsqueeze(0), ShapeError);
  EXPECT_THROW(deep(newaxis), ShapeError);
  EXPECT_EQ(deep(0, newaxis).dim(), 8);
}

TEST(ViewErrors, AnIndexNamesTheUsersLine) {
  const Tensor x = arange(6).reshape({2, 3});
  const unsigned line = __LINE__ + 2;
  try {
    x(0, 9);
    FAIL() << "the index was accepted";
  } catch (const IndexError& e) { EXPECT_EQ(e.where().line, line) << e.what(); }
}

}  // namespace
}  // namespace minnow
