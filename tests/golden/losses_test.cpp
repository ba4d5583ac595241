#include <minnow/nn/loss.h>

#include "devices.h"
#include "golden.h"

namespace minnow::test {
namespace {

class GoldenLosses : public DeviceTest {};
INSTANTIATE_TEST_SUITE_P(Devices, GoldenLosses, all_devices(), device_test_name);

using Tensors = std::vector<Tensor>;

Case cross_entropy(const nn::CrossEntropyOptions& options) {
  return {[options](const Tensors& x) { return Tensors{nn::cross_entropy(x[0], x[1], options)}; }};
}

Case nll_loss(const nn::NllOptions& options) {
  return {[options](const Tensors& x) { return Tensors{nn::nll_loss(x[0], x[1], options)}; }};
}

TEST_P(GoldenLosses, AgreeWithPyTorch) {
  const Book book("losses", device());
  const Tensor weight = book["weight"];
  std::map<std::string, Case> cases;
  for (const auto& [name, r] : std::map<std::string, nn::Reduction>{
           {"mean", nn::Reduction::mean}, {"sum", nn::Reduction::sum}, {"none", nn::Reduction::none}}) {
    cases["cross_entropy/" + name] = cross_entropy({.reduction = r});
    cases["cross_entropy/weight," + name] = cross_entropy({.weight = weight, .reduction = r});
    cases["cross_entropy/ignore," + name] = cross_entropy({.reduction = r});
    cases["cross_entropy/smooth," + name] = cross_entropy({.label_smoothing = 0.1, .reduction = r});
    cases["cross_entropy/all," + name] =
        cross_entropy({.weight = weight, .ignore_index = 3, .label_smoothing = 0.2, .reduction = r});
    cases["cross_entropy/probabilities," + name] = cross_entropy({.reduction = r});
    cases["cross_entropy/probabilities,all," + name] =
        cross_entropy({.weight = weight, .label_smoothing = 0.2, .reduction = r});
    cases["nll_loss/" + name] = nll_loss({.reduction = r});
    cases["nll_loss/weight,ignore," + name] = nll_loss({.weight = weight, .ignore_index = 3, .reduction = r});
    cases["mse_loss/" + name] = {
        [r = r](const Tensors& x) { return Tensors{nn::mse_loss(x[0], x[1], {.reduction = r})}; }};
  }
  for (const char* name : {"images", "one", "all ignored", "large"})
    cases[std::string("cross_entropy/") + name] = cross_entropy({});
  check(book, cases);
}

}  // namespace
}  // namespace minnow::test
