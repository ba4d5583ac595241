#include <minnow/ops/convolution/pool.h>
#include <minnow/ops/convolution/resample.h>
#include <minnow/ops/elementwise/prelu.h>

#include "op_cases.h"

namespace minnow::test {
namespace {

OpCase resample_row(const std::string& function, const std::string& golden, const Function& call,
                    const std::vector<Inputs>& inputs) {
  return {.function = function, .variant = golden, .call = call, .inputs = inputs, .golden = {"resample: " + golden}};
}

OpCases resampling() {
  OpCases cases{
      resample_row("pixel_shuffle", "pixel_shuffle/2", one([](const Tensors& x) { return pixel_shuffle(x[0], 2); }),
                   {{values({2, 8, 3, 2})}, {values({0, 4, 2, 2})}, {values({4, 2, 3})}}),
      resample_row("pixel_shuffle", "pixel_shuffle/3", one([](const Tensors& x) { return pixel_shuffle(x[0], 3); }),
                   {{values({2, 9, 1, 2})}}),
      resample_row("pixel_unshuffle", "pixel_unshuffle/2",
                   one([](const Tensors& x) { return pixel_unshuffle(x[0], 2); }),
                   {{values({2, 2, 6, 4})}, {values({0, 1, 2, 2})}, {values({1, 2, 4})}}),
      resample_row("interpolate", "interpolate/2",
                   one([](const Tensors& x) { return interpolate(x[0], {.scale_factor = 2}); }),
                   {{values({2, 3, 2, 3})}, {values({0, 1, 2, 2})}, {values({2, 1, 3})}, {values({1, 2, 2, 1, 3})}}),
      resample_row("interpolate", "interpolate/3,sequence",
                   one([](const Tensors& x) { return interpolate(x[0], {.scale_factor = 3}); }), {{values({2, 1, 3})}}),
      resample_row(
          "prelu", "prelu/one", one([](const Tensors& x) { return prelu(x[0], x[1]); }),
          {{values({2, 3, 4}, -1, 1), values({1})}, {values({}, -2, -1), values({1})}, {values({0}), values({1})}}),
      resample_row("prelu", "prelu/channels", one([](const Tensors& x) { return prelu(x[0], x[1]); }),
                   {{values({2, 3, 4}, -1, 1), values({3})}, {values({3}, -1, 1), values({3})}})};
  for (OpCase& c : cases)
    if (c.function != "prelu") c.dtypes = all_dtypes();
  return cases;
}

OpCases adaptive() {
  const auto of_images = [](Pair size) {
    return one([=](const Tensors& x) { return adaptive_avg_pool2d(x[0], size); });
  };
  return {
      resample_row("adaptive_avg_pool2d", "adaptive/1", of_images(1), {{values({2, 2, 4, 6})}, {values({0, 2, 4, 6})}}),
      resample_row("adaptive_avg_pool2d", "adaptive/7x3", of_images({7, 3}), {{values({1, 2, 7, 6})}}),
      resample_row("adaptive_avg_pool2d", "adaptive/3x4", of_images({3, 4}), {{values({1, 2, 7, 6})}}),
      resample_row("adaptive_avg_pool2d", "adaptive/9x2", of_images({9, 2}), {{values({1, 2, 7, 6})}}),
      resample_row("adaptive_avg_pool1d", "adaptive/sequence",
                   one([](const Tensors& x) { return adaptive_avg_pool1d(x[0], 4); }), {{values({2, 2, 6})}})};
}

const Register kResampleTables[] = {Register(resampling), Register(adaptive)};

}  // namespace
}  // namespace minnow::test
