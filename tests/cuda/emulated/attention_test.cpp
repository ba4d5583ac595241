#include <emulator/launch.h>
#include <gtest/gtest.h>
#include <minnow/minnow.h>

#include "support/golden.h"

/// The kernel for attention of halves, beside the same in float64 on the CPU.
namespace minnow {
namespace {

struct Case {
  std::int64_t batch, heads, rows, columns, size;
  bool causal;
};

/// The result and the gradients of query, key and value.
std::vector<Tensor> all_of(const std::vector<Tensor>& x, const Tensor& grad, bool causal) {
  std::vector<Tensor> own;
  for (const Tensor& t : x) own.push_back(t.detach().requires_grad_());
  const Tensor y = scaled_dot_product_attention(own[0], own[1], own[2], {}, {.is_causal = causal});
  y.backward(grad);
  return {y.detach(), own[0].grad(), own[1].grad(), own[2].grad()};
}

/// The largest difference, beside the largest element.
double error_of(const Tensor& got, const Tensor& want) {
  const Tensor x = got.cpu().to(float64);
  return amax(abs(x - want)).item<double>() / amax(abs(want)).item<double>();
}

void expect_right(const Case& c, DType dtype) {
  manual_seed(static_cast<std::uint64_t>(c.rows * c.size));
  const Shape q{c.batch, c.heads, c.rows, c.size}, k{c.batch, c.heads, c.columns, c.size};
  const std::vector<Tensor> x{randn(q).to(dtype), randn(k).to(dtype), randn(k).to(dtype)};
  const Tensor grad = randn(q).to(dtype);
  const auto each = [](const std::vector<Tensor>& all, const auto& f) {
    std::vector<Tensor> out;
    for (const Tensor& t : all) out.push_back(f(t));
    return out;
  };
  const auto want = all_of(each(x, [](const Tensor& t) { return t.to(float64); }), grad.to(float64), c.causal);
  const std::size_t before = emulator::calls_of("cublasLtMatmul");
  const auto got = all_of(each(x, [](const Tensor& t) { return t.to("cuda"); }), grad.to("cuda"), c.causal);
  EXPECT_EQ(emulator::calls_of("cublasLtMatmul"), before) << "by products";
  const char* const names[] = {"result", "query", "key", "value"};
  for (std::size_t i = 0; i < 4; ++i)
    EXPECT_LT(error_of(got[i], want[i]), dtype == DType::float16 ? 3e-3 : 2e-2)
        << names[i] << " " << name_of(dtype) << " [" << c.batch << ", " << c.heads << ", " << c.rows << ", "
        << c.columns << ", " << c.size << "]" << (c.causal ? " causal" : "");
}

TEST(CudaAttention, GivesWhatTheProductsGive) {
  const Case cases[] = {{1, 1, 16, 16, 64, false},  {1, 2, 64, 64, 64, true},   {2, 1, 100, 72, 64, false},
                        {1, 1, 150, 150, 64, true}, {1, 2, 40, 90, 128, false}, {2, 1, 33, 33, 128, true},
                        {1, 1, 20, 85, 64, true},   {1, 1, 85, 20, 64, true}};
  for (const Case& c : cases)
    for (const DType dtype : {DType::float16, DType::bfloat16}) expect_right(c, dtype);
}

// Heads side by side in one tensor, as a layer makes them, and vectors that begin anywhere.
TEST(CudaAttention, TakesHeadsOfALayer) {
  manual_seed(3);
  const Tensor packed = randn({2, 48, 3 * 2 * 64}).to(float16), odd = randn({2, 2, 48, 65}).to(float16);
  const auto f = [](const Tensor& all, const Tensor& shifted) {
    const auto part = [&](std::int64_t i) {
      return all.narrow(2, i * 128, 128).reshape({2, 48, 2, 64}).transpose(1, 2);
    };
    return scaled_dot_product_attention(part(0), part(1), shifted.narrow(3, 1, 64));
  };
  const Tensor want = f(packed.to(float64), odd.to(float64)), got = f(packed.to("cuda"), odd.to("cuda"));
  EXPECT_LT(error_of(got, want), 3e-3);
}

// Expanded along the length, and a gradient that is.
TEST(CudaAttention, TakesRowsThatAreOneRow) {
  manual_seed(6);
  const Tensor q = randn({1, 2, 32, 64}).to(float16), k = randn({1, 2, 1, 64}).to(float16);
  const auto f = [](const Tensor& query, const Tensor& key) {
    const Tensor own = query.detach().requires_grad_(), keys = key.expand({1, 2, 32, 64});
    sum(scaled_dot_product_attention(own, own, keys), {2}).backward(ones({1, 2, 64}, {query.dtype(), query.device()}));
    return own.grad();
  };
  EXPECT_LT(error_of(f(q.to("cuda"), k.to("cuda")) + 1, f(q.to(float64), k.to(float64)) + 1), 5e-3);
}

TEST(CudaAttention, OtherSizesAndMasksGoByProducts) {
  manual_seed(4);
  for (const auto& [rows, size] : {std::pair{15, 64}, std::pair{32, 32}}) {
    const Tensor x = randn({1, 1, rows, size}).to(float16);
    EXPECT_LT(error_of(scaled_dot_product_attention(x.to("cuda"), x.to("cuda"), x.to("cuda")),
                       scaled_dot_product_attention(x.to(float64), x.to(float64), x.to(float64))),
              5e-3)
        << rows;
  }
}

TEST(CudaAttention, SecondDerivatives) {
  manual_seed(5);
  const auto f = [](const Tensor& x) {
    const Tensor y = scaled_dot_product_attention(x, x, x);
    const Tensor g = grad({sum(square(y))}, {x}, {.create_graph = true})[0];
    return grad({sum(square(g))}, {x})[0];
  };
  const Tensor x = (randn({1, 1, 16, 64}) * 0.3).to(float16);
  EXPECT_LT(error_of(f(x.to("cuda").requires_grad_()), f(x.to(float64).requires_grad_())), 5e-2);
}

// No tensor has the weights, of which there are 4 MB.
TEST(CudaAttention, MemoryIsLinearInTheLength) {
  const Tensor x = zeros({1, 1, 1024, 64}, {float16, Device("cuda")}).requires_grad_();
  reset_peak_memory("cuda");
  const std::int64_t before = memory_stats("cuda").allocated;
  sum(scaled_dot_product_attention(x, x, x, {}, {.is_causal = true})).backward();
  EXPECT_LT(memory_stats("cuda").peak - before, 2 << 20);
}

TEST(CudaAttention, NanAndInfinityAreSeen) {
  Tensor x = ones({1, 1, 32, 64}).to(float16);
  x(0, 0, 20, 5) = NAN;
  const Tensor y = scaled_dot_product_attention(x.to("cuda"), ones({1, 1, 32, 64}, {float16, Device("cuda")}),
                                                ones({1, 1, 32, 64}, {float16, Device("cuda")}))
                       .cpu();
  EXPECT_TRUE(all(isnan(y(0, 0, 20))).item<bool>());
  EXPECT_FALSE(any(isnan(y.narrow(2, 0, 20))).item<bool>());
}

}  // namespace
}  // namespace minnow
