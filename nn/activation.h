#pragma once

#include <algorithm>
#include <array>
#include <string_view>
#include <minnow/nn/module.h>
#include <minnow/ops/softmax.h>
#include <minnow/ops/unary.h>

namespace minnow::nn {

namespace detail {

/// A class's name as a template argument.
template <std::size_t N> struct ClassName {
  char chars[N] = {};
  consteval ClassName(const char (&text)[N]) { std::copy_n(text, N, chars); }
  constexpr std::string_view view() const { return {chars, N - 1}; }
};

/// "Name(0.1, 2)"; "Name" without numbers.
std::string call_text(std::string_view name, std::initializer_list<double> numbers);

}  // namespace detail

/// A function of one tensor as a module.
template <detail::ClassName Name, Tensor (*Function)(const In&)> class ActivationLayer : public Module {
 public:
  Tensor forward(const Tensor& x) override {
    const auto site = called();
    return Function(x);
  }
  std::string describe() const override { return std::string(Name.view()); }
};

/// The same with one number.
template <detail::ClassName Name, Tensor (*Function)(const In&, double), double (*Default)()>
class ActivationLayer1 : public Module {
 public:
  explicit ActivationLayer1(double value = Default()) : value_(value) {}
  Tensor forward(const Tensor& x) override {
    const auto site = called();
    return Function(x, value_);
  }
  std::string describe() const override { return detail::call_text(Name.view(), {value_}); }

 private:
  double value_;
};

/// The same with two.
template <detail::ClassName Name, Tensor (*Function)(const In&, double, double), std::array<double, 2> (*Default)()>
class ActivationLayer2 : public Module {
 public:
  explicit ActivationLayer2(double first = Default()[0], double second = Default()[1])
      : first_(first), second_(second) {}
  Tensor forward(const Tensor& x) override {
    const auto site = called();
    return Function(x, first_, second_);
  }
  std::string describe() const override { return detail::call_text(Name.view(), {first_, second_}); }

 private:
  double first_, second_;
};

namespace detail {

template <int Numerator, int Denominator = 1> double ratio() { return static_cast<double>(Numerator) / Denominator; }
template <int First, int Second> std::array<double, 2> two() { return {First, Second}; }

}  // namespace detail

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
using LeakyReLU = ActivationLayer1<"LeakyReLU", leaky_relu, detail::ratio<1, 100>>;
/// ELU(alpha)
using ELU = ActivationLayer1<"ELU", elu, detail::ratio<1>>;
/// CELU(alpha)
using CELU = ActivationLayer1<"CELU", celu, detail::ratio<1>>;
/// Softshrink(lambda)
using Softshrink = ActivationLayer1<"Softshrink", softshrink, detail::ratio<1, 2>>;
/// Hardshrink(lambda)
using Hardshrink = ActivationLayer1<"Hardshrink", hardshrink, detail::ratio<1, 2>>;
/// Softplus(beta, threshold)
using Softplus = ActivationLayer2<"Softplus", softplus, detail::two<1, 20>>;
/// Hardtanh(low, high)
using Hardtanh = ActivationLayer2<"Hardtanh", hardtanh, detail::two<-1, 1>>;

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

/// x; below 0 slope x, where the slope is uniform in [lower, upper) for each element in train mode, and their mean in eval
/// mode (Xu et al. 2015).
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
