#include "devices.h"
#include "samples.h"

namespace minnow::test {
namespace {

using X = SampleArguments;

SampleCall unary_of(Tensor (*f)(const In&)) {
  return [f](const X& x) { return std::vector{f(x.tensor(0))}; };
}
SampleCall polygamma_of() {
  return [](const X& x) { return std::vector{polygamma(x.integer(1, "n", 0), x.tensor(0))}; };
}
template <class F> SampleCall one_of(F f) {
  return [f](const X& x) { return std::vector<Tensor>{f(x)}; };
}

const SampleCalls kUnary = {
    {"abs", unary_of(abs)},
    {"acos", unary_of(acos)},
    {"acosh", unary_of(acosh)},
    {"asin", unary_of(asin)},
    {"asinh", unary_of(asinh)},
    {"atan", unary_of(atan)},
    {"atanh", unary_of(atanh)},
    {"bitwise_not", unary_of(bitwise_not)},
    {"ceil", unary_of(ceil)},
    {"cos", unary_of(cos)},
    {"cosh", unary_of(cosh)},
    {"deg2rad", one_of([](const X& x) { return x.tensor(0) * (3.14159265358979323846 / 180); })},
    {"digamma", unary_of(digamma)},
    {"erf", unary_of(erf)},
    {"erfc", unary_of(erfc)},
    {"erfinv", unary_of(erfinv)},
    {"exp", unary_of(exp)},
    {"exp2", unary_of(exp2)},
    {"expm1", unary_of(expm1)},
    {"floor", unary_of(floor)},
    {"frac", unary_of(frac)},
    {"isfinite", unary_of(isfinite)},
    {"isinf", unary_of(isinf)},
    {"isnan", unary_of(isnan)},
    {"lgamma", unary_of(lgamma)},
    {"log", unary_of(log)},
    {"log10", unary_of(log10)},
    {"log1p", unary_of(log1p)},
    {"log2", unary_of(log2)},
    {"logical_not", unary_of(logical_not)},
    {"logit", one_of([](const X& x) {
       const double eps = x.number(1, "eps", -1);
       if (eps > 0.5 || (eps >= 0 && x.tensor(0).dtype() == bool_)) throw NoForm();
       return logit(eps < 0 ? x.tensor(0) : clamp(x.tensor(0), eps, 1 - eps));
     })},
    {"neg", unary_of(neg)},
    {"polygamma/polygamma_n_0", polygamma_of()},
    {"positive", one_of([](const X& x) { return x.tensor(0) * 1; })},
    {"rad2deg", one_of([](const X& x) { return x.tensor(0) * (180 / 3.14159265358979323846); })},
    {"reciprocal", unary_of(reciprocal)},
    {"round", unary_of(round)},
    {"rsqrt", unary_of(rsqrt)},
    {"sgn", unary_of(sign)},
    {"sigmoid", unary_of(sigmoid)},
    {"sign", unary_of(sign)},
    {"sin", unary_of(sin)},
    {"sinh", unary_of(sinh)},
    {"sqrt", unary_of(sqrt)},
    {"square", unary_of(square)},
    {"tan", unary_of(tan)},
    {"tanh", unary_of(tanh)},
    {"trunc", unary_of(trunc)},
    {"nan_to_num", one_of([](const X& x) {
       const auto given = [&](std::size_t at, const char* name) {
         return x.has(at, name) ? std::optional<double>(x.number(at, name, 0)) : std::nullopt;
       };
       return nan_to_num(x.tensor(0), x.number(1, "nan", 0), given(2, "posinf"), given(3, "neginf"));
     })},
};

double bound(const X& x, std::size_t at, const char* name, double otherwise) { return x.number(at, name, otherwise); }

Tensor clamp_of(const X& x) {
  if (x.has(1, "min") && x.value(1, "min").kind == SampleValue::Kind::kTensor) {
    const Tensor low = x.tensor(1, "min");
    return x.has(2, "max") ? clamp(x.tensor(0), low, x.like(2, "max")) : clamp_min(x.tensor(0), low);
  }
  if (x.has(2, "max") && x.value(2, "max").kind == SampleValue::Kind::kTensor)
    return clamp_max(x.tensor(0), x.tensor(2, "max"));
  return clamp(x.tensor(0), bound(x, 1, "min", -kInfinity), bound(x, 2, "max", kInfinity));
}

Tensor with_dtype(const X& x) { return x.has(9, "dtype") ? x.tensor(0).to(x.value(9, "dtype").dtype) : x.tensor(0); }

SampleCall slope_of(Tensor (*f)(const In&, double), const char* name, double otherwise) {
  return [=](const X& x) { return std::vector{f(x.tensor(0), x.number(1, name, otherwise))}; };
}

const SampleCalls kActivation = {
    {"nn.functional.celu", slope_of(celu, "alpha", 1)},
    {"nn.functional.elu", slope_of(elu, "alpha", 1)},
    {"nn.functional.gelu", one_of([](const X& x) {
       return x.text(1, "approximate", "none") == "tanh" ? gelu_tanh(x.tensor(0)) : gelu(x.tensor(0));
     })},
    {"nn.functional.hardshrink", slope_of(hardshrink, "lambd", 0.5)},
    {"nn.functional.hardsigmoid", unary_of(hardsigmoid)},
    {"nn.functional.hardswish", unary_of(hardswish)},
    {"nn.functional.hardtanh",
     one_of([](const X& x) { return hardtanh(x.tensor(0), x.number(1, "min_val", -1), x.number(2, "max_val", 1)); })},
    {"nn.functional.leaky_relu", slope_of(leaky_relu, "negative_slope", 0.01)},
    {"nn.functional.logsigmoid", unary_of(log_sigmoid)},
    {"nn.functional.mish", unary_of(mish)},
    {"nn.functional.prelu", one_of([](const X& x) { return prelu(x.tensor(0), x.tensor(1, "weight")); })},
    {"nn.functional.relu", unary_of(relu)},
    {"nn.functional.relu6", unary_of(relu6)},
    {"nn.functional.selu", unary_of(selu)},
    {"nn.functional.silu", unary_of(silu)},
    {"nn.functional.softplus",
     one_of([](const X& x) { return softplus(x.tensor(0), x.number(1, "beta", 1), x.number(2, "threshold", 20)); })},
    {"nn.functional.softshrink", slope_of(softshrink, "lambd", 0.5)},
    {"nn.functional.softsign", unary_of(softsign)},
    {"nn.functional.tanhshrink", unary_of(tanhshrink)},
    {"nn.functional.threshold",
     one_of([](const X& x) { return threshold(x.tensor(0), x.number(1, "threshold", 0), x.number(2, "value", 0)); })},
    {"nn.functional.glu", one_of([](const X& x) {
       const std::vector<Tensor> halves = chunk(x.tensor(0), 2, x.dim(1, "dim", -1));
       return halves.at(0) * sigmoid(halves.at(1));
     })},
    {"softmax", one_of([](const X& x) { return softmax(with_dtype(x), x.dim(1, "dim", 0)); })},
    {"log_softmax", one_of([](const X& x) { return log_softmax(with_dtype(x), x.dim(1, "dim", 0)); })},
    {"softmax/with_dtype", one_of([](const X& x) { return softmax(with_dtype(x), x.dim(1, "dim", 0)); })},
    {"log_softmax/with_dtype", one_of([](const X& x) { return log_softmax(with_dtype(x), x.dim(1, "dim", 0)); })},
    {"nn.functional.softmin", one_of([](const X& x) { return softmax(neg(with_dtype(x)), x.dim(1, "dim", 0)); })},
    {"clamp", one_of(clamp_of)},
    {"clamp_min", one_of(clamp_of)},
    {"clamp_max", one_of([](const X& x) {
       if (x.value(1, "max").kind == SampleValue::Kind::kTensor) return clamp_max(x.tensor(0), x.tensor(1));
       return clamp_max(x.tensor(0), x.number(1, "max", 0));
     })},
};

class UnarySamples : public DeviceTest {};
INSTANTIATE_TEST_SUITE_P(Devices, UnarySamples, all_devices(), device_test_name);

TEST_P(UnarySamples, OfPyTorch) {
  expect_samples("unary", kUnary,
                 {{"tan", "gradient 0", "PyTorch's 1 + tan² overflows a half"},
                  {"polygamma", " h *", "minnow has infinity at the poles, PyTorch a large number"},
                  {"polygamma", " e *", "the same in gradients"}},
                 device());
}
TEST_P(UnarySamples, MisusedNumbers) { misuse_samples("unary", kUnary, device()); }
TEST_P(UnarySamples, OfActivations) {
  expect_samples("activation", kActivation,
                 {{"nn.functional.gelu", "asdf", "an approximation is a function, not a string"},
                  {"nn.functional.hardsigmoid", " d *", "PyTorch's slope is a float32's 1/6"}},
                 device());
}
TEST_P(UnarySamples, MisusedNumbersOfActivations) { misuse_samples("activation", kActivation, device()); }

}  // namespace
}  // namespace minnow::test
