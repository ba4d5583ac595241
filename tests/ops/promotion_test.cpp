#include <minnow/ops/elementwise/arithmetic.h>
#include <minnow/ops/elementwise/unary.h>
#include <minnow/ops/norms/softmax.h>
#include <minnow/ops/reductions/reduce.h>
#include <minnow/tensor/create.h>
#include <minnow/tensor/error.h>

#include "binary_functions.h"
#include "devices.h"
#include "golden.h"

namespace minnow::test {
namespace {

const std::map<std::string, Binary>& functions() {
  static const auto* all = [] {
    auto* map = new std::map<std::string, Binary>;
    for (const auto& list : {binary_functions(), bit_functions()})
      for (const auto& [name, function] : list) (*map)[name] = function;
    return map;
  }();
  return *all;
}

constexpr DType kDTypes[] = {DType::float32, DType::float64, DType::float16, DType::bfloat16, DType::int64,
                             DType::int32,   DType::int16,   DType::int8,    DType::uint8,    DType::bool_};
constexpr int kRefused = 255;

/// The index of the result's dtype, or kRefused.
template <class F> int place(F function) {
  try {
    return static_cast<int>(function().dtype());
  } catch (const DTypeError&) { return kRefused; }
}

std::string said(int place) { return place == kRefused ? "refused" : std::string(name_of(kDTypes[place])); }

class Promotion : public DeviceTest {
 protected:
  Book book_{"promotion", Device()};

  template <class Second, class F>
  void expect_table(const std::string& table, const std::vector<Second>& columns, F function) {
    ASSERT_TRUE(book_.contains(table)) << table;
    const std::vector<int> want = book_[table].to_vector<int>();
    ASSERT_EQ(want.size(), std::size(kDTypes) * columns.size());
    for (std::size_t i = 0; i < want.size(); ++i) {
      const DType row = kDTypes[i / columns.size()];
      const int got = place([&] { return function(row, columns[i % columns.size()]); });
      const std::string cell =
          table + " of " + std::string(name_of(row)) + ", column " + std::to_string(i % columns.size());
      if (want[i] == kRefused ? is_wider(table, got) : differs().contains(cell)) continue;
      EXPECT_EQ(said(got), said(want[i])) << cell;
    }
  }

  /// PyTorch refuses x - mask; ours takes a mask as numbers, unless the result would be bool itself.
  static bool is_wider(const std::string& table, int got) {
    if (table == "unary/argmax") return got == static_cast<int>(DType::int64);
    return table.starts_with("sub/") && got != kRefused && kDTypes[got] != DType::bool_;
  }
  /// any(uint8) is bool, as of every other dtype; numbers of bool are asked for by .to(int64).
  static const std::set<std::string>& differs() {
    static const auto* cells =
        new std::set<std::string>{"unary/any of uint8, column 0", "unary/square of bool, column 0",
                                  "unary/clamp of bool, column 0", "pow/tensor,number of bool, column 0"};
    return *cells;
  }
};
INSTANTIATE_TEST_SUITE_P(Devices, Promotion, all_devices(), device_test_name);

TEST_P(Promotion, OfTwoTensors) {
  const std::vector<DType> all(std::begin(kDTypes), std::end(kDTypes));
  const auto make = [](const Shape& shape, DType dtype) { return ones(shape, {.dtype = dtype, .device = device()}); };
  for (const auto& [name, function] : functions()) {
    if (!book_.contains(name + "/tensor,tensor")) continue;
    const auto op = function;
    expect_table(name + "/tensor,tensor", all, [&](DType a, DType b) { return op(make({2}, a), make({2}, b)); });
    expect_table(name + "/tensor,0-dim", all, [&](DType a, DType b) { return op(make({2}, a), make({}, b)); });
    expect_table(name + "/0-dim,0-dim", all, [&](DType a, DType b) { return op(make({}, a), make({}, b)); });
  }
}

TEST_P(Promotion, OfATensorAndANumber) {
  const std::map<std::string, Binary> by_number{{"add", add},
                                                {"sub", sub},
                                                {"mul", mul},
                                                {"div", div},
                                                {"pow", pow},
                                                {"eq", eq},
                                                {"fmod", fmod},
                                                {"remainder", remainder},
                                                {"floor_divide", floor_divide}};
  for (const auto& [name, function] : by_number) {
    const auto op = function;
    expect_table(name + "/tensor,number", std::vector<Scalar>{true, 2, 2.5},
                 [&](DType a, Scalar b) { return op(ones({2}, {.dtype = a, .device = device()}), b); });
  }
}

TEST_P(Promotion, NumbersAreOfTheResultsDtype) {
  const auto of = [](DType dtype, std::vector<int> values) { return tensor(values, {.device = device()}).to(dtype); };
  using Numbers = std::vector<double>;
  const auto numbers = [](const Tensor& x) { return x.to_vector<double>(); };
  EXPECT_EQ(numbers(sub(of(float32, {1, 2}), of(uint8, {200, 100}), 3)), (Numbers{-599, -298}));
  EXPECT_EQ(numbers(sub(of(int64, {1, 2}), of(int8, {100, 100}), 3)), (Numbers{-299, -298}));
  EXPECT_EQ(numbers(add(of(float32, {1, 2}), of(int8, {100, 100}), 3)), (Numbers{301, 302}));
  EXPECT_EQ(numbers(add(of(float32, {0}), of(float16, {300}), 1000)), Numbers{300000});
  EXPECT_EQ(numbers(of(float32, {1, 2}).sub_(of(uint8, {200, 100}), 3)), (Numbers{-599, -298}));
  EXPECT_EQ(numbers(of(float32, {1, 2}).add_(of(int8, {100, 100}), 3)), (Numbers{301, 302}));
  EXPECT_EQ(numbers(div(-2, of(uint8, {1, 2}))), (Numbers{-2, -1}));
  EXPECT_EQ(numbers(div(of(uint8, {150, 3}), 300)), (Numbers{0.5, 0.01F}));
  EXPECT_EQ(numbers(div(of(int8, {75, 3}), -300)), (Numbers{-0.25, -0.01F}));
  EXPECT_EQ(numbers(hypot(of(uint8, {5}), -12)), Numbers{13});
  const Tensor x = of(bfloat16, {-1, 3}), one = of(float32, {1}).reshape({});
  EXPECT_EQ(clamp(x, of(bfloat16, {0}).reshape({}), one).dtype(), bfloat16);
  EXPECT_EQ(clamp(of(float32, {1}), of(float32, {0}), of(float64, {1}).reshape({})).dtype(), float32);
  EXPECT_EQ(clamp(of(int32, {1}), of(int32, {0}), one).dtype(), float32);
  EXPECT_EQ(clamp(of(float32, {1}), of(float64, {0}), one).dtype(), float64);
}

TEST_P(Promotion, OfFunctionsOfOneTensor) {
  const std::map<std::string, std::function<Tensor(const Tensor&)>> all{
      {"exp", [](const Tensor& x) { return exp(x); }},
      {"abs", [](const Tensor& x) { return abs(x); }},
      {"neg", [](const Tensor& x) { return neg(x); }},
      {"relu", [](const Tensor& x) { return relu(x); }},
      {"sign", [](const Tensor& x) { return sign(x); }},
      {"floor", [](const Tensor& x) { return floor(x); }},
      {"round", [](const Tensor& x) { return round(x); }},
      {"square", [](const Tensor& x) { return square(x); }},
      {"sum", [](const Tensor& x) { return sum(x); }},
      {"prod", [](const Tensor& x) { return prod(x); }},
      {"mean", [](const Tensor& x) { return mean(x); }},
      {"max", [](const Tensor& x) { return max(x); }},
      {"any", [](const Tensor& x) { return any(x); }},
      {"argmax", [](const Tensor& x) { return argmax(x); }},
      {"isnan", [](const Tensor& x) { return isnan(x); }},
      {"softmax", [](const Tensor& x) { return softmax(x, 0); }},
      {"logsumexp", [](const Tensor& x) { return logsumexp(x, {0}); }},
      {"bitwise_not", [](const Tensor& x) { return bitwise_not(x); }},
      {"clamp", [](const Tensor& x) { return clamp(x, 0, 1); }},
      {"reciprocal", [](const Tensor& x) { return reciprocal(x); }}};
  for (const auto& [name, function] : all) {
    const auto op = function;
    expect_table("unary/" + name, std::vector<int>{0},
                 [&](DType a, int) { return op(ones({2}, {.dtype = a, .device = device()})); });
  }
}

}  // namespace
}  // namespace minnow::test
