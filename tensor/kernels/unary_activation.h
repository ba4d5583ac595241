#pragma once

#include <minnow/tensor/kernels/unary_math.h>

namespace minnow::detail::kernels {

/// Logistic sigmoid: y = 1 / (1 + e^-x);  dy/dx = y (1 - y).
struct Sigmoid : Unary<Saves::kOutput> {
  static constexpr std::string_view kName = "sigmoid";
  template <class T> MINNOW_HD static T value(T x) { return math::sigmoid(x); }
  template <class T> MINNOW_HD static T slope(T y) { return y * (T(1) - y); }
};
/// y = ln sigmoid(x);  dy/dx = sigmoid(-x).
struct LogSigmoid : Unary<Saves::kInput> {
  static constexpr std::string_view kName = "log_sigmoid";
  template <class T> MINNOW_HD static T value(T x) { return -math::softplus(-x); }
  template <class T> MINNOW_HD static T slope(T x) { return math::sigmoid(-x); }
};
/// y = ln(1 + e^(beta x)) / beta, x where beta x > threshold;  dy/dx = sigmoid(beta x).
struct Softplus : Unary<Saves::kInput, 2> {
  static constexpr std::string_view kName = "softplus";
  template <class T> MINNOW_HD static T value(T x, T beta, T threshold) {
    const T z = x * beta;
    return z > threshold ? x : math::softplus(z) / beta;
  }
  template <class T> MINNOW_HD static T slope(T x, T beta, T threshold) {
    const T z = x * beta;
    return z > threshold ? T(1) : math::sigmoid(z);
  }
};
/// y = max(x, 0), NaN where x is NaN;  dy/dx = 1 where y > 0, else 0.
struct Relu : PiecewiseLinear<Saves::kOutput, 0, Kind::kNumeric> {
  static constexpr std::string_view kName = "relu";
  static constexpr bool kTakesBool = false;
  template <class T> MINNOW_HD static T value(T x) { return x < T(0) ? T(0) : x; }
  template <class T> MINNOW_HD static T slope(T y) { return y <= T(0) ? T(0) : T(1); }  // 1 at NaN
};
/// y = min(max(x, lo), hi);  dy/dx = 0 where x <= lo or x >= hi, else 1.
struct Hardtanh : PiecewiseLinear<Saves::kInput, 2, Kind::kNumeric> {
  static constexpr std::string_view kName = "hardtanh";
  static constexpr bool kTakesBool = false;
  template <class T> MINNOW_HD static T value(T x, T lo, T hi) {
    const T raised = x < lo ? lo : x;
    return raised > hi ? hi : raised;
  }
  template <class T> MINNOW_HD static T slope(T x, T lo, T hi) { return x <= lo || x >= hi ? T(0) : T(1); }
};
/// y = min(max(x, 0), 6).
struct Relu6 : PiecewiseLinear<Saves::kInput, 0, Kind::kNumeric> {
  static constexpr std::string_view kName = "relu6";
  static constexpr bool kTakesBool = false;
  template <class T> MINNOW_HD static T value(T x) { return Hardtanh::value(x, T(0), T(6)); }
  template <class T> MINNOW_HD static T slope(T x) { return Hardtanh::slope(x, T(0), T(6)); }
};
/// y = x where x > 0, else slope x.
struct LeakyRelu : PiecewiseLinear<Saves::kInput, 1> {
  static constexpr std::string_view kName = "leaky_relu";
  template <class T> MINNOW_HD static T value(T x, T a) { return x > T(0) ? x : x * a; }
  template <class T> MINNOW_HD static T slope(T x, T a) { return x > T(0) ? T(1) : a; }
};
/// y = x where x > 0, else alpha (e^x - 1).
struct Elu : Unary<Saves::kInput, 1> {
  static constexpr std::string_view kName = "elu";
  template <class T> MINNOW_HD static T value(T x, T alpha) { return x <= T(0) ? alpha * math::expm1(x) : x; }
  template <class T> MINNOW_HD static T slope(T x, T alpha) { return x > T(0) ? T(1) : alpha * math::exp(x); }
};
/// y = 1.0507 elu(x, 1.6733), the constants of self-normalizing networks.
struct Selu : Unary<Saves::kInput> {
  static constexpr std::string_view kName = "selu";
  static constexpr double kScale = 1.0507009873554804934193349852946;
  static constexpr double kAlpha = 1.6732632423543772848170429916717;
  template <class T> MINNOW_HD static T value(T x) {
    return x <= T(0) ? T(kScale * kAlpha) * math::expm1(x) : T(kScale) * x;
  }
  template <class T> MINNOW_HD static T slope(T x) { return x > T(0) ? T(kScale) : T(kScale * kAlpha) * math::exp(x); }
};
/// y = x where x > 0, else alpha (e^(x / alpha) - 1).
struct Celu : Unary<Saves::kInput, 1> {
  static constexpr std::string_view kName = "celu";
  template <class T> MINNOW_HD static T value(T x, T alpha) { return x <= T(0) ? alpha * math::expm1(x / alpha) : x; }
  template <class T> MINNOW_HD static T slope(T x, T alpha) { return x > T(0) ? T(1) : math::exp(x / alpha); }
};
/// y = x P(x), P the normal distribution's cumulative function, p its density;  dy/dx = P + x p.
struct Gelu : Unary<Saves::kInput> {
  static constexpr std::string_view kName = "gelu";
  template <class T> MINNOW_HD static T below(T x) { return math::normal_cdf(x); }
  template <class T> MINNOW_HD static T density(T x) { return T(0.398942280401432678) * math::exp(T(-0.5) * x * x); }
  template <class T> MINNOW_HD static T value(T x) { return x * below(x); }
  template <class T> MINNOW_HD static T slope(T x) { return below(x) + x * density(x); }
};
/// y = x (1 + tanh u) / 2 with u = sqrt(2 / pi) (x + 0.044715 x^3).
struct GeluTanh : Unary<Saves::kInput> {
  static constexpr std::string_view kName = "gelu_tanh";
  static constexpr double kRoot = 0.797884560802865356;
  static constexpr double kCubic = 0.044715;
  template <class T> MINNOW_HD static T inner(T x) { return T(kRoot) * (x + T(kCubic) * x * x * x); }
  template <class T> MINNOW_HD static T tanh_inner(T x) { return math::tanh(inner(x)); }
  /// 1 - tanh^2 u, without the cancellation.
  template <class T> MINNOW_HD static T sech_squared(T x) {
    const T e = math::exp(T(-2) * math::abs(inner(x)));
    return T(4) * e / ((T(1) + e) * (T(1) + e));
  }
  template <class T> MINNOW_HD static T value(T x) { return T(0.5) * x * (T(1) + tanh_inner(x)); }
  template <class T> MINNOW_HD static T slope(T x) {
    const T t = tanh_inner(x);
    const T du = T(kRoot) * (T(1) + T(3 * kCubic) * x * x);
    return T(0.5) * (T(1) + t) + T(0.5) * x * sech_squared(x) * du;
  }
};
/// y = x s with s = sigmoid(x);  dy/dx = s (1 + x (1 - s)).
struct Silu : Unary<Saves::kInput> {
  static constexpr std::string_view kName = "silu";
  template <class T> MINNOW_HD static T value(T x) { return x / (T(1) + math::exp(-x)); }
  template <class T> MINNOW_HD static T slope(T x) {
    const T s = math::sigmoid(x);
    return s * (T(1) + x * (T(1) - s));
  }
};
/// y = x t with t = tanh(softplus(x));  dy/dx = t + x s (1 - t^2), s = sigmoid(x).
struct Mish : Unary<Saves::kInput> {
  static constexpr std::string_view kName = "mish";
  template <class T> MINNOW_HD static T value(T x) { return x * math::tanh(math::softplus(x)); }
  template <class T> MINNOW_HD static T slope(T x) {
    const T t = math::tanh(math::softplus(x));
    return t + x * math::sigmoid(x) * (T(1) - t * t);
  }
};
/// y = x min(max(x + 3, 0), 6) / 6;  dy/dx = 0 up to -3, 1 from 3, x / 3 + 1 / 2 between.
struct Hardswish : Unary<Saves::kInput> {
  static constexpr std::string_view kName = "hardswish";
  template <class T> MINNOW_HD static T value(T x) { return x * Relu6::value(x + T(3)) / T(6); }
  template <class T> MINNOW_HD static T slope(T x) {
    const T middle = x < T(3) ? x / T(3) + T(0.5) : T(1);
    return x <= T(-3) ? T(0) : middle;
  }
};
/// y = min(max(x + 3, 0), 6) / 6;  dy/dx = 1/6 inside of (-3, 3), else 0.
struct Hardsigmoid : PiecewiseLinear<Saves::kInput> {
  static constexpr std::string_view kName = "hardsigmoid";
  template <class T> MINNOW_HD static T value(T x) { return Relu6::value(x + T(3)) / T(6); }
  template <class T> MINNOW_HD static T slope(T x) { return x > T(-3) && x < T(3) ? T(1) / T(6) : T(0); }
};
/// y = x / (1 + |x|);  dy/dx = 1 / (1 + |x|)^2.
struct Softsign : Unary<Saves::kInput> {
  static constexpr std::string_view kName = "softsign";
  template <class T> MINNOW_HD static T value(T x) { return x / (T(1) + math::abs(x)); }
  template <class T> MINNOW_HD static T slope(T x) {
    const T d = T(1) / (T(1) + math::abs(x));
    return d * d;
  }
};
/// y = x - l where x > l, x + l where x < -l, else 0.
struct Softshrink : PiecewiseLinear<Saves::kInput, 1> {
  static constexpr std::string_view kName = "softshrink";
  template <class T> MINNOW_HD static T value(T x, T l) {
    const T shrunk = x > l ? x - l : x + l;
    return x >= -l && x <= l ? x * T(0) : shrunk;
  }
  template <class T> MINNOW_HD static T slope(T x, T l) { return x >= -l && x <= l ? T(0) : T(1); }
};
/// y = 0 where |x| <= l, else x.
struct Hardshrink : PiecewiseLinear<Saves::kInput, 1> {
  static constexpr std::string_view kName = "hardshrink";
  template <class T> MINNOW_HD static T value(T x, T l) { return x >= -l && x <= l ? T(0) : x; }
  template <class T> MINNOW_HD static T slope(T x, T l) { return x >= -l && x <= l ? T(0) : T(1); }
};
/// y = x - tanh x;  dy/dx = tanh^2 x.
struct Tanhshrink : Unary<Saves::kInput> {
  static constexpr std::string_view kName = "tanhshrink";
  template <class T> MINNOW_HD static T value(T x) { return x - math::tanh(x); }
  template <class T> MINNOW_HD static T slope(T x) {
    const T t = math::tanh(x);
    return t * t;
  }
};
/// y = s x^2 / (2 b) where |x| < b, else s (|x| - b / 2): the losses smooth_l1 and huber of a difference.
struct SmoothL1 : Unary<Saves::kInput, 2> {
  static constexpr std::string_view kName = "smooth_l1";
  /// s / b, finite, so that 0 times it is 0.
  template <class T> MINNOW_HD static T bend(T b, T s) {
    constexpr T kMax = std::numeric_limits<T>::max();
    const T c = s / b;
    return c > kMax ? kMax : c;
  }
  template <class T> MINNOW_HD static T value(T x, T b, T s) {
    const T size = math::abs(x);
    return size < b ? T(0.5) * bend(b, s) * (x * x) : s * (size - T(0.5) * b);
  }
  template <class T> MINNOW_HD static T slope(T x, T b, T s) {
    const T inside = x * bend(b, s);
    const T right = x >= b ? s : inside;
    return x <= -b ? -s : right;
  }
};
/// y = x where x > t, else v.
struct Threshold : PiecewiseLinear<Saves::kInput, 2, Kind::kNumeric> {
  static constexpr std::string_view kName = "threshold";
  template <class T> MINNOW_HD static T value(T x, T t, T v) { return x <= t ? v : x; }
  template <class T> MINNOW_HD static T slope(T x, T t, T) { return x <= t ? T(0) : T(1); }
};

}  // namespace minnow::detail::kernels
