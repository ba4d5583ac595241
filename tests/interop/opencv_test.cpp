#include <gtest/gtest.h>

#include <limits>
#include <minnow/interop/opencv.h>
#include <minnow/minnow.h>

namespace minnow {
namespace {

/// An image of 5 x 7 pixels whose byte i is i, and a part of it, whose rows have padding.
cv::Mat numbered(int type) {
  cv::Mat mat(5, 7, type);
  for (int y = 0; y < 5; ++y)
    for (int i = 0; i < 7 * mat.channels(); ++i) mat.ptr<std::uint8_t>(y)[i] = static_cast<std::uint8_t>(y * 30 + i);
  return mat;
}

TEST(OpenCv, SharesTheMemoryOfAnImageAndKeepsIt) {
  Tensor t;
  {
    cv::Mat whole = numbered(CV_8UC3);
    const cv::Mat part(whole, cv::Range(1, 4), cv::Range(2, 6));
    t = from_mat(part);
    whole.ptr<std::uint8_t>(1)[2 * 3] = 200;
  }
  EXPECT_EQ(t.shape(), Shape({3, 4, 3}));
  EXPECT_EQ(t.dtype(), uint8);
  EXPECT_EQ(t(0, 0, 0).item(), 200);
  EXPECT_EQ(t(2, 3, 1).item(), 3 * 30 + 5 * 3 + 1);
  EXPECT_EQ(from_mat(numbered(CV_8UC1)).shape(), Shape({5, 7}));
  EXPECT_EQ(from_mat(cv::Mat(0, 0, CV_32FC1)).shape(), Shape({0, 0}));
  EXPECT_EQ(from_mat(cv::Mat(2, 2, CV_64FC2, cv::Scalar(1, 2)))(1, 1, 1).item(), 2);
}

TEST(OpenCv, ReadsAnImageForANetwork) {
  const cv::Mat whole = numbered(CV_8UC3), part(whole, cv::Range(1, 4), cv::Range(2, 6));
  const Tensor rgb = image_from_mat(part), bgr = image_from_mat(part, {.rgb = false, .scale = 1});
  EXPECT_EQ(rgb.shape(), Shape({3, 3, 4}));
  EXPECT_TRUE(equal(bgr, from_mat(part).permute({2, 0, 1}).to(float32)));
  EXPECT_TRUE(allclose(rgb, bgr.flip({0}) / 255, 1e-6));
  const cv::Mat four(2, 2, CV_8UC4, cv::Scalar(1, 2, 3, 4));
  EXPECT_EQ(image_from_mat(four, {.scale = 1})(all, 0, 0).to_vector<float>(), (std::vector<float>{3, 2, 1, 4}));
  EXPECT_EQ(image_from_mat(cv::Mat(1, 1, CV_16UC1, cv::Scalar(65535))).item(), 1);
  EXPECT_EQ(image_from_mat(cv::Mat(1, 1, CV_64FC1, cv::Scalar(0.5))).item(), 0.5);
}

TEST(OpenCv, WritesATensorToAMat) {
  const Tensor t = arange(24, float32).reshape({2, 3, 4}).permute({1, 2, 0});  // [3, 4, 2]
  const cv::Mat mat = to_mat(t);
  EXPECT_EQ(mat.type(), CV_32FC2);
  EXPECT_EQ(mat.ptr<float>(2)[3 * 2 + 1], 23.0F);
  EXPECT_TRUE(equal(from_mat(mat), t));
  for (const DType dtype : {uint8, int8, int16, int32, float16, float64}) {
    const Tensor values = arange(6, dtype).reshape({2, 3});
    EXPECT_TRUE(equal(from_mat(to_mat(values)), values)) << name_of(dtype);
    EXPECT_TRUE(equal(from_mat(to_mat(values.reshape({2, 3, 1}))), values)) << name_of(dtype);
  }
  Tensor w = ones({2, 2}).requires_grad_();
  EXPECT_EQ(to_mat(w).at<float>(1, 1), 1.0F);
  EXPECT_EQ(to_mat(ones({2, 2}, "sim:0")).at<float>(1, 1), 1.0F);
}

TEST(OpenCv, AnImageComesBack) {
  const cv::Mat mat = numbered(CV_8UC3);
  EXPECT_TRUE(equal(from_mat(mat_from_image(image_from_mat(mat))), from_mat(mat)));
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const Tensor odd = tensor({-1.0F, 0.5F, 2.0F, nan}).reshape({1, 2, 2});
  EXPECT_EQ(from_mat(mat_from_image(odd)).flatten().to_vector<int>(), (std::vector<int>{0, 128, 255, 0}));
  EXPECT_EQ(mat_from_image(full({3, 1, 1}, 7, uint8)).at<cv::Vec3b>(0, 0), cv::Vec3b(7, 7, 7));
}

TEST(OpenCv, RefusesWhatOneOfThemDoesNotHave) {
  EXPECT_THROW((void)from_mat(cv::Mat(2, 2, CV_16UC1)), DTypeError);
  EXPECT_THROW((void)image_from_mat(cv::Mat(2, 2, CV_8SC1)), DTypeError);
  const int sizes[] = {2, 3, 4};
  EXPECT_THROW((void)from_mat(cv::Mat(3, sizes, CV_8UC1)), ShapeError);
  EXPECT_THROW((void)to_mat(zeros({2, 2}, int64)), DTypeError);
  EXPECT_THROW((void)to_mat(zeros({2})), ShapeError);
  EXPECT_THROW((void)mat_from_image(zeros({5, 2, 2})), ShapeError);
  EXPECT_THROW((void)mat_from_image(zeros({1, 2, 2}, int64)), DTypeError);
}

}  // namespace
}  // namespace minnow
