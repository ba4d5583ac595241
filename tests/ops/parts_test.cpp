#include <gtest/gtest.h>
#include <minnow/minnow.h>

#include "devices.h"
#include "errors.h"

/// Slices, split, chunk, unbind and rows, whose gradients are written into one tensor.
namespace minnow {
namespace {

class Parts : public test::DeviceTest {
 protected:
  using Doubles = std::vector<double>;
  using Shapes = std::vector<Shape>;
  static Tensor range(const Shape& shape) {
    return arange(shape.numel(), {DType::float64, device()}).reshape(shape).requires_grad_();
  }
  static Doubles values(const Tensor& t) { return t.to_vector<double>(); }
  static Shapes shapes(const std::vector<Tensor>& parts) {
    Shapes shapes;
    for (const Tensor& part : parts) shapes.push_back(part.shape());
    return shapes;
  }
};
INSTANTIATE_TEST_SUITE_P(Devices, Parts, test::all_devices(), test::device_test_name);

TEST_P(Parts, HaveTheShapesOfPyTorch) {
  const Tensor x = range({5, 2}), none = zeros({0, 3}, {.device = device()});
  EXPECT_EQ(shapes(split(x, 2)), (Shapes{{2, 2}, {2, 2}, {1, 2}}));
  EXPECT_EQ(shapes(split(x, 7)), (Shapes{{5, 2}}));
  EXPECT_EQ(shapes(split(x, 1, -1)), (Shapes{{5, 1}, {5, 1}}));
  EXPECT_EQ(shapes(split(x, {4, 0, 1})), (Shapes{{4, 2}, {0, 2}, {1, 2}}));
  EXPECT_EQ(shapes(split(x, {2}, 1)), (Shapes{{5, 2}}));
  EXPECT_EQ(shapes(split(none, 0)), (Shapes{{0, 3}}));
  EXPECT_EQ(shapes(split(none, 2)), (Shapes{{0, 3}}));
  EXPECT_EQ(shapes(split(none, std::vector<std::int64_t>{})), Shapes{});
  EXPECT_EQ(shapes(chunk(x, 4)), (Shapes{{2, 2}, {2, 2}, {1, 2}}));
  EXPECT_EQ(shapes(chunk(none, 3)), (Shapes{{0, 3}, {0, 3}, {0, 3}}));
  EXPECT_EQ(shapes(unbind(x)), Shapes(5, {2}));
  EXPECT_EQ(shapes(unbind(x, -1)), Shapes(2, {5}));
  EXPECT_EQ(shapes(unbind(none)), Shapes{});
}

TEST_P(Parts, AreViews) {
  const Tensor x = range({4, 3});
  EXPECT_EQ(values(split(x, 2)[1]), (Doubles{6, 7, 8, 9, 10, 11}));
  EXPECT_EQ(values(chunk(x, 3, 1)[2]), (Doubles{2, 5, 8, 11}));
  EXPECT_EQ(values(unbind(x, 1)[1]), (Doubles{1, 4, 7, 10}));
  for (const Tensor& part : split(x, {1, 3})) EXPECT_EQ(part.storage(), x.storage());
}

TEST_P(Parts, GradientsAreWrittenToTheirSlices) {
  Tensor x = range({3, 2});
  sum(x(2) * 5 + x(0)).backward();
  EXPECT_EQ(values(x.grad()), (Doubles{1, 1, 0, 0, 5, 5}));
  x.set_grad({});
  sum(x(all, 1) * x(all, 0) + x(all, 1)).backward();  // parts twice
  EXPECT_EQ(values(x.grad()), (Doubles{1, 1, 3, 3, 5, 5}));
  x.set_grad({});
  sum(x(slice(0, 3, 2), newaxis, 1) * 2).backward();
  EXPECT_EQ(values(x.grad()), (Doubles{0, 2, 0, 0, 0, 2}));
  x.set_grad({});
  (sum(x(1)(0)) + sum(x(1)) * 2 + sum(x) * 3).backward();  // a part of a part, the part, the whole
  EXPECT_EQ(values(x.grad()), (Doubles{3, 3, 6, 5, 3, 3}));
}

TEST_P(Parts, BesideAGradientOfTheWholeThatOthersHold) {
  for (const bool whole_first : {false, true}) {
    Tensor x = range({3});
    const Tensor h = x * 1, given = ones({3}, {DType::float64, device()});
    // The higher number arrives first.
    const Tensor early = whole_first ? h(0) * 7 : h + 0, late = whole_first ? h + 0 : h(0) * 7;
    backward({sum(early), late.dim() ? sum(late) : late});
    EXPECT_EQ(values(x.grad()), (Doubles{8, 1, 1}));
    x.set_grad({});
    const Tensor again = x * 1;
    backward({again, again(1)}, {given, given(1)});
    EXPECT_EQ(values(given), (Doubles{1, 1, 1}));  // the caller's tensor is not written
    EXPECT_EQ(values(x.grad()), (Doubles{1, 2, 1}));
  }
}

TEST_P(Parts, OfBroadcastGradientsAndEmptyOnes) {
  Tensor x = range({2, 2});
  Tensor loss = sum(x.expand({3, 2, 2})(all, 1)) + sum(x(0).expand({4, 2}));
  loss = loss + sum(x(slice(1, 1)));
  loss.backward();
  EXPECT_EQ(values(x.grad()), (Doubles{4, 4, 3, 3}));
  Tensor unused = range({2});
  sum(unused(slice(1, 1))).backward();
  EXPECT_EQ(values(unused.grad()), (Doubles{0, 0}));
}

TEST_P(Parts, HooksSeeTheGradientOfEachPartAndOfTheWhole) {
  Tensor x = range({2, 2});
  const Tensor h = x * 1, row = h(1);
  Doubles of_row, of_whole, of_leaf;
  const auto on_row = register_hook(row, [&](const Tensor& g) { return of_row = values(g), g * 2; });
  const auto on_whole = register_hook(h, [&](const Tensor& g) { return of_whole = values(g), g + 1; });
  const auto on_leaf = register_hook(x, [&](const Tensor& g) { return of_leaf = values(g), Tensor(); });
  row.retain_grad();
  (sum(row * 3) + sum(h(0))).backward();
  EXPECT_EQ(of_row, (Doubles{3, 3}));
  EXPECT_EQ(values(row.grad()), (Doubles{6, 6}));
  EXPECT_EQ(of_whole, (Doubles{1, 1, 6, 6}));
  EXPECT_EQ(of_leaf, (Doubles{2, 2, 7, 7}));
}

TEST_P(Parts, GradOfPartsAndOfWhatTheyCameFrom) {
  const Tensor x = range({3}), h = x * 2, part = h(1);
  const auto g = grad({part * part + h(0)}, {x, h, part}, {.retain_graph = true});
  EXPECT_EQ(values(g[0]), (Doubles{2, 8, 0}));
  EXPECT_EQ(values(g[1]), (Doubles{1, 4, 0}));
  EXPECT_EQ(values(g[2]), (Doubles{4}));
}

TEST_P(Parts, OfAFreedGraphAreAnError) {
  Tensor x = range({3});
  const Tensor part = x(1);
  part.backward();
  EXPECT_THROW(part.backward(), AutogradError);
  const Tensor again = x(1);
  again.backward({.retain_graph = true});
  again.backward();
  EXPECT_EQ(values(x.grad()), (Doubles{0, 3, 0}));
}

TEST_P(Parts, RowsAreAddedToAGradientThatIsThere) {
  const Tensor index = tensor({2, 0, 2}).to(device());
  Tensor x = range({3, 2});
  for (const bool create_graph : {false, true}) {  // with it each gradient has the size of x
    x.set_grad({});
    const Tensor rows = embedding(index, x, 0), some = index_select(x, 1, tensor({1, 1}).to(device()));
    const Tensor part = gather(x, 0, index.unsqueeze(1)), loss = sum(rows * 2) + sum(some) + sum(part * 5) + sum(x * x);
    loss.backward({.create_graph = create_graph});
    EXPECT_EQ(values(x.grad().detach()), (Doubles{5, 4, 4, 8, 22, 16}));
  }
  const Tensor given = ones({3, 2}, {DType::float64, device()}), h = x * 1, row = index_select(h, 0, index);
  x.set_grad({});
  backward({row, h}, {ones({3, 2}, {DType::float64, device()}), given});
  EXPECT_EQ(values(given), Doubles(6, 1));  // the caller's tensor is not written
  EXPECT_EQ(values(x.grad()), (Doubles{2, 2, 1, 1, 3, 3}));

  const Tensor wide = range({2, 3});  // the gradient that is there is in another order
  (sum(wide.t() * x) + sum(embedding(tensor({1}).to(device()), wide))).backward();
  EXPECT_EQ(values(wide.grad()), (Doubles{0, 2, 4, 2, 4, 6}));
  const Tensor half = zeros({2}, {DType::bfloat16, device()}).requires_grad_(), scalar = range({});
  sum(index_select(half, 0, index.clamp(0, 1))).backward();
  sum(index_select(scalar, 0, tensor({0}).to(device())) * 4).backward();
  EXPECT_EQ(half.grad().to_vector<float>(), (std::vector<float>{1, 2}));
  EXPECT_EQ(values(scalar.grad()), Doubles{4});
}

TEST_P(Parts, RowsOfAFreedGraphOrAnOverwrittenIndexAreAnError) {
  Tensor x = range({3, 2});
  Tensor index = tensor({1}).to(device());
  const Tensor row = embedding(index, x);
  sum(row).backward({.retain_graph = true});
  sum(row).backward();
  EXPECT_EQ(values(x.grad()), (Doubles{0, 0, 2, 2, 0, 0}));
  EXPECT_THROW(sum(row).backward(), AutogradError);
  const Tensor again = index_select(x, 0, index);
  fill_(index, 0);
  EXPECT_THROW(sum(again).backward(), AutogradError);
}

TEST_P(Parts, HaveSecondDerivatives) {
  const auto f = [](const std::vector<Tensor>& in) {
    const Tensor& x = in[0];
    Tensor total = sum(square(x(0)) * x(1));
    for (const Tensor& row : unbind(x, 1)) total = total + sum(square(row)) * row(0);
    for (const Tensor& part : split(x, {1, 1})) total = total + sum(part * part * part);
    return total + chunk(x.reshape({2, 3}), 2, 1)[1](0, 0) * x(1, 1);
  };
  EXPECT_TRUE(gradcheck(f, {range({2, 3}) * 0.25 + 1}));
  EXPECT_TRUE(gradgradcheck(f, {range({2, 3}) * 0.25 + 1}));
}

TEST(Errors, SplitAndUnbind) {
  using test::Misuse;
  const Tensor x = zeros({4, 2}), one = zeros({});
  const char *shown = "float32[4, 2] on cpu", *scalar = "float32[] on cpu", *none = "undefined tensor";
  test::expect_errors({
      Misuse{"ValueError", "split", "got 0", [=] { split(x, 0); }},
      Misuse{"ValueError", "split", "got -1", [=] { split(x, -1); }},
      Misuse{"IndexError", "split", shown, [=] { split(x, 1, 2); }},
      Misuse{"IndexError", "split", scalar, [=] { split(one, 1); }},
      Misuse{"ValueError", "split", none, [=] { split(Tensor(), 1); }},
      Misuse{"ShapeError", "split", "{1, 2}",
             [=] {
               split(x, {1, 2});
             }},
      Misuse{"ShapeError", "split", "{5, -1}",
             [=] {
               split(x, {5, -1});
             }},
      Misuse{"ShapeError", "split", "sum is 4", [=] { split(x, std::vector<std::int64_t>{}); }},
      Misuse{"ValueError", "chunk", shown, [=] { chunk(x, 0); }},
      Misuse{"IndexError", "chunk", scalar, [=] { chunk(one, 1); }},
      Misuse{"IndexError", "unbind", scalar, [=] { unbind(one); }},
      Misuse{"IndexError", "unbind", shown, [=] { unbind(x, -3); }},
  });
}

}  // namespace
}  // namespace minnow
