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

/// A function of one tensor as a module: nn::ReLU().
template <detail::ClassName Name, Tensor (*Function)(const In&)> class Activation : public Module {
 public:
  Tensor forward(const Tensor& x) override {
    const auto site = called();
    return Function(x);
  }
  std::string describe() const override { return std::string(Name.view()); }
};

/// A function of one tensor and one number as a module: nn::ELU(0.5).
template <detail::ClassName Name, Tensor (*Function)(const In&, double), double (*Default)()>
class Activation1 : public Module {
 public:
  explicit Activation1(double value = Default()) : value_(value) {}
  Tensor forward(const Tensor& x) override {
    const auto site = called();
    return Function(x, value_);
  }
  std::string describe() const override { return detail::call_text(Name.view(), {value_}); }

 private:
  double value_;
};

/// A function of one tensor and two numbers as a module: nn::Hardtanh(-2, 2).
template <detail::ClassName Name, Tensor (*Function)(const In&, double, double), std::array<double, 2> (*Default)()>
class Activation2 : public Module {
 public:
  explicit Activation2(double first = Default()[0], double second = Default()[1]) : first_(first), second_(second) {}
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

using ReLU = Activation<"ReLU", relu>;
using ReLU6 = Activation<"ReLU6", relu6>;
using SELU = Activation<"SELU", selu>;
using GELU = Activation<"GELU", gelu>;
/// GELU by its tanh approximation: PyTorch's GELU(approximate="tanh").
using GELUTanh = Activation<"GELUTanh", gelu_tanh>;
using SiLU = Activation<"SiLU", silu>;
using Mish = Activation<"Mish", mish>;
using Sigmoid = Activation<"Sigmoid", sigmoid>;
using LogSigmoid = Activation<"LogSigmoid", log_sigmoid>;
using Tanh = Activation<"Tanh", tanh>;
using Hardswish = Activation<"Hardswish", hardswish>;
using Hardsigmoid = Activation<"Hardsigmoid", hardsigmoid>;
using Softsign = Activation<"Softsign", softsign>;
using Tanhshrink = Activation<"Tanhshrink", tanhshrink>;
/// LeakyReLU(negative_slope = 0.01)
using LeakyReLU = Activation1<"LeakyReLU", leaky_relu, detail::ratio<1, 100>>;
/// ELU(alpha = 1)
using ELU = Activation1<"ELU", elu, detail::ratio<1>>;
/// CELU(alpha = 1)
using CELU = Activation1<"CELU", celu, detail::ratio<1>>;
/// Softshrink(lambd = 0.5)
using Softshrink = Activation1<"Softshrink", softshrink, detail::ratio<1, 2>>;
/// Hardshrink(lambd = 0.5)
using Hardshrink = Activation1<"Hardshrink", hardshrink, detail::ratio<1, 2>>;
/// Softplus(beta = 1, threshold = 20)
using Softplus = Activation2<"Softplus", softplus, detail::two<1, 20>>;
/// Hardtanh(min_val = -1, max_val = 1)
using Hardtanh = Activation2<"Hardtanh", hardtanh, detail::two<-1, 1>>;

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

}  // namespace minnow::nn
