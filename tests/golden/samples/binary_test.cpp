#include "devices.h"
#include "samples.h"

namespace minnow::test {
namespace {

using X = SampleArguments;

SampleCall pair_of(Tensor (*f)(const TensorLike&, const TensorLike&)) {
  return [f](const X& x) { return std::vector{f(x.like(0), x.like(1, "other"))}; };
}
SampleCall reversed_of(Tensor (*f)(const TensorLike&, const TensorLike&)) {
  return [f](const X& x) { return std::vector{f(x.like(1, "other"), x.like(0))}; };
}
template <class F> SampleCall call_of(F f) {
  return [f](const X& x) { return std::vector<Tensor>{f(x)}; };
}

/// a + alpha b, or a - alpha b.
template <class F, class G> SampleCall scaled_of(F plain, G scaled) {
  return call_of([=](const X& x) {
    if (!x.has(2, "alpha")) return plain(x.like(0), x.like(1, "other"));
    const SampleOperand b = x.like(1, "other");
    if (!b.tensor.defined() || !x.like(0).tensor.defined()) throw NoForm();
    return scaled(x.tensor(0), b.tensor, x.scalar(2, "alpha", 1));
  });
}

Tensor close_of(const X& x) {
  return isclose(x.tensor(0), x.tensor(1, "other"), x.number(2, "rtol", 1e-5), x.number(3, "atol", 1e-8),
                 x.flag(4, "equal_nan", false));
}

const SampleCalls kBinary = {
    {"__radd__", reversed_of(add)},
    {"__rdiv__", reversed_of(div)},
    {"__rmod__", reversed_of(remainder)},
    {"__rmul__", reversed_of(mul)},
    {"__rpow__", reversed_of(pow)},
    {"__rsub__", reversed_of(sub)},
    {"__rand__", reversed_of(bitwise_and)},
    {"__ror__", reversed_of(bitwise_or)},
    {"__rxor__", reversed_of(bitwise_xor)},
    {"add", scaled_of([](const auto& a, const auto& b) { return add(a, b); },
                      [](const Tensor& a, const Tensor& b, Scalar alpha) { return add(a, b, alpha); })},
    {"sub", scaled_of([](const auto& a, const auto& b) { return sub(a, b); },
                      [](const Tensor& a, const Tensor& b, Scalar alpha) { return sub(a, b, alpha); })},
    {"rsub", call_of([](const X& x) {
       if (!x.has(2, "alpha")) return sub(x.like(1, "other"), x.like(0));
       const SampleOperand b = x.like(1, "other");
       if (!b.tensor.defined()) throw NoForm();
       return sub(b.tensor, x.tensor(0), x.scalar(2, "alpha", 1));
     })},
    {"mul", pair_of(mul)},
    {"div/no_rounding_mode", pair_of(div)},
    {"true_divide", pair_of(div)},
    {"floor_divide", pair_of(floor_divide)},
    {"fmod", pair_of(fmod)},
    {"remainder", pair_of(remainder)},
    {"pow", pair_of(pow)},
    {"maximum", pair_of(maximum)},
    {"minimum", pair_of(minimum)},
    {"max/binary", call_of([](const X& x) { return max(x.tensor(0), x.tensor(1)); })},
    {"min/binary", call_of([](const X& x) { return min(x.tensor(0), x.tensor(1)); })},
    {"fmax", pair_of(fmax)},
    {"fmin", pair_of(fmin)},
    {"atan2", pair_of(atan2)},
    {"hypot", pair_of(hypot)},
    {"copysign", pair_of(copysign)},
    {"logaddexp", pair_of(logaddexp)},
    {"eq", pair_of(eq)},
    {"ne", pair_of(ne)},
    {"lt", pair_of(lt)},
    {"le", pair_of(le)},
    {"gt", pair_of(gt)},
    {"ge", pair_of(ge)},
    {"equal", call_of([](const X& x) { return full({}, equal(x.tensor(0), x.tensor(1))); })},
    {"isclose", call_of(close_of)},
    {"allclose", call_of([](const X& x) {
       return full({}, allclose(x.tensor(0), x.tensor(1, "other"), x.number(2, "rtol", 1e-5), x.number(3, "atol", 1e-8),
                                x.flag(4, "equal_nan", false)));
     })},
    {"logical_and", pair_of(logical_and)},
    {"logical_or", pair_of(logical_or)},
    {"logical_xor", pair_of(logical_xor)},
    {"bitwise_and", pair_of(bitwise_and)},
    {"bitwise_or", pair_of(bitwise_or)},
    {"bitwise_xor", pair_of(bitwise_xor)},
    {"bitwise_left_shift", pair_of(left_shift)},
    {"bitwise_right_shift", pair_of(right_shift)},
    // PyTorch's sample calls x.where(condition, other).
    {"where", call_of([](const X& x) { return where(x.tensor(1, "condition"), x.like(0), x.like(2, "other")); })},
    {"lerp", call_of([](const X& x) { return lerp(x.tensor(0), x.tensor(1, "end"), x.like(2, "weight")); })},
    {"addcmul",
     call_of([](const X& x) { return addcmul(x.tensor(0), x.tensor(1), x.tensor(2), x.number(3, "value", 1)); })},
    {"addcdiv",
     call_of([](const X& x) { return addcdiv(x.tensor(0), x.tensor(1), x.tensor(2), x.number(3, "value", 1)); })},
    {"float_power", call_of([](const X& x) {
       const auto real = [](const SampleOperand& v) {
         return v.tensor.defined() ? SampleOperand{v.tensor.to(float64)} : SampleOperand{{}, v.number.as_double()};
       };
       return pow(real(x.like(0)), real(x.like(1)));
     })},
};

class BinarySamples : public DeviceTest {};
INSTANTIATE_TEST_SUITE_P(Devices, BinarySamples, all_devices(), device_test_name);

TEST_P(BinarySamples, OfPyTorch) {
  expect_samples("binary", kBinary,
                 {{"", " 2 -> !", "a number is an operand"},
                  {"__rdiv__", "gradient 1", "a small sum of large halves"},
                  {"addcdiv", " e *", "PyTorch rounds each step of the gradient to a half"}},
                 device());
}
TEST_P(BinarySamples, MisusedNumbers) { misuse_samples("binary", kBinary, device()); }

}  // namespace
}  // namespace minnow::test
