// Recipes of docs/cookbook/data.md that need OpenCV.
#include <opencv2/core.hpp>
#include <minnow/interop/opencv.h>

#include "recipe.h"

using namespace minnow;

// # Images of OpenCV
// BGR bytes become RGB float32 `[3, H, W]` in [0, 1], in one pass. minnow links nothing of OpenCV;
// your program does.
const Recipe mat_recipe("cv::Mat", [] {
  nn::Conv2d net(3, 3, 3, {.padding = 1});
  const cv::Mat frame(20, 30, CV_8UC3, cv::Scalar(255, 0, 0));  // blue
  // [
  // #include <minnow/interop/opencv.h>
  const Tensor x = image_from_mat(frame);                         // a copy
  const cv::Mat result = mat_from_image(net(x.unsqueeze(0))(0));  // and back, as bytes
  const Tensor pixels = from_mat(frame);  // uint8 [H, W, C]: the frame's own memory
  // ]
  expect(x.shape() == Shape{3, 20, 30} && x[2][0][0].item() == 1 && x[0][0][0].item() == 0);
  expect(result.rows == 20 && pixels.data<std::uint8_t>() == frame.data);
});
