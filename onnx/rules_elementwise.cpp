#include <cmath>
#include <numbers>
#include <type_traits>
#include <minnow/onnx/detail/call.h>
#include <minnow/onnx/detail/rules.h>
#include <minnow/tensor/activation.h>
#include <minnow/tensor/dtype.h>

namespace minnow::onnx::detail {
namespace {

/// Formulas of operators, in the dtype of the result.
struct Math {
  Call& c;

  std::string n(double value) const { return c.g.number(value, c.y().dtype()); }
  std::string op(const char* name, const std::string& a) const { return c.g.add(name, {a}); }
  std::string op(const char* name, const std::string& a, const std::string& b) const { return c.g.add(name, {a, b}); }
  std::string add(const std::string& a, const std::string& b) const { return op("Add", a, b); }
  std::string sub(const std::string& a, const std::string& b) const { return op("Sub", a, b); }
  std::string mul(const std::string& a, const std::string& b) const { return op("Mul", a, b); }
  std::string div(const std::string& a, const std::string& b) const { return op("Div", a, b); }
  std::string where(const std::string& condition, const std::string& a, const std::string& b) const {
    return c.g.add("Where", {condition, a, b});
  }
};

void plain(Call& c, const char* op) { c.give(c.g.add(op, {c.in_as_result(0)})); }
void predicate(Call& c, const char* op) { c.give(c.g.add(op, {c.in(0)})); }
/// With p0 as an attribute.
void with_alpha(Call& c, const char* op) { c.give(c.g.add(op, {c.in_as_result(0)}, {{"alpha", c.number("p0")}})); }

/// Rules of a formula f(math, x), or f(math, a, b), which is a lambda.
template <class F>
requires std::is_empty_v<F>
constexpr Rule one(std::string_view name, F) {
  return {name, [](Call& c, const char*) { c.give(F()(Math{c}, c.in_as_result(0))); }};
}
template <class F>
requires std::is_empty_v<F>
constexpr Rule two(std::string_view name, F) {
  return {name, [](Call& c, const char*) { c.give(F()(Math{c}, c.in_as_result(0), c.in_as_result(1))); }};
}

std::string clip(const Math& m, const std::string& x, double low, double high) {
  constexpr double kExact = 0x1p53;  // integers beyond limit nothing
  const bool integral = !is_floating_point(m.c.y().dtype());
  const auto is_none = [&](double bound) { return std::isinf(bound) || (integral && std::abs(bound) >= kExact); };
  std::string y = x;
  if (!is_none(low)) y = m.op("Max", y, m.n(low));
  if (!is_none(high)) y = m.op("Min", y, m.n(high));
  return y;
}

constexpr auto gelu = [](const Math& m, const std::string& x) -> std::string {
  if (m.c.g.opset() >= 20) return m.op("Gelu", x);
  return m.mul(m.mul(m.n(0.5), x), m.add(m.n(1), m.op("Erf", m.mul(x, m.n(1 / std::numbers::sqrt2)))));
};

constexpr auto gelu_tanh = [](const Math& m, const std::string& x) -> std::string {
  if (m.c.g.opset() >= 20) return m.c.g.add("Gelu", {x}, {{"approximate", "tanh"}});
  const std::string cube = m.mul(m.mul(x, x), x);
  const std::string inner = m.mul(m.n(std::sqrt(2 / std::numbers::pi)), m.add(x, m.mul(m.n(0.044715), cube)));
  return m.mul(m.mul(m.n(0.5), x), m.add(m.n(1), m.op("Tanh", inner)));
};

constexpr auto softplus = [](const Math& m, const std::string& x) -> std::string {
  const double beta = m.c.number("p0"), threshold = m.c.number("p1");
  const std::string scaled = beta == 1 ? x : m.mul(x, m.n(beta));
  std::string y = m.op("Softplus", scaled);
  if (beta != 1) y = m.mul(y, m.n(1 / beta));
  constexpr double kFar = 17;  // from here on it is x in float32
  return threshold >= kFar ? y : m.where(m.op("Greater", scaled, m.n(threshold)), x, y);
};

constexpr auto truncated = [](const Math& m, const std::string& x) -> std::string {
  return m.mul(m.op("Sign", x), m.op("Floor", m.op("Abs", x)));
};

// Of two operands.

void arithmetic(Call& c, const char* op) { c.give(c.g.add(op, {c.in_as_result(0), c.in_as_result(1)})); }

void comparison(Call& c, const char* op) {
  DType dtype = promote_types(c.x(0).dtype(), c.x(1).dtype());
  if (dtype == DType::bool_) dtype = DType::int32;
  c.give(c.g.add(op, {c.as(c.in(0), c.x(0).dtype(), dtype), c.as(c.in(1), c.x(1).dtype(), dtype)}));
}
void unequal(Call& c, const char*) {
  comparison(c, "Equal");
  c.give(c.g.add("Not", {c.result_name()}));
}

std::string as_bool(Call& c, std::size_t i) { return c.as(c.in(i), c.x(i).dtype(), DType::bool_); }
void logical(Call& c, const char* op) { c.give(c.g.add(op, {as_bool(c, 0), as_bool(c, 1)})); }

/// op: that of bool; Bitwise in front is that of integers.
void bitwise(Call& c, const char* op) {
  arithmetic(c, c.y().dtype() == DType::bool_ ? op : (std::string("Bitwise") + op).c_str());
}

constexpr auto floor_divided = [](const Math& m, const std::string& a, const std::string& b) -> std::string {
  const DType dtype = m.c.y().dtype();
  if (is_floating_point(dtype)) return m.op("Floor", m.div(a, b));
  const auto wide = [&](const std::string& x) { return m.c.as(x, dtype, DType::float64); };
  return m.c.as(m.op("Floor", m.div(wide(a), wide(b))), DType::float64, dtype);
};

constexpr auto remainder = [](const Math& m, const std::string& a, const std::string& b) -> std::string {
  if (!is_floating_point(m.c.y().dtype())) return m.op("Mod", a, b);
  return m.sub(a, m.mul(b, m.op("Floor", m.div(a, b))));
};

void where(Call& c, const char*) { c.give(c.g.add("Where", {as_bool(c, 0), c.in_as_result(1), c.in_as_result(2)})); }

/// a + value b c, or a + value b / c.
void added(Call& c, const char* op) {
  const Math m{c};
  const std::string part = m.op(op, c.in_as_result(1), c.in_as_result(2));
  c.give(m.add(c.in_as_result(0), m.mul(part, m.n(c.number("value")))));
}

constexpr Rule kRules[] = {
    {"neg", plain, "Neg"},
    {"abs", plain, "Abs"},
    {"sign", plain, "Sign"},
    {"exp", plain, "Exp"},
    {"log", plain, "Log"},
    {"sqrt", plain, "Sqrt"},
    {"reciprocal", plain, "Reciprocal"},
    {"sin", plain, "Sin"},
    {"cos", plain, "Cos"},
    {"tan", plain, "Tan"},
    {"asin", plain, "Asin"},
    {"acos", plain, "Acos"},
    {"atan", plain, "Atan"},
    {"sinh", plain, "Sinh"},
    {"cosh", plain, "Cosh"},
    {"tanh", plain, "Tanh"},
    {"asinh", plain, "Asinh"},
    {"acosh", plain, "Acosh"},
    {"atanh", plain, "Atanh"},
    {"erf", plain, "Erf"},
    {"floor", plain, "Floor"},
    {"ceil", plain, "Ceil"},
    {"round", plain, "Round"},
    {"sigmoid", plain, "Sigmoid"},
    {"relu", plain, "Relu"},
    {"softsign", plain, "Softsign"},
    {"mish", plain, "Mish"},
    {"selu", plain, "Selu"},
    {"hardswish", plain, "HardSwish"},
    {"elu", with_alpha, "Elu"},
    {"celu", with_alpha, "Celu"},
    {"leaky_relu", with_alpha, "LeakyRelu"},
    {"isnan", predicate, "IsNaN"},
    {"isinf", predicate, "IsInf"},
    {"logical_not", [](Call& c, const char*) { c.give(c.g.add("Not", {as_bool(c, 0)})); }},
    {"bitwise_not",
     [](Call& c, const char*) { plain(c, c.y().dtype() == DType::bool_ ? "Not" : "BitwiseNot"); }},
    {"isfinite",
     [](Call& c, const char*) {
       c.give(c.g.add("Not", {c.g.add("Or", {c.g.add("IsNaN", {c.in(0)}), c.g.add("IsInf", {c.in(0)})})}));
     }},
    {"hardsigmoid",
     [](Call& c, const char*) {
       c.give(c.g.add("HardSigmoid", {c.in(0)}, {{"alpha", 1.0 / 6}, {"beta", 0.5}}));
     }},
    {"softshrink",
     [](Call& c, const char*) {
       c.give(c.g.add("Shrink", {c.in(0)}, {{"lambd", c.number("p0")}, {"bias", c.number("p0")}}));
     }},
    {"hardshrink",
     [](Call& c, const char*) { c.give(c.g.add("Shrink", {c.in(0)}, {{"lambd", c.number("p0")}, {"bias", 0.0}})); }},
    one("exp2", [](const Math& m, const std::string& x) { return m.op("Pow", m.n(2), x); }),
    one("expm1", [](const Math& m, const std::string& x) { return m.sub(m.op("Exp", x), m.n(1)); }),
    one("log1p", [](const Math& m, const std::string& x) { return m.op("Log", m.add(x, m.n(1))); }),
    one("log2", [](const Math& m, const std::string& x) { return m.div(m.op("Log", x), m.n(std::numbers::ln2)); }),
    one("log10", [](const Math& m, const std::string& x) { return m.div(m.op("Log", x), m.n(std::numbers::ln10)); }),
    one("rsqrt", [](const Math& m, const std::string& x) { return m.op("Reciprocal", m.op("Sqrt", x)); }),
    one("square", [](const Math& m, const std::string& x) { return m.mul(x, x); }),
    one("erfc", [](const Math& m, const std::string& x) { return m.sub(m.n(1), m.op("Erf", x)); }),
    one("trunc", truncated),
    one("frac", [](const Math& m, const std::string& x) { return m.sub(x, truncated(m, x)); }),
    one("logit", [](const Math& m, const std::string& x) { return m.op("Log", m.div(x, m.sub(m.n(1), x))); }),
    one("log_sigmoid",
        [](const Math& m, const std::string& x) { return m.op("Neg", m.op("Softplus", m.op("Neg", x))); }),
    one("relu6", [](const Math& m, const std::string& x) { return clip(m, x, 0, 6); }),
    one("hardtanh", [](const Math& m, const std::string& x) { return clip(m, x, m.c.number("p0"), m.c.number("p1")); }),
    one("clamp", [](const Math& m, const std::string& x) { return clip(m, x, m.c.number("p0"), m.c.number("p1")); }),
    one("gelu", gelu),
    one("gelu_tanh", gelu_tanh),
    one("silu", [](const Math& m, const std::string& x) { return m.mul(x, m.op("Sigmoid", x)); }),
    one("tanhshrink", [](const Math& m, const std::string& x) { return m.sub(x, m.op("Tanh", x)); }),
    one("softplus", softplus),
    one("threshold",
        [](const Math& m, const std::string& x) {
          return m.where(m.op("Greater", x, m.n(m.c.number("p0"))), x, m.n(m.c.number("p1")));
        }),
    one("nan_to_num",
        [](const Math& m, const std::string& x) {
          const double largest = m.c.number("p1");
          return m.where(m.op("IsNaN", x), m.n(m.c.number("p0")), clip(m, x, -largest, largest));
        }),
    one("pow_scalar", [](const Math& m, const std::string& x) { return m.op("Pow", x, m.n(m.c.number("p0"))); }),
    {"add", arithmetic, "Add"},
    {"sub", arithmetic, "Sub"},
    {"mul", arithmetic, "Mul"},
    {"div", arithmetic, "Div"},
    {"pow", arithmetic, "Pow"},
    {"maximum", arithmetic, "Max"},
    {"minimum", arithmetic, "Min"},
    {"fmod",
     [](Call& c, const char*) { c.give(c.g.add("Mod", {c.in_as_result(0), c.in_as_result(1)}, {{"fmod", 1}})); }},
    two("remainder", remainder),
    two("floor_divide", floor_divided),
    two("hypot",
        [](const Math& m, const std::string& a, const std::string& b) {
          return m.op("Sqrt", m.add(m.mul(a, a), m.mul(b, b)));
        }),
    two("logaddexp",
        [](const Math& m, const std::string& a, const std::string& b) {
          const std::string apart = m.op("Abs", m.sub(a, b)),
                            y = m.add(m.op("Max", a, b), m.op("Softplus", m.op("Neg", apart)));
          return m.where(m.op("Equal", a, b), m.add(a, m.n(std::numbers::ln2)), y);  // infinite ones too
        }),
    two("add_scaled",
        [](const Math& m, const std::string& a, const std::string& b) {
          return m.add(a, m.mul(b, m.n(m.c.number("alpha"))));
        }),
    {"prelu", arithmetic, "PRelu"},
    {"eq", comparison, "Equal"},
    {"ne", unequal},
    {"lt", comparison, "Less"},
    {"le", comparison, "LessOrEqual"},
    {"gt", comparison, "Greater"},
    {"ge", comparison, "GreaterOrEqual"},
    {"logical_and", logical, "And"},
    {"logical_or", logical, "Or"},
    {"logical_xor", logical, "Xor"},
    {"bitwise_and", bitwise, "And"},
    {"bitwise_or", bitwise, "Or"},
    {"bitwise_xor", bitwise, "Xor"},
    {"where", where},
    {"clamp_between",
     [](Call& c, const char*) {
       c.give(c.g.add("Min", {c.g.add("Max", {c.in_as_result(0), c.in_as_result(1)}), c.in_as_result(2)}));
     }},
    {"lerp",
     [](Call& c, const char*) {
       const Math m{c};
       const std::string a = c.in_as_result(0);
       c.give(m.add(a, m.mul(c.in_as_result(2), m.sub(c.in_as_result(1), a))));
     }},
    {"addcmul", added, "Mul"},
    {"addcdiv", added, "Div"},
};

}  // namespace

std::span<const Rule> elementwise_rules() { return kRules; }

std::string activated(Call& call, const std::string& x, std::int64_t activation) {
  switch (static_cast<Activation>(activation)) {
    case Activation::none: break;
    case Activation::relu: return call.g.add("Relu", {x});
    case Activation::gelu_tanh: return gelu_tanh(Math{call}, x);
  }
  return x;
}

}  // namespace minnow::onnx::detail
