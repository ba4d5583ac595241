#include <gtest/gtest.h>
#include <minnow/tensor/create.h>
#include <minnow/tensor/error.h>
#include "devices.h"

namespace minnow {
namespace {

using Doubles = std::vector<double>;

class CreateOn : public test::DeviceTest {};
INSTANTIATE_TEST_SUITE_P(Devices, CreateOn, test::all_devices(), test::device_test_name);

TEST_P(CreateOn, ValuesAndDtypes) {
  EXPECT_EQ(arange(3, {{}, device()}).to_vector<double>(), (Doubles{0, 1, 2}));
  EXPECT_EQ(arange(3, {{}, device()}).dtype(), DType::int64);
  EXPECT_EQ(arange(1.0, 0.0, -0.5, {{}, device()}).to_vector<double>(), (Doubles{1, 0.5}));
  EXPECT_EQ(arange(0, 1, 0.4, {{}, device()}).numel(), 3);  // the last step falls short of stop
  EXPECT_EQ(arange(2, 2).numel(), 0);
  EXPECT_EQ(linspace(0, 1, 3, {{}, device()}).to_vector<double>(), (Doubles{0, 0.5, 1}));
  EXPECT_EQ(linspace(4, 9, 1).to_vector<double>(), (Doubles{4}));
  EXPECT_EQ(linspace(4, 9, 2).to_vector<double>(), (Doubles{4, 9}));
  EXPECT_EQ(linspace(5, -1, 4, {DType::int64, device()}).to_vector<double>(), (Doubles{5, 3, 1, -1}));
  const Tensor many = linspace(0.1, 0.7, 5001, {DType::float64});
  for (const std::int64_t i : {0, 1, 2499, 2500, 4999, 5000})
    EXPECT_EQ(many(i).item<double>(), i < 2500 ? 0.1 + static_cast<double>(i) * ((0.7 - 0.1) / 5000)
                                               : 0.7 - static_cast<double>(5000 - i) * ((0.7 - 0.1) / 5000));
  for (const double stop : {1.0, 0.7, 1.1})
    EXPECT_EQ(linspace(0.1, stop, 50, {DType::float64, device()})(-1).item(), stop);
  EXPECT_EQ(eye(2, 3, {{}, device()}).to_vector<double>(), (Doubles{1, 0, 0, 0, 1, 0}));
  EXPECT_EQ(eye(3, 2, {{}, device()}).to_vector<double>(), (Doubles{1, 0, 0, 1, 0, 0}));
  EXPECT_EQ(full({2}, true, {{}, device()}).dtype(), DType::bool_);
  EXPECT_EQ(full({2}, 7, {{}, device()}).to_vector<double>(), (Doubles{7, 7}));
  const Tensor nested = tensor({{1, 2}, {3, 4}}, {{}, device()});
  EXPECT_EQ(nested.shape(), (Shape{2, 2}));
  EXPECT_EQ(nested.dtype(), DType::int64);
  EXPECT_EQ(nested.to_vector<double>(), (Doubles{1, 2, 3, 4}));
  EXPECT_EQ(tensor({{1, 2}, {3, 4.5}}, {{}, device()}).dtype(), DType::float32);  // the last one decides
  EXPECT_EQ(tensor({0.5, 0.0}, {DType::bool_, device()}).to_vector<double>(), (Doubles{1, 0}));
  EXPECT_EQ(tensor({-1.5, 2.9}, {DType::int32, device()}).to_vector<double>(), (Doubles{-1, 2}));
  const std::vector<float> values{1.5F, 2.5F};
  EXPECT_EQ(tensor(values, {DType::float64, device()}).dtype(), DType::float64);
  EXPECT_EQ(tensor(values, {DType::float64, device()}).to_vector<double>(), (Doubles{1.5, 2.5}));
}

TEST_P(CreateOn, LikeVariantsKeepTheOrderOfDimensions) {
  const Tensor x = zeros({2, 3, 4, 5}, {{}, device()}).contiguous(MemoryFormat::channels_last);
  EXPECT_EQ(ones_like(x).strides(), x.strides());
  EXPECT_EQ(full_like(x, 2, DType::float64).strides(), x.strides());
  const Tensor rows = x.narrow(2, 0, 1);  // a dimension of size 1 is not in the way
  EXPECT_TRUE(ones_like(rows).is_contiguous(MemoryFormat::channels_last));
  EXPECT_EQ(full_like(x, 2, DType::float64).dtype(), DType::float64);
  for (const Tensor& like : {rand_like(x.to(DType::float64)), randn_like(x.to(DType::float64))}) {
    EXPECT_EQ(like.dtype(), DType::float64);
    EXPECT_EQ(like.shape(), x.shape());
    EXPECT_EQ(like.device(), device());
  }
}

TEST_P(CreateOn, RandomNumbersAreThoseOfTheCpu) {
  RandomGenerator a(3), b(3);
  EXPECT_EQ(randn({999}, {DType::float32, device(), &a}).to_vector<float>(),
            randn({999}, {DType::float32, {}, &b}).to_vector<float>());
  EXPECT_EQ(randperm(99, {DType::int64, device(), &a}).to_vector<std::int64_t>(),
            randperm(99, {DType::int64, {}, &b}).to_vector<std::int64_t>());
}

TEST_P(CreateOn, NormalScalesTheNumbersOfRandn) {
  RandomGenerator a(3), b(3);
  const auto plain = randn({999}, {DType::float64, device(), &a}).to_vector<double>();
  const auto scaled = normal(2, 0.5, {999}, {DType::float64, device(), &b}).to_vector<double>();
  for (std::size_t i = 0; i < plain.size(); ++i) EXPECT_NEAR(scaled[i], 2 + 0.5 * plain[i], 1e-12);
  EXPECT_EQ(normal(3, 0, {2}, device()).to_vector<double>(), (Doubles{3, 3}));
  EXPECT_EQ(normal(0, 1, {0}, float64).dtype(), float64);
  EXPECT_THROW((void)normal(0, -1, {2}), ValueError);
  EXPECT_THROW((void)normal(0, 1, {2}, int64), DTypeError);
}

TEST_P(CreateOn, OneElementIsACondition) {
  const auto holds = [&](const Tensor& x) { return x.to(device()) ? true : false; };
  EXPECT_TRUE(holds(tensor(0.5)));
  EXPECT_TRUE(holds(tensor({{-1}})));
  EXPECT_TRUE(holds(tensor({true})));
  EXPECT_FALSE(holds(tensor(0)));
  EXPECT_FALSE(holds(tensor({-0.0})));
  EXPECT_EQ(!tensor(0), true);
  static_assert(!std::is_convertible_v<Tensor, bool>, "only conditions take a tensor");
  for (const Shape& shape : {Shape{2}, Shape{0}, Shape{1, 3}}) EXPECT_THROW((void)holds(zeros(shape)), ValueError);
  EXPECT_THROW((void)static_cast<bool>(Tensor()), ValueError);
}

TEST_P(CreateOn, ViewsShareStorage) {
  const Tensor x = arange(24, {{}, device()}).view({2, 3, 4});
  EXPECT_EQ(x(1, all, slice(1, 3)).to_vector<double>(), (Doubles{13, 14, 17, 18, 21, 22}));
  EXPECT_EQ(x(ellipsis, 0, newaxis).shape(), (Shape{2, 3, 1}));
  EXPECT_EQ(x.transpose(0, 2).storage(), x.storage());
  EXPECT_EQ(x(0).mT().to_vector<double>(), (Doubles{0, 4, 8, 1, 5, 9, 2, 6, 10, 3, 7, 11}));
  EXPECT_THROW(x(slice(0, 2, -1)), ValueError);
  EXPECT_THROW(x(9), IndexError);
  EXPECT_THROW((void)x.transpose(0, 2).view({24}), ShapeError);
}

TEST_P(CreateOn, FromBlobOfADevicesMemory) {
  if (device().is_sim()) GTEST_SKIP() << "only minnow has such memory";
  const Tensor t = arange(12, {float32, device()}).reshape({3, 4});
  const Tensor columns =
      from_blob(t.raw_data(), {4, 3}, BlobOptions{.dtype = float32, .strides = Strides{1, 4}, .device = device()});
  EXPECT_EQ(columns.device(), device());
  EXPECT_EQ(columns.to_vector<double>(), (Doubles{0, 4, 8, 1, 5, 9, 2, 6, 10, 3, 7, 11}));
  EXPECT_EQ(columns.raw_data(), t.raw_data());
}

TEST(Create, RefusesBadSizes) {
  EXPECT_THROW(empty({std::int64_t{1} << 40, std::int64_t{1} << 40}), OutOfMemoryError);
  EXPECT_EQ(empty({std::int64_t{1} << 62, 4, 0}).numel(), 0);
  EXPECT_THROW(zeros({-1}), ShapeError);
  EXPECT_THROW(tensor({{1, 2}, {3}}), ShapeError);
  EXPECT_THROW(randint(3, 3, {2}), ValueError);
  EXPECT_THROW(arange(0, 3, 0), ValueError);
  EXPECT_THROW(arange(0.0, 1.0, 1e-30), OutOfMemoryError);
}

TEST(Create, FromBlobCallsItsDeleterOnce) {
  float values[2] = {1, 2};
  int calls = 0;
  {
    const Tensor x = from_blob(values, {2}, DType::float32, [&](void*) { ++calls; });
    const Tensor view = x(slice(1));
    EXPECT_EQ(view.item(), 2);
    EXPECT_EQ(calls, 0);
  }
  EXPECT_EQ(calls, 1);
}

}  // namespace
}  // namespace minnow
