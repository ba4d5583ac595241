#include <algorithm>
#include <limits>
#include <numeric>
#include <minnow/onnx/detail/call.h>
#include <minnow/onnx/detail/rules.h>

namespace minnow::onnx::detail {
namespace {

using Numbers = std::vector<std::int64_t>;

void same(Call& c, const char*) { c.give(c.in_as_result(0)); }

void reshape(Call& c, const char*) { c.give(c.reshaped(c.in(0), c.sizes(0), c.result_sizes())); }

void permute(Call& c, const char*) {
  Numbers dims = c.list("dims");
  for (std::int64_t& d : dims)
    if (d < 0) d += c.x(0).dim();
  c.give(c.g.add("Transpose", {c.in(0)}, {{"perm", dims}}));
}

void transpose(Call& c, const char*) {
  const auto rank = static_cast<std::size_t>(c.x(0).dim());
  const auto wrapped = [&](std::int64_t d) {
    return d < 0 ? static_cast<std::size_t>(d) + rank : static_cast<std::size_t>(d);
  };
  Numbers dims(rank);
  std::iota(dims.begin(), dims.end(), 0);
  if (rank > 0) std::swap(dims[wrapped(c.integer("dim0"))], dims[wrapped(c.integer("dim1"))]);
  c.give(c.g.add("Transpose", {c.in(0)}, {{"perm", dims}}));
}

/// `value` of the sizes `from` repeated to `to`: a size that stays is 1, which a repetition leaves as it is.
std::string expanded(Call& c, const std::string& value, const Sizes& from, const Sizes& to) {
  Sizes wanted = to;
  const std::size_t lead = to.size() - from.size();
  for (std::size_t d = 0; d < from.size(); ++d)
    if (from[d] == to[lead + d]) wanted[lead + d] = {1, 1};
  return c.g.add("Expand", {value, c.sized(wanted)});
}

void expand(Call& c, const char*) { c.give(expanded(c, c.in(0), c.sizes(0), c.result_sizes())); }

/// A place in a dimension of this size, counted from its end if that is where it does not move.
std::string place(Call& c, Size at, Size size) {
  if (at.fixed()) return c.g.list({at.a});
  if (at.a - size.a == at.b - size.b && at.a < size.a) return c.g.list({at.a - size.a});
  return c.sized(at);
}

void slice(Call& c, const char*) {
  constexpr std::int64_t kEnd = std::numeric_limits<std::int64_t>::max();
  const Sizes whole = c.sizes(0), start = c.integers("start"), size = c.integers("size");
  const Numbers step = c.list("step");
  Numbers axes, steps;
  std::vector<std::string> starts, ends;
  for (std::size_t d = 0; d < whole.size(); ++d) {
    if (start[d] == Size{0, 0} && size[d] == whole[d] && step[d] == 1) continue;
    if (step[d] < 1) c.refuse("it steps backwards\nuse flip");
    const auto end_of = [&](std::int64_t from, std::int64_t count, std::int64_t all) {
      return std::min(from + (count - 1) * step[d] + 1, all);
    };
    const Size end{end_of(start[d].a, size[d].a, whole[d].a), end_of(start[d].b, size[d].b, whole[d].b)};
    axes.push_back(static_cast<std::int64_t>(d));
    steps.push_back(step[d]);
    starts.push_back(place(c, start[d], whole[d]));
    ends.push_back(end == whole[d] ? c.g.list({kEnd}) : place(c, end, whole[d]));
  }
  std::string y = c.in(0);
  const auto joined = [&](const std::vector<std::string>& parts) {
    return parts.size() == 1 ? parts[0] : c.g.add("Concat", parts, {{"axis", 0}});
  };
  if (!axes.empty()) y = c.g.add("Slice", {y, joined(starts), joined(ends), c.g.list(axes), c.g.list(steps)});
  if (size != c.result_sizes()) y = c.reshaped(y, size, c.result_sizes());
  c.give(y);
}

void cat(Call& c, const char*) {
  std::vector<std::string> parts;
  for (std::size_t i = 0; i < c.count(); ++i)
    if (c.x(i).dim() == c.y().dim() && (c.x(i).dim() != 1 || c.x(i).numel() != 0)) parts.push_back(c.in_as_result(i));
  std::int64_t dim = c.integer("dim");
  if (dim < 0) dim += c.y().dim();
  c.give(parts.size() == 1 ? parts[0] : c.g.add("Concat", parts, {{"axis", dim}}));
}

/// Slice of one dimension.
std::string sliced(Call& c, const std::string& x, std::int64_t from, std::int64_t to, std::int64_t dim) {
  return c.g.add("Slice", {x, c.g.list({from}), c.g.list({to}), c.g.list({dim})});
}
constexpr std::int64_t kEnd = std::numeric_limits<std::int64_t>::max();

void flip(Call& c, const char*) {
  Numbers dims = c.list("dims");
  if (dims.empty())
    for (int d = 0; d < c.x(0).dim(); ++d) dims.push_back(d);
  const Numbers last(dims.size(), -1), first(dims.size(), -kEnd), step(dims.size(), -1);
  c.give(c.g.add("Slice", {c.in(0), c.g.list(last), c.g.list(first), c.g.list(dims), c.g.list(step)}));
}

void roll(Call& c, const char*) {
  const std::int64_t dim = c.integer("dim");
  const Size cut = c.size("cut"), size = c.sizes(0)[static_cast<std::size_t>(dim)];
  if (cut.a == 0 && cut.b == 0) return c.give(c.in(0));
  const std::string at = place(c, cut, size), axis = c.g.list({dim});
  const std::string front = c.g.add("Slice", {c.in(0), at, c.g.list({kEnd}), axis}),
                    back = c.g.add("Slice", {c.in(0), c.g.list({0}), at, axis});
  c.give(c.g.add("Concat", {front, back}, {{"axis", dim}}));
}

void pad(Call& c, const char*) {
  enum Mode : std::int64_t { kConstant, kReflect, kReplicate, kCircular };
  const Numbers padding = c.list("padding");
  const auto rank = static_cast<std::size_t>(c.x(0).dim());
  const std::int64_t mode = c.integer("mode");
  if (mode == kCircular) {  // opset 18 has none
    std::string y = c.in(0);
    for (std::size_t i = 0; 2 * i < padding.size(); ++i) {
      const std::int64_t before = padding[2 * i], after = padding[2 * i + 1],
                         dim = static_cast<std::int64_t>(rank - 1 - i);
      if (before < 0 || after < 0) c.refuse("it pads by a negative number\nuse narrow");
      std::vector<std::string> parts{y};
      if (before > 0) parts.insert(parts.begin(), sliced(c, y, -before, kEnd, dim));
      if (after > 0) parts.push_back(sliced(c, y, 0, after, dim));
      if (parts.size() > 1) y = c.g.add("Concat", parts, {{"axis", dim}});
    }
    return c.give(y);
  }
  Numbers pads(2 * rank);
  for (std::size_t i = 0; 2 * i < padding.size(); ++i) {
    pads[rank - 1 - i] = padding[2 * i];
    pads[2 * rank - 1 - i] = padding[2 * i + 1];
  }
  const char* const names[] = {"constant", "reflect", "edge"};
  std::vector<std::string> inputs{c.in(0), c.g.list(pads)};
  if (mode == kConstant) inputs.push_back(c.g.number(c.number("value"), c.y().dtype()));
  c.give(c.g.add("Pad", inputs, {{"mode", names[mode]}}));
}

void copy_into(Call& c, const char*) {
  const std::string from = c.in_as_result(1);
  c.give(c.sizes(1) == c.sizes(0) ? from : expanded(c, from, c.sizes(1), c.sizes(0)));
}

void full(Call& c, const char*) {
  c.give(c.g.add("Expand", {c.g.number(c.number("value"), c.y().dtype()), c.sized(c.result_sizes())}));
}
void full_like(Call& c, const char*) {
  c.give(c.g.add("Expand", {c.g.number(c.number("value"), c.y().dtype()), c.g.add("Shape", {c.in(0)})}));
}

void arange(Call& c, const char*) {
  const double start = c.number("start"), step = c.number("step");
  const Size count = c.result_sizes()[0];
  const std::string scalar = c.g.add("Squeeze", {c.sized(count), c.g.list({0})});
  const std::string numbers = c.g.add("Range", {c.g.number(0, DType::int64), scalar, c.g.number(1, DType::int64)});
  std::string y = c.as(numbers, DType::int64, c.y().dtype());
  if (step != 1) y = c.g.add("Mul", {y, c.g.number(step, c.y().dtype())});
  if (start != 0) y = c.g.add("Add", {y, c.g.number(start, c.y().dtype())});
  c.give(y);
}

/// op: whether the upper part is kept.
void triangle(Call& c, const char* op) {
  // Few runtimes have it of bool.
  const DType own = c.x(0).dtype(), dtype = own == DType::bool_ ? DType::int64 : own;
  const std::string y = c.g.add(
      "Trilu", {c.as(c.in(0), own, dtype), c.g.number(static_cast<double>(c.integer("diagonal")), DType::int64)},
      {{"upper", std::int64_t{*op == 'u'}}});
  c.give(c.as(y, dtype, own));
}

// Elements by their indices.

std::int64_t dim_of(Call& c) {
  const std::int64_t dim = c.integer("dim");
  return dim < 0 ? dim + c.x(0).dim() : dim;
}

void gather(Call& c, const char* op) {
  if (c.x(0).dim() == 0) c.refuse("x has no dimension\ngive it one: unsqueeze(0)");
  c.give(c.g.add(op, {c.in(0), c.in(1)}, {{"axis", dim_of(c)}}));
}
void index_select(Call& c, const char*) {
  gather(c, "Gather");
  if (c.x(1).dim() == 0) c.give(c.reshaped(c.result_name(), {}, c.result_sizes()));
}
void embedding(Call& c, const char*) { c.give(c.g.add("Gather", {c.in(1), c.in(0)}, {{"axis", 0}})); }

/// Where several sources go to one element they are added, in any order.
void scatter_add(Call& c, const char*) {
  if (c.x(0).dim() == 0) c.refuse("x has no dimension\ngive it one: unsqueeze(0)");
  c.give(c.g.add("ScatterElements", {c.in_as_result(0), c.in(1), c.in_as_result(2)},
                 {{"axis", dim_of(c)}, {"reduction", "add"}}));
}

void one_hot(Call& c, const char*) {
  c.give(c.g.add("OneHot", {c.in(0), c.g.list({c.integer("classes")}), c.g.list({0, 1})}, {{"axis", -1}}));
}

void topk(Call& c, Size k, bool largest) {
  if (c.x(0).dim() == 0) c.refuse("x has no dimension\ngive it one: unsqueeze(0)");
  const auto found = c.g.add_all("TopK", {c.in(0), c.sized(k)},
                                 {{"axis", dim_of(c)}, {"largest", std::int64_t{largest}}, {"sorted", 1}}, 2);
  c.give(found[0], 0);
  c.give(found[1], 1);
}

constexpr Rule kRules[] = {
    {"reshape", reshape},
    {"permute", permute},
    {"transpose", transpose},
    {"expand", expand},
    {"slice", slice},
    {"cat", cat},
    {"flip", flip},
    {"roll", roll},
    {"pad", pad},
    {"to", same},
    {"pin_memory", same},
    {"contiguous", same},
    {"clone", same},
    {"copy", copy_into},
    {"fill", full_like},
    {"full", full},
    {"full_like", full_like},
    {"arange", arange},
    {"tril", triangle, "lower"},
    {"triu", triangle, "upper"},
    {"gather", gather, "GatherElements"},
    {"index_select", index_select},
    {"embedding", embedding},
    {"scatter_add", scatter_add},
    {"one_hot", one_hot},
    {"topk", [](Call& c, const char*) { topk(c, c.size("k"), c.flag("largest")); }},
    {"sort",
     [](Call& c, const char*) {
       if (c.x(0).dim() == 0) c.refuse("x has no dimension\ngive it one: unsqueeze(0)");
       topk(c, c.sizes(0)[static_cast<std::size_t>(dim_of(c))], c.flag("descending"));
     }},
};

}  // namespace

std::span<const Rule> shape_rules() { return kRules; }

}  // namespace minnow::onnx::detail
