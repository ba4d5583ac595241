#include <minnow/minnow.h>

#include "devices.h"
#include "golden.h"

namespace minnow::test {
namespace {

using namespace minnow::optim;

/// The module of make_training.py.
struct Counted : nn::Module {
  nn::Parameter weight = parameter("weight", zeros({3, 2}));
  nn::Parameter bias = parameter("bias", zeros({2}));
  nn::Buffer mean = buffer("mean", zeros({2}));
  nn::Buffer count = buffer("count", tensor(0));
};

class GoldenAveragedModel : public DeviceTest {};
INSTANTIATE_TEST_SUITE_P(Devices, GoldenAveragedModel, all_devices(), device_test_name);

TEST_P(GoldenAveragedModel, StatesAgreeWithPyTorch) {
  const Book book("averages", device());
  const std::map<std::string, AveragedModelOptions> all{{"swa", {}},
                                                        {"ema", {.decay = 0.8}},
                                                        {"swa, buffers", {.use_buffers = true}},
                                                        {"ema, buffers", {.decay = 0.8, .use_buffers = true}}};
  for (const auto& [name, options] : all) {
    SCOPED_TRACE(name);
    Counted net;
    net.to(device());
    AveragedModel average(net, options);
    for (int step = 0; step < 5; ++step) {
      const std::string at = "/" + std::to_string(step) + "/";
      StateDict weights = net.state_dict();
      for (auto& [key, value] : net.state_dict()) weights.set(key, book["model" + at + key]);
      net.load_state_dict(weights);
      average.update_parameters(net);
      EXPECT_EQ(average.n_averaged(), step + 1);
      for (const auto& [key, value] : average.state_dict())
        if (book.contains(name + at + key)) expect_close(value.to(device()), book[name + at + key], key + at);
        else EXPECT_EQ(value.item(), step + 1) << "whole numbers are copied";
    }
  }
}

}  // namespace
}  // namespace minnow::test
