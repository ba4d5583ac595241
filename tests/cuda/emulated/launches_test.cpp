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

// The numbers that decide, and the product with the mask, which the kernel reads as it is.
TEST(CudaLaunches, DropoutReadsItsMask) {
  for (const DType dtype : {DType::float32, DType::float64, DType::float16, DType::bfloat16}) {
    const TensorOptions options{dtype, Device("cuda")};
    const Tensor x = full({4, 8}, 5.0, options).requires_grad_(), g = full({4, 8}, 3.0, options);
    const std::string name(name_of(dtype));
    EXPECT_EQ(launches_of([&] { return dropout(x); }), 2u) << name;
    const Tensor y = dropout(x);
    const std::size_t before = emulator::calls_of("cudaLaunchKernel");
    y.backward(g);
    EXPECT_EQ(emulator::calls_of("cudaLaunchKernel") - before, 1u) << name;
    const std::vector<double> values = y.to_vector<double>(), slopes = x.grad().to_vector<double>();
    for (std::size_t i = 0; i < values.size(); ++i) EXPECT_EQ(slopes[i] * 5, values[i] * 3) << name;
  }
}

}  // namespace
}  // namespace minnow
