#pragma once

#include <algorithm>
#include <array>
#include <concepts>
#include <string_view>
#include <tuple>
#include <minnow/nn/module/module.h>
#include <minnow/ops/elementwise/unary.h>
#include <minnow/ops/norms/softmax.h>

namespace minnow::nn {

namespace detail {

/// A class's name as a template argument.
template <std::size_t N> struct ClassName {
  char chars[N] = {};
  consteval ClassName(const char (&text)[N]) { std::copy_n(text, N, chars); }
  constexpr std::string_view view() const { return {chars, N - 1}; }
};

/// A number as a template argument.
struct Ratio {
  int numerator, denominator = 1;
  constexpr double value() const { return static_cast<double>(numerator) / denominator; }
};

/// "Name(0.1, 2)"; "Name" without numbers.
std::string call_text(std::string_view name, std::initializer_list<double> numbers);

}  // namespace detail

/// A function of a tensor, and of numbers with these defaults, as a module.
template <detail::ClassName Name, auto Function, detail::Ratio... Defaults> class ActivationLayer : public Module {
 public:
  template <std::convertible_to<double>... Numbers>
  requires(sizeof...(Numbers) <= sizeof...(Defaults)) explicit(sizeof...(Numbers) > 0)
      ActivationLayer(Numbers... numbers)
      : numbers_{Defaults.value()...} {
    std::size_t i = 0;
    ((numbers_[i++] = static_cast<double>(numbers)), ...);
  }
  Tensor forward(const Tensor& x) override {
    const auto site = called();
    return std::apply([&](auto... numbers) { return Function(x, numbers...); }, numbers_);
  }
  std::string describe() const override {
    return std::apply([](auto... numbers) { return detail::call_text(Name.view(), {numbers...}); }, numbers_);
  }

 private:
  std::array<double, sizeof...(Defaults)> numbers_;
};

using ReLU = ActivationLayer<"ReLU", relu>;
using ReLU6 = ActivationLayer<"ReLU6", relu6>;
using SELU = ActivationLayer<"SELU", selu>;
using GELU = ActivationLayer<"GELU", gelu>;
/// GELU by its tanh approximation.
using GELUTanh = ActivationLayer<"GELUTanh", gelu_tanh>;
using SiLU = ActivationLayer<"SiLU", silu>;
using Mish = ActivationLayer<"Mish", mish>;
using Sigmoid = ActivationLayer<"Sigmoid", sigmoid>;
using LogSigmoid = ActivationLayer<"LogSigmoid", log_sigmoid>;
using Tanh = ActivationLayer<"Tanh", tanh>;
using Hardswish = ActivationLayer<"Hardswish", hardswish>;
using Hardsigmoid = ActivationLayer<"Hardsigmoid", hardsigmoid>;
using Softsign = ActivationLayer<"Softsign", softsign>;
using Tanhshrink = ActivationLayer<"Tanhshrink", tanhshrink>;
/// LeakyReLU(slope)
using LeakyReLU = ActivationLayer<"LeakyReLU", leaky_relu, detail::Ratio{1, 100}>;
/// ELU(alpha)
using ELU = ActivationLayer<"ELU", elu, detail::Ratio{1}>;
/// CELU(alpha)
using CELU = ActivationLayer<"CELU", celu, detail::Ratio{1}>;
/// Softshrink(lambda)
using Softshrink = ActivationLayer<"Softshrink", softshrink, detail::Ratio{1, 2}>;
/// Hardshrink(lambda)
using Hardshrink = ActivationLayer<"Hardshrink", hardshrink, detail::Ratio{1, 2}>;
/// Softplus(beta, threshold)
using Softplus = ActivationLayer<"Softplus", softplus, detail::Ratio{1}, detail::Ratio{20}>;
/// Hardtanh(low, high)
using Hardtanh = ActivationLayer<"Hardtanh", hardtanh, detail::Ratio{-1}, detail::Ratio{1}>;

/// Threshold(threshold, value): x where x > threshold, else value.
class Threshold : public Module {
 public:
  Threshold(double threshold, double value) : threshold_(threshold), value_(value) {}
  Tensor forward(const Tensor& x) override {
    const auto site = called();
    return threshold(x, threshold_, value_);
  }
  std::string describe() const override { return detail::call_text("Threshold", {threshold_, value_}); }

 private:
  double threshold_, value_;
};

/// A function that normalizes along a dimension as a module: nn::Softmax(1).
template <detail::ClassName Name, Tensor (*Function)(const In&, int)> class Normalizing : public Module {
 public:
  explicit Normalizing(int dim) : dim_(dim) {}
  Tensor forward(const Tensor& x) override {
    const auto site = called();
    return Function(x, dim_);
  }
  std::string describe() const override { return detail::call_text(Name.view(), {static_cast<double>(dim_)}); }

 private:
  int dim_;
};
using Softmax = Normalizing<"Softmax", softmax>;
using LogSoftmax = Normalizing<"LogSoftmax", log_softmax>;
namespace detail {

Tensor softmin(const In& x, int dim);

}  // namespace detail
/// softmax(-x) along a dimension.
using Softmin = Normalizing<"Softmin", detail::softmin>;

/// a sigmoid(b) of the two halves of a dimension (Dauphin et al. 2016).  ShapeError unless its size is even.
class GLU : public Module {
 public:
  explicit GLU(int dim = -1) : dim_(dim) {}
  Tensor forward(const Tensor& x) override;
  std::string describe() const override { return detail::call_text("GLU", {static_cast<double>(dim_)}); }

 private:
  int dim_;
};

/// x; below 0 slope x, where the slope is uniform in [lower, upper) for each element in train mode, and their mean in
/// eval mode (Xu et al. 2015).
class RReLU : public Module {
 public:
  /// ValueError unless lower <= upper.
  explicit RReLU(double lower = 1.0 / 8, double upper = 1.0 / 3, SourceLocation where = SourceLocation::current());
  Tensor forward(const Tensor& x) override;
  std::string describe() const override { return detail::call_text("RReLU", {lower_, upper_}); }

 private:
  double lower_, upper_;
};

}  // namespace minnow::nn
