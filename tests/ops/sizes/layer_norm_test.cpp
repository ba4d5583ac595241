#include <minnow/autograd/engine.h>
#include <minnow/ops/norms/layer_norm.h>
#include <minnow/tensor/raw/view.h>

#include "rows.h"

// Lengths and numbers of rows for which a device has a form of its own, against the CPU in float64.

namespace minnow::test {
namespace {

class RowsLayerNorm : public DeviceTest {};
INSTANTIATE_TEST_SUITE_P(Devices, RowsLayerNorm, all_devices(), device_test_name);

constexpr DType kFloatingDTypes[] = {DType::float32, DType::float64, DType::float16, DType::bfloat16};

struct Operands {
  Tensor x, weight, bias, grad;

  Operands(const Shape& shape, DType dtype, double offset = 0)
      : x(made(shape, dtype, [=](std::int64_t i) { return offset + mixed(i); })),
        weight(made({shape[1]}, dtype, [](std::int64_t i) { return 1 + mixed(i + 1000) / 2; })),
        bias(made({shape[1]}, dtype, [](std::int64_t i) { return mixed(i + 2000); })),
        grad(made(shape, dtype, [](std::int64_t i) { return mixed(i + 1000000); })) {}
};

struct Results {
  Tensor y, x, weight, bias;  ///< the gradients of the last three
};

template <class Move> Results run(const Operands& o, const Move& move) {
  const Tensor x = move(o.x).detach().requires_grad_(), weight = move(o.weight).detach().requires_grad_(),
               bias = move(o.bias).detach().requires_grad_();
  const Tensor y = layer_norm(x, x.size(1), weight, bias);
  backward({y}, {move(o.grad)});
  return {y.detach(), x.grad(), weight.grad(), bias.grad()};
}

void check(const Operands& o, Device device, const std::string& name) {
  const Results got = run(o, [&](const Tensor& t) { return on(t, device); });
  const Results want = run(o, [](const Tensor& t) { return exact(t); });
  const double rows = std::sqrt(static_cast<double>(o.x.size(0)));
  expect_agrees(got.y, want.y, name);
  expect_agrees(got.x, want.x, name + " grad_x");
  expect_agrees(got.weight, want.weight, name + " grad_weight", rows);
  expect_agrees(got.bias, want.bias, name + " grad_bias", rows);
}

TEST_P(RowsLayerNorm, ForwardAndBackward) {
  for (const DType dtype : kFloatingDTypes)
    for (const Shape& shape :
         {Shape{7, 1}, Shape{3, 2}, Shape{3, 31}, Shape{70, 33}, Shape{3, 200}, Shape{2, 1024}, Shape{2, 1028},
          Shape{3, 1025}, Shape{2, 5000}, Shape{5, 9001}, Shape{130, 8}, Shape{700, 40}, Shape{1500, 3}}) {
      if (dtype != DType::float32 && shape.numel() > 20000) continue;
      check(Operands(shape, dtype), device(), std::string(name_of(dtype)) + shape.str());
    }
}

// Rows of whole vectors that begin at no multiple of 16 bytes.
TEST_P(RowsLayerNorm, RowsThatAreNotAligned) {
  for (const DType dtype : kFloatingDTypes) {
    const Shape shape{3, 64};
    const Operands o(shape, dtype);
    const Tensor whole = on(made({shape.numel() + 1}, dtype, [](std::int64_t i) { return mixed(i - 1); }), device());
    const Tensor moved = raw::alias(whole, shape, Strides{64, 1}, 1);
    const Tensor want = layer_norm(exact(o.x), 64, exact(o.weight), exact(o.bias));
    expect_agrees(layer_norm(moved, 64, on(o.weight, device()), on(o.bias, device())), want,
                  std::string(name_of(dtype)));
  }
}

// The gradient that is recorded, for derivatives of it, is a formula of its own.
TEST_P(RowsLayerNorm, TheRecordedGradientIsTheSame) {
  for (const DType dtype : kFloatingDTypes) {
    const Operands o({6, 50}, dtype, 2);
    std::vector<Tensor> inputs;
    for (const Tensor& t : {o.x, o.weight, o.bias}) inputs.push_back(on(t, device()).detach().requires_grad_());
    const auto gradients = [&](bool recorded) {
      const Tensor y = layer_norm(inputs[0], 50, inputs[1], inputs[2]);
      return grad({y}, inputs, {.create_graph = recorded, .grad_outputs = {on(o.grad, device())}});
    };
    const std::vector<Tensor> plain = gradients(false), recorded = gradients(true);
    for (std::size_t i = 0; i < 3; ++i) {
      EXPECT_TRUE(i == 2 || recorded[i].requires_grad()) << i;
      expect_agrees(recorded[i].detach(), to_host(plain[i]), std::string(name_of(dtype)) + " " + std::to_string(i), 4);
    }
  }
}

// Where the mean is large beside the deviation, neither its rounding to float32 nor squares show.
TEST_P(RowsLayerNorm, AnOffsetLosesNothing) {
  for (const std::int64_t n : {16, 100, 768, 2000}) {
    const Operands o({4, n}, DType::float32, 1e4);
    const Results got = run(o, [&](const Tensor& t) { return on(t, device()); });
    const Results want = run(o, [](const Tensor& t) { return exact(t); });
    const auto expect = [&](const Tensor& g, const Tensor& w, const char* what) {
      expect_close(raw::cast(to_host(g), DType::float64), w, what + std::to_string(n), {2e-6, 2e-6});
    };
    expect(got.y, want.y, "y ");
    expect(got.x, want.x, "grad_x ");
    expect(got.weight, want.weight, "grad_weight ");
  }
}

}  // namespace
}  // namespace minnow::test
