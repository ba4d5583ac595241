#include <emulator/launch.h>
#include <gtest/gtest.h>
#include <minnow/minnow.h>

/// The number of kernels that an operation launches: more would mean that its operands are copied.
namespace minnow {
namespace {

template <class F> std::size_t launches_of(const F& f) {
  static_cast<void>(f());
  const std::size_t before = emulator::calls_of("cudaLaunchKernel");
  static_cast<void>(f());
  return emulator::calls_of("cudaLaunchKernel") - before;
}

TEST(CudaLaunches, ElementsOfEveryDTypeConvertInTheKernel) {
  for (const DType dtype :
       {DType::float32, DType::float64, DType::float16, DType::bfloat16, DType::int64, DType::int32, DType::uint8}) {
    const TensorOptions options{dtype, Device("cuda")};
    const Tensor a = full({4, 8}, 5.0, options), b = full({4, 8}, 3.0, options), row = full({8}, 2.0, options);
    const std::string name(name_of(dtype));
    EXPECT_EQ(launches_of([&] { return a * b; }), 1u) << name;
    EXPECT_EQ(launches_of([&] { return a + row; }), 1u) << name;
    EXPECT_EQ(launches_of([&] { return a - 1; }), 1u) << name;
    EXPECT_EQ(launches_of([&] { return a < b; }), 1u) << name;
    EXPECT_EQ(launches_of([&] { return -a; }), 1u) << name;
    EXPECT_EQ(launches_of([&] { return where(a < b, a, b); }), 2u) << name;
    EXPECT_EQ((a * b).to_vector<double>(), std::vector<double>(32, 15)) << name;
    EXPECT_EQ((a - row).to_vector<double>(), std::vector<double>(32, 3)) << name;
  }
}

}  // namespace
}  // namespace minnow
