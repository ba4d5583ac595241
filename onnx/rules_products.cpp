#include <cmath>
#include <limits>
#include <numeric>
#include <utility>
#include <minnow/onnx/detail/call.h>
#include <minnow/onnx/detail/rules.h>
#include <minnow/tensor/create.h>

namespace minnow::onnx::detail {
namespace {

void matmul(Call& c, const char*) { c.give(c.g.add("MatMul", {c.in(0), c.in(1)})); }

void linear(Call& c, const char*) {
  std::string y;
  if (c.x(0).dim() == 2) {
    std::vector<std::string> inputs{c.in(0), c.in(1)};
    if (c.has(2)) inputs.push_back(c.in(2));
    y = c.g.add("Gemm", inputs, {{"transB", 1}});
  } else {
    y = c.g.add("MatMul", {c.in(0), c.g.add("Transpose", {c.in(1)}, {{"perm", std::vector<std::int64_t>{1, 0}}})});
    if (c.has(2)) y = c.g.add("Add", {y, c.in(2)});
  }
  c.give(activated(c, y, c.integer("activation")));
}

void addmm(Call& c, const char*) {
  const DType dtype = c.y().dtype();
  const auto times = [&](const std::string& x, double n) {
    return n == 1 ? x : c.g.add("Mul", {x, c.g.number(n, dtype)});
  };
  const std::string product = times(c.g.add("MatMul", {c.in(1), c.in(2)}), c.number("alpha"));
  const double beta = c.number("beta");
  c.give(beta == 0 ? product : c.g.add("Add", {times(c.in(0), beta), product}));
}

void einsum(Call& c, const char*) {
  std::vector<std::string> inputs;
  for (std::size_t i = 0; i < c.count(); ++i) inputs.push_back(c.in(i));
  c.give(c.g.add("Einsum", inputs, {{"equation", c.text("equation")}}));
}

/// The weight is dequantized, and each row of x rounded to 8 bits as minnow does: by quantizers with a scale for each
/// row, which is computed.  DynamicQuantizeLinear would have one for all rows.
void quantized_linear(Call& c, const char*) {
  const auto n = [&](double value) { return c.g.number(value, DType::float32); };
  const auto op = [&](const char* name, const std::string& a, const std::string& b) { return c.g.add(name, {a, b}); };
  const bool is_matrix = c.x(0).dim() == 2;
  const std::string rows = is_matrix ? c.in(0) : c.g.add("Reshape", {c.in(0), c.g.list({-1, c.x(1).size(1)})});
  const auto most = [&](const char* reduce, const char* beside) {
    return op(beside, c.g.add(reduce, {rows, c.axes({-1})}, {{"keepdims", 0}}), n(0));
  };
  constexpr double kHighest = 255;
  const std::string least = most("ReduceMin", "Min");
  const std::string width = op("Div", op("Sub", most("ReduceMax", "Max"), least), n(kHighest));
  const std::string scale = c.g.add("Where", {op("Equal", width, n(0)), n(0.1), width});
  const std::string zero =
      c.as(c.g.add("Round", {op("Div", c.g.add("Neg", {least}), scale)}), DType::float32, DType::uint8);
  const auto quantizer = [&](const char* name, const std::string& x) {
    return c.g.add(name, {x, scale, zero}, {{"axis", 0}});
  };
  const std::string x = quantizer("DequantizeLinear", quantizer("QuantizeLinear", rows));
  const std::string weight = c.g.add("DequantizeLinear", {c.in(1), c.in(2)}, {{"axis", 0}});
  std::string y = op("MatMul", x, c.g.add("Transpose", {weight}, {{"perm", std::vector<std::int64_t>{1, 0}}}));
  if (c.has(3)) y = op("Add", y, c.in(3));
  if (!is_matrix) y = c.reshaped(y, {}, c.result_sizes());
  c.give(activated(c, y, c.integer("activation")));
}

/// Fewer heads of key or value, each as often as heads of the query share it.
std::string repeated_heads(Call& c, std::size_t i, Size heads) {
  const Sizes own = c.sizes(i);
  const std::size_t h = own.size() - 3;
  if (own[h] == heads) return c.in(i);
  if (!own[h].fixed() || !heads.fixed()) c.refuse("the number of heads is left open\ngive it one size");
  Sizes apart = own, repeated(own.size() + 1, Size{1, 1}), joined = own;
  apart.insert(apart.begin() + static_cast<std::ptrdiff_t>(h) + 1, Size{1, 1});
  repeated[h + 1] = {heads.a / own[h].a, heads.a / own[h].a};
  joined[h] = heads;
  const std::string x = c.reshaped(c.in(i), own, apart);
  return c.reshaped(c.g.add("Expand", {x, c.sized(repeated)}), {}, joined);
}

/// softmax(query keyᵀ scale + mask) value.
void attention(Call& c, const char*) {
  const DType dtype = c.y().dtype();
  const int rank = c.x(1).dim();
  if (c.number("dropout") > 0) c.refuse("it has dropout, which is random\ngive dropout_p only in training");
  double scale = c.number("scale");
  if (scale == 0) scale = 1 / std::sqrt(static_cast<double>(std::max<std::int64_t>(c.x(0).size(-1), 1)));
  std::string key = c.in(1), value = c.in(2);
  if (c.flag("gqa") && c.x(0).dim() > 2 && rank > 2) {
    const Sizes query = c.sizes(0);
    key = repeated_heads(c, 1, query[query.size() - 3]);
    value = repeated_heads(c, 2, query[query.size() - 3]);
  }
  std::vector<std::int64_t> perm(static_cast<std::size_t>(rank));
  std::iota(perm.begin(), perm.end(), 0);
  std::swap(perm.end()[-1], perm.end()[-2]);
  const std::string columns = c.g.add("Transpose", {key}, {{"perm", perm}});
  const std::string query = c.g.add("Mul", {c.in(0), c.g.number(scale, dtype)});
  std::string scores = c.g.add("MatMul", {query, columns}), none;
  const std::string never = c.g.number(-std::numeric_limits<double>::infinity(), dtype);
  if (c.flag("is_causal")) {
    const Sizes q = c.sizes(0), k = c.sizes(1);
    const Sizes square{q[q.size() - 2], k[k.size() - 2]};
    const std::string ones = c.g.add("Expand", {c.g.number(1, DType::float32), c.sized(square)});
    const std::string seen = c.g.add("Trilu", {ones}, {{"upper", 0}});
    scores = c.g.add("Where", {c.as(seen, DType::float32, DType::bool_), scores, never});
  } else if (c.has(3) && c.x(3).dtype() == DType::bool_) {
    scores = c.g.add("Where", {c.in(3), scores, never});
    const std::string numbers = c.as(c.in(3), DType::bool_, DType::float32);
    const std::string most = c.g.add("ReduceMax", {numbers, c.axes({-1})}, {{"keepdims", 1}});
    none = c.g.add("Equal", {most, c.g.number(0, DType::float32)});
  } else if (c.has(3)) {
    scores = c.g.add("Add", {scores, c.in(3)});
    none = c.g.add("Equal", {c.g.add("ReduceMax", {c.in(3), c.axes({-1})}, {{"keepdims", 1}}), never});
  }
  std::string weights = c.g.add("Softmax", {scores}, {{"axis", -1}});
  if (!none.empty()) weights = c.g.add("Where", {none, c.g.number(0, dtype), weights});  // rows that see nothing
  c.give(c.g.add("MatMul", {weights, value}));
}

constexpr Rule kRules[] = {
    {"matmul", matmul}, {"linear", linear},
    {"addmm", addmm},   {"quantized_linear", quantized_linear},
    {"einsum", einsum}, {"scaled_dot_product_attention", attention},
};

}  // namespace

std::span<const Rule> product_rules() { return kRules; }

}  // namespace minnow::onnx::detail
