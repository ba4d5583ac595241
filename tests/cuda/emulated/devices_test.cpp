#include <cstdlib>
#include <emulator/launch.h>
#include <gtest/gtest.h>
#include <minnow/minnow.h>

/// The device that the CUDA backend uses if other libraries change the current one.
namespace minnow {
namespace {

/// With a second device, in its own process: another library changes the current device.
[[noreturn]] void let_another_library_choose() {
  const Tensor x = full({100}, 2.0, {.device = "cuda:0"});
  cudaSetDevice(1);
  const Tensor y = x + 1;
  const Tensor product = matmul(full({4, 4}, 1.0, {.device = "cuda:0"}), full({4, 4}, 1.0, {.device = "cuda:0"}));
  cudaSetDevice(1);
  const std::size_t waiting = emulator::waiting_work();
  synchronize("cuda:0");
  bool good = waiting > 0 && emulator::waiting_work() == 0 && y.to_vector<float>()[99] == 3;
  cudaSetDevice(1);
  const Stream side(Device("cuda:0"));
  const Event event = side.record();  // an event of one device on a stream of another is an error
  event.synchronize();
  cudaSetDevice(1);
  empty_cache("cuda:0");
  cudaSetDevice(1);
  const Tensor large = full({1 << 20}, 2.0, {.device = "cuda:0"});
  cudaPointerAttributes where{};
  cudaPointerGetAttributes(&where, large.raw_data());
  good = good && where.device == 0 && sum(large).item() == 2.0 * (1 << 20) && product.to_vector<float>()[15] == 4;
  std::_Exit(good ? 0 : 1);
}

TEST(CudaDevices, AreKeptWhenOtherLibrariesChangeTheCurrentDevice) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  setenv("MINNOW_EMULATOR_DEVICES", "2", 1);
  EXPECT_EXIT(let_another_library_choose(), ::testing::ExitedWithCode(0), "");
  unsetenv("MINNOW_EMULATOR_DEVICES");
}

}  // namespace
}  // namespace minnow
