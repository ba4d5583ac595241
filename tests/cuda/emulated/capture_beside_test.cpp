#include <atomic>
#include <emulator/launch.h>
#include <gtest/gtest.h>
#include <thread>
#include <minnow/minnow.h>
#include <minnow/tensor/backend/devices.h>
#include <minnow/tensor/backend/dispatch.h>
#include <minnow/tensor/raw/copy.h>
#include <minnow/tensor/raw/transfer.h>

#include "support/host_tensor.h"
#include "support/thrown.h"

/// Work of other threads while one captures a graph: it must neither invalidate the capture nor become part of it.
namespace minnow {
namespace {

using test::error_of;

constexpr std::int64_t kMany = 1000;

Tensor pinned(double value) { return raw::pin_memory(full({kMany}, value, {DType::float32})); }

class CaptureBeside : public ::testing::Test {
 protected:
  ~CaptureBeside() override { empty_cache("cuda"); }

  /// Captures y = x + 1, with `before` called on this thread and `beside` on another in the middle; then replays it.
  template <class Before, class Beside> static void capture(Before before, Beside beside) {
    const Tensor x = full({4}, 2.0, {.device = "cuda"});
    synchronize("cuda");
    const auto recording = cuda_backend()->begin_capture(0);
    Tensor y = x + 1;
    before();
    std::thread([&] { EXPECT_NO_THROW(beside()); }).join();
    y = y * 2;
    ASSERT_NO_THROW(recording->finish());
    for (const float was : {2.0f, 7.0f}) {
      raw::copy_to(full({4}, was, {.device = "cuda"}), x, {});
      recording->replay();
      EXPECT_EQ(y.to_vector<float>(), (std::vector<float>(4, 2 * (was + 1))));
    }
  }
  template <class Beside> static void capture(Beside beside) {
    capture([] {}, beside);
  }
};

TEST_F(CaptureBeside, DeviceWaitWaitsForOtherStreams) {
  const Tensor source = pinned(3);
  const Stream side{Device("cuda")};
  capture([&] {
    const Tensor x = raw::to_device(source, "cuda", true);
    Tensor y;
    {
      const StreamGuard guard(side);
      y = raw::to_device(source, "cuda", true);
    }
    EXPECT_GT(emulator::waiting_work(), 0u);
    const std::size_t waits = emulator::calls_of("cudaDeviceSynchronize");
    synchronize("cuda");
    EXPECT_EQ(emulator::calls_of("cudaDeviceSynchronize"), waits);
    EXPECT_EQ(emulator::waiting_work(), 0u);
  });
  const std::size_t waits = emulator::calls_of("cudaDeviceSynchronize");
  synchronize("cuda");
  EXPECT_EQ(emulator::calls_of("cudaDeviceSynchronize"), waits + 1) << "with no capture it is CUDA's own";
}

TEST_F(CaptureBeside, DeviceWaitIncludesEarlierWorkOfCapturedStreams) {
  const Tensor source = pinned(3);
  const Stream side{Device("cuda")};
  capture(
      [&] {
        std::thread([&] {
          const StreamGuard guard(side);
          EXPECT_TRUE(raw::to_device(source, "cuda", true).defined());
        }).join();
        side.wait(current_stream("cuda").record());  // captured too from now on
        current_stream("cuda").wait(side.record());
        EXPECT_GT(emulator::waiting_work(), 0u);
      },
      [&] {
        synchronize("cuda");
        EXPECT_EQ(emulator::waiting_work(), 0u);
      });
}

TEST_F(CaptureBeside, AllocationsWork) {
  const Stream side{Device("cuda")};
  capture([&] {
    for (int i = 0; i < 3; ++i) {
      Tensor x = full({kMany << i}, 1.5, {.device = "cuda"});
      const Tensor large = empty({1 << 21}, {.device = "cuda"});
      side.wait(current_stream("cuda").record());
      {
        const StreamGuard guard(side);
        x = x * 2;
      }
      current_stream("cuda").wait(side.record());
      EXPECT_EQ(x.to_vector<float>()[kMany - 1], 3);
      empty_cache("cuda");
      const Tensor host = pinned(1);
      EXPECT_GT(memory_stats("cuda").allocated, 0);
    }
  });
}

TEST_F(CaptureBeside, OutOfMemoryIsTypedAndKeepsTheCapture) {
  capture([] {
    const std::string message = error_of<OutOfMemoryError>([] { empty({std::int64_t{1} << 40}, {.device = "cuda"}); });
    EXPECT_NE(message.find("out of memory on cuda:0"), std::string::npos) << message;
  });
}

TEST_F(CaptureBeside, CopiesAndEventsWork) {
  capture([] {
    const Tensor x = raw::to_device(full({kMany}, 4.0, {}), "cuda");  // pageable
    const Tensor host = raw::to_device(x, "cpu", true);
    while (!host.is_ready()) std::this_thread::yield();
    EXPECT_EQ(test::values(host)[5], 4);
    const Stream side{Device("cuda")};
    const Event start = side.record();
    side.wait(current_stream("cuda").record());
    EXPECT_GE(side.record().seconds_since(start), 0);
    side.synchronize();
    EXPECT_EQ(x.to_vector<float>()[7], 4);
    EXPECT_EQ(sum(x).item(), 4000);
    transfer_report();
  });
}

TEST_F(CaptureBeside, AnotherCapturedStepRuns) {
  capture([] {
    CapturedStep step([](const Tensor& x) { return x * 3; }, {.device = "cuda", .warm_up = 1});
    for (const float value : {1.0f, 2.0f, 5.0f})
      EXPECT_EQ(step(full({3}, value, {})).to_vector<float>(), (std::vector<float>(3, 3 * value)));
    EXPECT_EQ(step.captures(), 1);
  });  // its pool is closed during the other capture
}

TEST_F(CaptureBeside, DataLoaderContinues) {
  capture([] {
    for (const int workers : {0, 2}) {
      data::DataLoader loader(data::SyntheticDigits(96), {.batch_size = 32, .num_workers = workers, .device = "cuda"});
      std::int64_t rows = 0;
      for (auto& [images, labels] : loader) {
        EXPECT_EQ(labels.to_vector<std::int64_t>().size(), 32u);
        rows += images.shape()[0];
      }
      EXPECT_EQ(rows, 96);
      EXPECT_EQ(loader.stats().batches, 3);
    }
  });
}

TEST_F(CaptureBeside, CapturedStreamIsNotUsedByOthersUntilTheEnd) {
  capture(
      [] {
        const Stream mine{Device("cuda")};
        mine.wait(current_stream("cuda").record());
        current_stream("cuda").wait(mine.record());
      },
      [] {
        const Stream fresh{Device("cuda")};
        const StreamGuard guard(fresh);
        EXPECT_EQ(full({3}, 2.0, {.device = "cuda"}).to_vector<float>(), (std::vector<float>{2, 2, 2}));
        fresh.synchronize();
      });
}

TEST_F(CaptureBeside, EventOfTheCaptureDoesNotAddOtherStreams) {
  Event inside;
  capture([&] { inside = current_stream("cuda").record(); },
          [&] {
            const std::string message = error_of<BackendError>([&] { current_stream("cuda").wait(inside); });
            EXPECT_NE(message.find("recorded in a captured step"), std::string::npos) << message;
            synchronize("cuda");
          });
}

TEST_F(CaptureBeside, AllTogether) {
  std::atomic<bool> over = false;
  std::atomic<int> rounds = 0;
  std::thread other([&] {
    const Tensor source = pinned(3);
    while (!over || rounds < 20) {
      Tensor x = raw::to_device(source, "cuda", true) + 1;
      synchronize("cuda");
      x = full({(rounds % 4 + 1) * kMany}, 1.0, {.device = "cuda"});
      if (rounds % 3 == 0) empty_cache("cuda");
      EXPECT_EQ(sum(x).item(), static_cast<double>(x.numel()));
      ++rounds;
    }
  });
  for (int i = 0; i < 20; ++i) {
    CapturedStep step([](const Tensor& x) { return sum(x * x); }, {.device = "cuda", .warm_up = 0});
    for (int k = 1; k < 4; ++k) EXPECT_EQ(step(full({5}, k, {})).item(), 5.0 * k * k);
  }
  over = true;
  other.join();
}

}  // namespace
}  // namespace minnow
