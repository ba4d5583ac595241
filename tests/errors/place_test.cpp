#include <gtest/gtest.h>
#include <minnow/nn/losses/loss.h>
#include <minnow/ops/indexing/index.h>
#include <minnow/ops/norms/softmax.h>
#include <minnow/tensor/create.h>
#include <minnow/tensor/error.h>
#include "errors.h"

/// Indices and targets out of range are named with their value and position.
namespace minnow {
namespace {

using test::expect_errors;
using test::Misuse;

TEST(Errors, IndicesAreNamedWithTheirPosition) {
  for (const Device device : {Device(), Device("sim:0")}) {
    const Tensor x = zeros({2, 3}).to(device), empty = zeros({0, 3}).to(device), number = ones({}).to(device);
    const Tensor wrong = tensor({{0, 1, 2}, {1, 7, 9}}).to(device).t(), row = tensor({0, 1, -1}).to(device);
    const Tensor five = full({}, 5).to(device), one = zeros({1}, {int64}).to(device);
    expect_errors({
        Misuse{"IndexError", "gather", "gather: index 7 at [1, 1] is out of range",
               [=] {
                 gather(zeros({3, 3}).to(x.device()), 1, wrong);
               }},
        Misuse{"IndexError", "gather", "indices of dimension 0 go from 0 to 1",
               [=] { gather(x, 0, wrong(slice(0, 2)).t()); }},
        Misuse{"IndexError", "scatter_add", "index 7 at [1, 1] is out of range",
               [=] {
                 scatter_add(zeros({3, 3}).to(x.device()), 1, wrong, zeros({3, 2}).to(x.device()));
               }},
        Misuse{"IndexError", "index_select", "index -1 at [2] is out of range", [=] { index_select(x, 0, row); }},
        Misuse{"IndexError", "index_add", "index -1 at [2] is out of range",
               [=] {
                 index_add(x, 1, row, zeros({2, 3}).to(x.device()));
               }},
        Misuse{"IndexError", "one_hot", "element 9 at [2, 1] is out of range", [=] { one_hot(wrong, 8); }},
        Misuse{"IndexError", "gather", "dimension 0 of x has no elements",
               [=] {
                 gather(empty, 0, zeros({1, 3}, {int64}).to(x.device()));
               }},
        Misuse{"IndexError", "index_select", "dimension 0 of x has no elements", [=] { index_select(empty, 0, one); }},
        Misuse{"IndexError", "gather", "index 5 is out of range", [=] { gather(number, 0, five); }},
        Misuse{"IndexError", "index_select", "index 5 is out of range", [=] { index_select(number, 0, five); }},
    });
  }
}

TEST(Errors, TargetsAreNamedWithTheirRow) {
  for (const Device device : {Device(), Device("sim:0")}) {
    const Tensor x = zeros({3, 4}).to(device), t = tensor({0, 3, 4}).to(device), weight = ones({4}).to(device);
    const Tensor image = zeros({1, 4, 2, 2}).to(device), pixels = tensor({{{0, 1}, {-1, 2}}}).to(device);
    const char* const found = "target 4 at [2] is out of range";
    const char* const range = "targets go from 0 to 3, or are ignore_index -100";
    expect_errors({
        Misuse{"IndexError", "cross_entropy", found, [=] { nn::cross_entropy(x, t); }},
        Misuse{"IndexError", "cross_entropy", found, [=] { nn::cross_entropy(x, t, {.weight = weight}); }},
        Misuse{"IndexError", "cross_entropy", found, [=] { nn::cross_entropy(x, t, {.label_smoothing = 0.1}); }},
        Misuse{"IndexError", "cross_entropy", range, [=] { nn::cross_entropy(x, t, {.label_smoothing = 0.1}); }},
        Misuse{"IndexError", "cross_entropy", "target -1 at [0, 1, 0] is out of range",
               [=] { nn::cross_entropy(image, pixels); }},
        Misuse{"IndexError", "nll_loss", found, [=] { nn::nll_loss(x, t); }},
    });
    const Tensor far = ones({4}).to(device.is_cpu() ? Device("sim:0") : Device());
    expect_errors({
        Misuse{"DeviceError", "cross_entropy", "  weight  float32[4]",
               [=] { nn::cross_entropy(x, t, {.weight = far}); }},
        Misuse{"DeviceError", "nll_loss", "  weight  float32[4]", [=] { nn::nll_loss(x, t, {.weight = far}); }},
    });
  }
}

}  // namespace
}  // namespace minnow
