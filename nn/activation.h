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
template <std::size_t N> struct Text {
  char chars[N] = {};
  consteval Text(const char (&text)[N]) { std::copy_n(text, N, chars); }
  constexpr std::string_view view() const { return {chars, N - 1}; }
};

/// "Name(0.1, 2)"; "Name" without numbers.
std::string call_text(std::string_view name, std::initializer_list<double> numbers);

}  // namespace detail

/// A function of one tensor as a module.
template <detail::Text Name, Tensor (*Function)(const In&)> class Activation : public Module {
 public:
  Tensor forward(const Tensor& x) override {
    const auto site = called();
    return Function(x);
  }
  std::string describe() const override { return std::string(Name.view()); }
};

/// The same with one number.
template <detail::Text Name, Tensor (*Function)(const In&, double), double (*Default)()>
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

/// The same with two.
template <detail::Text Name, Tensor (*Function)(const In&, double, double), std::array<double, 2> (*Default)()>
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
/// GELU by its tanh approximation.
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
/// LeakyReLU(slope)
using LeakyReLU = Activation1<"LeakyReLU", leaky_relu, detail::ratio<1, 100>>;
/// ELU(alpha)
using ELU = Activation1<"ELU", elu, detail::ratio<1>>;
/// CELU(alpha)
using CELU = Activation1<"CELU", celu, detail::ratio<1>>;
/// Softshrink(lambda)
using Softshrink = Activation1<"Softshrink", softshrink, detail::ratio<1, 2>>;
/// Hardshrink(lambda)
using Hardshrink = Activation1<"Hardshrink", hardshrink, detail::ratio<1, 2>>;
/// Softplus(beta, threshold)
using Softplus = Activation2<"Softplus", softplus, detail::two<1, 20>>;
/// Hardtanh(low, high)
using Hardtanh = Activation2<"Hardtanh", hardtanh, detail::two<-1, 1>>;

/// Threshold(limit, value): x, or value at and below the limit.
class Threshold : public Module {
 public:
  Threshold(double limit, double value) : limit_(limit), value_(value) {}
  Tensor forward(const Tensor& x) override {
    const auto site = called();
    return threshold(x, limit_, value_);
  }
  std::string describe() const override { return detail::call_text("Threshold", {limit_, value_}); }

 private:
  double limit_, value_;
};

/// Softmax(dim): e^x over its sum along dim.
template <detail::Text Name, Tensor (*Function)(const In&, int)> class Normalizing : public Module {
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
