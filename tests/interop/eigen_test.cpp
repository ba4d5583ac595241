#include <gtest/gtest.h>

#include <minnow/interop/eigen.h>
#include <minnow/minnow.h>

namespace minnow {
namespace {

TEST(Eigen, MapsAMatrixOfAnyStrides) {
  Tensor t = arange(24, float32).reshape({4, 6});
  const auto whole = eigen_map<float>(t);
  EXPECT_EQ(whole.rows(), 4);
  EXPECT_EQ(whole.cols(), 6);
  EXPECT_EQ(whole(2, 3), 15.0F);
  const auto part = eigen_map<const float>(t.transpose(0, 1)(slice(1, 6, 2)));  // [3, 4]
  EXPECT_EQ(part.rows(), 3);
  for (int i = 0; i < 3; ++i)
    for (int j = 0; j < 4; ++j) EXPECT_EQ(part(i, j), static_cast<float>(6 * j + 1 + 2 * i));
  eigen_map<float>(t(all, 2)) *= 10;
  EXPECT_EQ(t(3, 2).item(), 200);
  const Tensor ones_row = ones({1, 4}).expand({3, 4});
  EXPECT_EQ(eigen_map<const float>(ones_row).sum(), 12.0F);
}

TEST(Eigen, ProductsAgree) {
  const Tensor a = randn({5, 7}), b = randn({7, 3});
  const Eigen::MatrixXf product = eigen_map<const float>(a) * eigen_map<const float>(b);
  EXPECT_TRUE(allclose(from_eigen(product), matmul(a, b), 1e-5, 1e-5));
}

TEST(Eigen, CopiesMatricesVectorsAndExpressions) {
  Eigen::Matrix<double, 2, 3> m;  // columns are dense
  m << 1, 2, 3, 4, 5, 6;
  const Tensor t = from_eigen(m);
  EXPECT_EQ(t.shape(), Shape({2, 3}));
  EXPECT_EQ(t.dtype(), float64);
  EXPECT_EQ(t.to_vector<double>(), (std::vector<double>{1, 2, 3, 4, 5, 6}));
  EXPECT_EQ(from_eigen(m.row(1)).shape(), Shape({3}));
  EXPECT_EQ(from_eigen((m * 2).transpose()).to_vector<double>(), (std::vector<double>{2, 8, 4, 10, 6, 12}));
  EXPECT_EQ(from_eigen(Eigen::VectorXi::LinSpaced(4, 0, 3)).to_vector<int>(), (std::vector<int>{0, 1, 2, 3}));
  m(0, 0) = 9;
  EXPECT_EQ(t(0, 0).item(), 1);
  EXPECT_EQ(from_eigen(Eigen::MatrixXf(0, 3)).shape(), Shape({0, 3}));
}

TEST(Eigen, SharesMemoryOfBothOrders) {
  Eigen::MatrixXf columns = Eigen::MatrixXf::Random(3, 5);
  Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor> rows = columns;
  Eigen::VectorXd vector = Eigen::VectorXd::Ones(4);
  Tensor of_columns = share_eigen(columns), of_rows = share_eigen(rows), of_vector = share_eigen(vector);
  EXPECT_TRUE(equal(of_columns, of_rows));
  EXPECT_EQ(of_vector.shape(), Shape({4}));
  of_columns(1, 4).fill_(7);
  EXPECT_EQ(columns(1, 4), 7.0F);
  vector(2) = 5;
  EXPECT_EQ(of_vector(2).item(), 5);
  static_assert(!std::is_invocable_v<decltype([](auto&& m) -> decltype(share_eigen(std::forward<decltype(m)>(m))) {
                                       return share_eigen(std::forward<decltype(m)>(m));
                                     }),
                                     Eigen::MatrixXf>);
}

TEST(Eigen, RefusesOtherRanksAndDTypes) {
  EXPECT_THROW((void)eigen_map<float>(zeros({2, 3, 4})), ShapeError);
  EXPECT_THROW((void)eigen_map<float>(tensor(1.0F)), ShapeError);
  EXPECT_THROW((void)eigen_map<double>(zeros({2, 3})), DTypeError);
  EXPECT_THROW((void)eigen_map<float>(zeros({2, 3}, "sim:0")), DeviceError);
}

}  // namespace
}  // namespace minnow
