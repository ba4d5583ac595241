#include <minnow/ops/products/einsum.h>

#include <algorithm>
#include <cctype>
#include <fmt/format.h>
#include <string>
#include <utility>
#include <minnow/ops/detail/autocast.h>
#include <minnow/ops/detail/operation.h>
#include <minnow/ops/elementwise/arithmetic.h>
#include <minnow/ops/products/matmul.h>
#include <minnow/ops/reductions/reduce.h>
#include <minnow/ops/shape/rearrange.h>
#include <minnow/tensor/backend/dispatch.h>
#include <minnow/tensor/backend/tell.h>
#include <minnow/tensor/error.h>

namespace minnow {
namespace {

/// The name of a dimension: a letter, or '0' + d for dimension d of the ellipsis, counted from the last.
using Labels = std::string;

bool contains(const Labels& labels, char label) { return labels.find(label) != Labels::npos; }

std::string quoted(char label) { return {'\'', label, '\''}; }

constexpr std::string_view kEllipsis = "...";

/// An operand and the names of its dimensions.
struct Term {
  Tensor tensor;
  Labels labels;

  std::int64_t size(char label) const { return tensor.size(static_cast<int>(labels.find(label))); }
  Shape sizes(const Labels& some) const {
    Shape shape;
    for (const char label : some) shape.push_back(size(label));
    return shape;
  }
  /// The tensor with its dimensions in that order.
  Tensor ordered(const Labels& order) const {
    if (order == labels) return tensor;
    Shape dims;
    for (const char label : order) dims.push_back(static_cast<std::int64_t>(labels.find(label)));
    return tensor.permute(dims);
  }
  void remove(char label) {
    const std::size_t d = labels.find(label);
    tensor = tensor.squeeze(static_cast<int>(d));
    labels.erase(d, 1);
  }
  /// Sums over the dimensions that are in neither of `kept` and `other`.
  void sum_except(const Labels& kept, const Labels& other) {
    Shape dims;
    Labels left;
    for (std::size_t d = 0; d < labels.size(); ++d)
      if (contains(kept, labels[d]) || contains(other, labels[d])) left += labels[d];
      else dims.push_back(static_cast<std::int64_t>(d));
    if (dims.empty()) return;
    tensor = sum(tensor, dims);  // of integers int64
    labels = left;
  }
};

struct Equation {
  std::string_view text;
  std::vector<std::string> inputs;
  std::string output;
  bool has_output = false;

  explicit Equation(std::string_view equation) : text(equation) {
    std::string plain;
    for (const char c : equation)
      if (c != ' ') plain += c;
    const std::size_t arrow = plain.find("->");
    has_output = arrow != std::string::npos;
    if (has_output) output = plain.substr(arrow + 2);
    std::string left = plain.substr(0, arrow);
    for (std::size_t comma; (comma = left.find(',')) != std::string::npos; left.erase(0, comma + 1))
      inputs.push_back(left.substr(0, comma));
    inputs.push_back(left);
    for (const std::string& input : inputs) require_labels(input);
    require_labels(output);
  }

  [[noreturn]] void refuse(const std::string& what) const {
    throw ValueError(message("\"" + std::string(text) + "\": " + what, {},
                             "write letters for dimensions, ... for others, as in \"b...i,bij->...j\""));
  }

  void require_labels(std::string part) const {
    if (const std::size_t at = part.find(kEllipsis); at != std::string::npos) part.erase(at, kEllipsis.size());
    for (const char c : part)
      if (!std::isalpha(static_cast<unsigned char>(c))) refuse(quoted(c) + " is not a letter");
  }
};

/// The names of the dimensions of x, the ellipsis written out.
Labels labels_of(const Equation& equation, const std::string& input, const Tensor& x, int index) {
  const std::size_t at = input.find(kEllipsis);
  const bool open = at != std::string::npos;
  const int named = static_cast<int>(input.size() - (open ? kEllipsis.size() : 0)), others = x.dim() - named;
  if (open ? others < 0 : others != 0)
    throw ShapeError(message("\"" + std::string(equation.text) + "\" names " + std::to_string(named) +
                                 " dimensions of operand " + std::to_string(index),
                             {{"operand", x}}, "give each dimension a letter, or write ... for the others"));
  if (!open) return input;
  Labels ellipsis;
  for (int d = others - 1; d >= 0; --d) ellipsis += static_cast<char>('0' + d);
  return Labels(input).replace(at, kEllipsis.size(), ellipsis);
}

/// Takes the diagonal of letters that occur twice.
Term with_diagonals(Term t) {
  for (std::size_t i = 0; i < t.labels.size(); ++i) {
    const char label = t.labels[i];
    for (std::size_t j; (j = t.labels.find(label, i + 1)) != Labels::npos;) {
      if (t.tensor.size(static_cast<int>(i)) != t.tensor.size(static_cast<int>(j)))
        throw ShapeError(message("the dimensions named " + quoted(label) + " of an operand differ",
                                 {{"operand", t.tensor}}, "a diagonal needs equal sizes"));
      t.tensor = diagonal(t.tensor, 0, static_cast<int>(i), static_cast<int>(j));  // as the last dimension
      t.labels.erase(j, 1);
      t.labels.erase(i, 1);
      t.labels += label;
      i = static_cast<std::size_t>(-1);  // from the beginning
      break;
    }
  }
  return t;
}

Labels output_labels(const Equation& equation, const std::vector<Term>& terms) {
  std::string seen;
  for (const Term& t : terms) seen += t.labels;
  Labels ellipsis;
  for (char d = '0' + kMaxRank; d >= '0'; --d)
    if (contains(seen, d)) ellipsis += d;
  if (!equation.has_output) {
    std::string written, once;
    for (const std::string& input : equation.inputs) written += input;
    std::sort(written.begin(), written.end());
    for (const char c : written)
      if (c != '.' && std::count(written.begin(), written.end(), c) == 1) once += c;
    return ellipsis + once;
  }
  Labels labels = equation.output;
  if (const std::size_t at = labels.find(kEllipsis); at != Labels::npos) labels.replace(at, kEllipsis.size(), ellipsis);
  for (const char c : labels) {
    const std::string letter = quoted(c);
    if (!contains(seen, c)) equation.refuse("no operand has " + letter);
    if (std::count(labels.begin(), labels.end(), c) != 1) equation.refuse(letter + " is twice in the result");
  }
  return labels;
}

/// The product of two operands, summed over what is not in `kept`.
Term product(Term a, Term b, const Labels& kept) {
  for (const char label : Labels(a.labels)) {
    if (!contains(b.labels, label) || a.size(label) == b.size(label)) continue;
    if (a.size(label) == 1) a.remove(label);
    else if (b.size(label) == 1) b.remove(label);
    else
      throw ShapeError(message(label < 'A' ? "the dimensions of ... cannot be broadcast together"
                                           : "the sizes of " + quoted(label) + " differ",
                               {{"left", a.tensor}, {"right", b.tensor}},
                               "dimensions of one letter need one size, or size 1"));
  }
  a.sum_except(kept, b.labels);
  b.sum_except(kept, a.labels);
  const DType dtype = promote_types(a.tensor.dtype(), b.tensor.dtype());
  a.tensor = a.tensor.to(dtype), b.tensor = b.tensor.to(dtype);
  Labels batch, summed, only_a, only_b;
  for (const char label : a.labels)
    (!contains(b.labels, label) ? only_a : contains(kept, label) ? batch : summed) += label;
  for (const char label : b.labels)
    if (!contains(a.labels, label)) only_b += label;
  Shape shape = a.sizes(batch + only_a);
  for (const std::int64_t size : b.sizes(only_b)) shape.push_back(size);
  if (summed.empty()) {  // nothing to sum: broadcast
    Shape left = a.sizes(batch + only_a), right = a.sizes(batch);
    for (std::size_t i = 0; i < only_b.size(); ++i) left.push_back(1);
    for (std::size_t i = 0; i < only_a.size(); ++i) right.push_back(1);
    for (const std::int64_t size : b.sizes(only_b)) right.push_back(size);
    return {mul(a.ordered(batch + only_a).reshape(left), b.ordered(batch + only_b).reshape(right)),
            batch + only_a + only_b};
  }
  const std::int64_t n = a.sizes(batch).numel(), rows = a.sizes(only_a).numel(), inner = a.sizes(summed).numel(),
                     columns = b.sizes(only_b).numel();
  const Tensor left = a.ordered(batch + only_a + summed), right = b.ordered(batch + summed + only_b);
  const Tensor out = batch.empty() ? mm(left.reshape({rows, inner}), right.reshape({inner, columns}))
                                   : bmm(left.reshape({n, rows, inner}), right.reshape({n, inner, columns}));
  return {out.reshape(shape), batch + only_a + only_b};
}

}  // namespace

Tensor einsum(std::string_view text, const std::vector<Tensor>& given, SourceLocation where) {
  const CallSite site("einsum", where);
  const AutocastList cast(site, kLower, given);
  const std::vector<Tensor>& operands = cast.operands();
  const Equation equation(text);
  if (equation.inputs.size() != operands.size())
    equation.refuse("it has " + std::to_string(equation.inputs.size()) + " operands, but " +
                    std::to_string(operands.size()) + " are given");
  std::vector<Term> terms;
  for (std::size_t i = 0; i < operands.size(); ++i) {
    require_same_device({{"first", operands[0]}, {"other", operands[i]}});
    if (operands[i].dtype() != operands[0].dtype())
      throw DTypeError(message("operands have different dtypes", {{"first", operands[0]}, {"other", operands[i]}},
                               dtype_hint({{"first", operands[0]}, {"other", operands[i]}})));
    terms.push_back(
        with_diagonals({operands[i], labels_of(equation, equation.inputs[i], operands[i], static_cast<int>(i))}));
  }
  const Labels output = output_labels(equation, terms);
  Term result = std::move(terms.front());
  for (std::size_t i = 1; i < terms.size(); ++i) {
    Labels kept = output;
    for (std::size_t j = i + 1; j < terms.size(); ++j) kept += terms[j].labels;
    result = product(std::move(result), std::move(terms[i]), kept);
  }
  result.sum_except(output, {});
  Tensor y = result.ordered(output);
  if (is_heard()) [[unlikely]]
    tell("einsum", y, "operands", operands, {{"equation", text}});
  return y;
}

Tensor bilinear(const In& a_, const In& b_, const In& weight_, const Tensor& bias_) {
  const Operation op("bilinear", a_.where, {kKept, kWidest},
                     {{"a", *a_}, {"b", *b_}, {"weight", *weight_}, {"bias", bias_, kOptional}});
  const Tensor &a = op[0], &b = op[1], &weight = op[2], &bias = op[3];
  if (weight.dim() != 3 || a.dim() < 1 || b.dim() < 1 || a.size(-1) != weight.size(1) || b.size(-1) != weight.size(2))
    throw ShapeError(message("the sizes do not match", op, "a: [..., M]  b: [..., N]  weight: [K, M, N]"));
  if (!std::equal(a.shape().begin(), a.shape().end() - 1, b.shape().begin(), b.shape().end() - 1))
    throw ShapeError(message("a and b have different leading sizes", op, "expand one of them"));
  if (bias.defined() && bias.shape() != Shape{weight.size(0)})
    throw ShapeError(
        message(fmt::format("bias must be [{}]", weight.size(0)), op, "a number for each of weight: [K, M, N]"));
  const std::int64_t out = weight.size(0), first = weight.size(1), second = weight.size(2);
  // [..., M] · [M, K N] as [..., K, N], times b.
  const Tensor mapped = matmul(a, weight.permute({1, 0, 2}).reshape({first, out * second}));
  Shape shape = a.shape();
  shape[-1] = out;
  shape.push_back(second);
  const Tensor y = matmul(mapped.reshape(shape), b.unsqueeze(-1)).squeeze(-1);
  return bias.defined() ? add(y, bias) : y;
}

}  // namespace minnow
