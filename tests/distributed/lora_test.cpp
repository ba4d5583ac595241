#include <gtest/gtest.h>
#include <optional>
#include <minnow/distributed/collectives.h>
#include <minnow/distributed/data_parallel.h>
#include <minnow/distributed/process.h>
#include <minnow/llm/llm.h>
#include <minnow/minnow.h>
#include "devices.h"

namespace minnow {
namespace {

struct Frozen : nn::Module {
  llm::Linear first = child("first", llm::Linear(32, 64)), last = child("last", llm::Linear(64, 2));
  Tensor forward(const Tensor& x) override { return last(tanh(first(x))); }
};

class LoraOnRanks : public test::DeviceTest {};
INSTANTIATE_TEST_SUITE_P(Devices, LoraOnRanks, test::all_devices(), test::device_test_name);

/// What is averaged are the gradients of the adapter: it is the module that is given to DataParallel.
TEST_P(LoraOnRanks, TrainAsOneDoes) {
  const auto train = [&](bool alone) {
    manual_seed(3);
    Frozen net;
    net.to(device());
    if (device().is_cpu()) llm::quantize_(net, llm::GgufType::q8_0);
    manual_seed(static_cast<std::uint64_t>(alone ? 5 : 5 + dist::rank()));  // what rank 0 has counts
    llm::lora::Adapter adapter = llm::lora::attach(net, {.rank = 2, .targets = {"first", "last"}});
    std::optional<dist::DataParallel> parallel;
    if (!alone) parallel.emplace(adapter);
    optim::AdamW adamw(adapter.parameters(), {.lr = 0.02});
    for (int step = 0; step < 10; ++step) {
      Tensor x = sin(arange(12 * 32, {.dtype = float32}).view({12, 32}) * (1.3 + 0.1 * step)).to(device());
      const std::int64_t rows = 12 / dist::size();
      if (!alone) x = x.narrow(0, dist::rank() * rows, rows);
      const Tensor loss = mean(square(net(x) - 1));
      adamw.zero_grad();
      loss.backward();
      adamw.step();
    }
    return adapter.peft_state_dict();
  };
  const StateDict together = train(false), alone = train(true);
  ASSERT_EQ(together.size(), 4U);
  for (const auto& [name, value] : together) {
    EXPECT_TRUE(allclose(value, alone.at(name), 1e-4, 1e-5)) << name;
    const Tensor all = dist::all_gather(value);
    for (int r = 1; r < dist::size(); ++r) EXPECT_TRUE(equal(all[0], all[r])) << name << " of rank " << r;
  }
}

}  // namespace
}  // namespace minnow
