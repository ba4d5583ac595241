#include <atomic>
#include <gtest/gtest.h>
#include <thread>
#include <minnow/tensor/raw/transfer.h>
#include <minnow/tensor/runtime/stream.h>
#include <minnow/tensor/sim/options.h>

#include "support/devices.h"
#include "support/host_tensor.h"

namespace minnow {
namespace {

class StreamTest : public test::DeviceTest {};
INSTANTIATE_TEST_SUITE_P(Devices, StreamTest, test::all_devices(), test::device_test_name);

TEST_P(StreamTest, GuardsNestAndRestore) {
  const Stream outer(device()), inner(device());
  const Stream before = current_stream(device());
  if (device().is_cpu()) return;  // calls are synchronous: there is one stream
  {
    const StreamGuard first(outer);
    EXPECT_EQ(current_stream(device()).state(), outer.state());
    {
      const StreamGuard second(inner);
      EXPECT_EQ(current_stream(device()).state(), inner.state());
    }
    EXPECT_EQ(current_stream(device()).state(), outer.state());
  }
  EXPECT_EQ(current_stream(device()).state(), before.state());
  EXPECT_EQ(current_stream(device()).device(), device());
}

TEST_P(StreamTest, TheCurrentStreamIsTheThreadsOwn) {
  const Stream mine(device());
  const Stream standard = current_stream(device());
  if (device().is_cpu()) return;
  const StreamGuard guard(mine);
  std::thread([&] { EXPECT_EQ(current_stream(device()).state(), standard.state()); }).join();
  EXPECT_EQ(current_stream(device()).state(), mine.state());
}

TEST_P(StreamTest, EventsOfIdleStreamsAreComplete) {
  const Event none;
  EXPECT_TRUE(none.is_ready());
  none.synchronize();
  EXPECT_EQ(none.seconds_since(none), 0.0);
  const Stream stream(device());
  const Event event = stream.record();
  event.synchronize();
  EXPECT_TRUE(event.is_ready());
  stream.wait(event);
  stream.wait(none);
  stream.synchronize();
  synchronize(device());
}

/// Copies of known duration: 1 MB at 10 MB/s takes 100 ms, longer than the delays of a busy machine.
class SimStreamTest : public ::testing::Test {
 protected:
  static constexpr double kSeconds = 0.1;
  static Tensor pinned() { return raw::pin_memory(test::counting(250'000)); }

  sim::ScopedOptions options_{{.devices = 2, .bandwidth = 10e6}};
};

TEST_F(SimStreamTest, CopiesOverlapTheHostAndEventsTellWhenTheyAreDone) {
  const Tensor x = pinned();
  const Stream side("sim:0");
  Tensor moved;
  Event start, end;
  {
    const StreamGuard guard(side);
    start = side.record();
    moved = raw::to_device(x, "sim:0", true);
    end = side.record();
  }
  EXPECT_TRUE(start.is_ready());
  EXPECT_FALSE(end.is_ready());
  end.synchronize();
  EXPECT_TRUE(end.is_ready());
  EXPECT_GE(end.seconds_since(start), kSeconds);
  EXPECT_LT(end.seconds_since(start), 50 * kSeconds);
  EXPECT_EQ(test::values(raw::to_device(moved, "cpu")), test::values(x));
}

TEST_F(SimStreamTest, AStreamThatWaitsForAnEventSeesTheCopy) {
  const Tensor x = pinned();
  const Stream side("sim:0");
  Tensor moved;
  {
    const StreamGuard guard(side);
    moved = raw::to_device(x, "sim:0", true);
  }
  const Event copied = side.record();
  EXPECT_FALSE(copied.is_ready());
  current_stream("sim:0").wait(copied);
  current_stream("sim:0").synchronize();
  EXPECT_TRUE(copied.is_ready());
}

TEST_F(SimStreamTest, AnotherDeviceCanWaitForAnEvent) {
  const Tensor x = pinned();
  const Tensor moved = raw::to_device(x, "sim:0", true);
  const Event copied = current_stream("sim:0").record();
  const Stream other("sim:1");
  other.wait(copied);
  const Event after = other.record();
  EXPECT_FALSE(copied.is_ready());
  EXPECT_FALSE(after.is_ready());
  after.synchronize();
  EXPECT_TRUE(copied.is_ready());
  EXPECT_GE(after.seconds_since(copied), 0.0);
  synchronize("sim:1");
}

TEST_F(SimStreamTest, SynchronizeWaitsForAllStreamsOfTheDevice) {
  const Tensor x = pinned();
  const Stream side("sim:0");
  std::vector<Tensor> moved;
  for (int i = 0; i < 2; ++i) {
    const StreamGuard guard(side);
    moved.push_back(raw::to_device(x, "sim:0", true));
  }
  const Event event = side.record();
  EXPECT_FALSE(event.is_ready());
  synchronize("sim:0");
  EXPECT_TRUE(event.is_ready());
}

TEST_F(SimStreamTest, WaitForAnEventOfAnotherDeviceDelaysLaterCopies) {
  struct Gate final : Event::State {
    bool is_ready() override { return open.load(); }
    void synchronize() override {
      while (!open.load()) std::this_thread::yield();
    }
    double seconds() override { return 0; }
    std::atomic<bool> open = false;
  };
  const auto gate = std::make_shared<Gate>();
  const Tensor x = raw::pin_memory(test::counting(16));
  const Stream side("sim:0");
  side.wait(Event(gate));
  Tensor moved;
  {
    const StreamGuard guard(side);
    moved = raw::to_device(x, "sim:0", true);
  }
  const Event copied = side.record();
  std::this_thread::sleep_for(std::chrono::milliseconds(10));
  EXPECT_FALSE(copied.is_ready());
  gate->open = true;
  copied.synchronize();
  EXPECT_EQ(test::values(raw::to_device(moved, "cpu")), test::values(x));
}

}  // namespace
}  // namespace minnow
