#include <minnow/onnx/detail/call.h>

#include <fmt/format.h>
#include <minnow/tensor/error.h>

namespace minnow::onnx::detail {

Sizes Export::sizes_of(std::size_t value) const {
  const Tensor &x = a.value(value).tensor, &y = b.value(other.at(value)).tensor;
  Sizes sizes;
  for (int d = 0; d < x.dim(); ++d) sizes.push_back({x.size(d), y.size(d)});
  return sizes;
}

void Call::refuse(const std::string& why) const {
  throw ValueError(fmt::format("onnx::save: {}: {}", place_of(a_), why), e_.where);
}

const Argument& Call::argument(const Record& record, const char* name) const {
  const auto found = record.arguments.find(name);
  if (found == record.arguments.end()) refuse(fmt::format("it does not tell of {}\nthis is a fault of minnow", name));
  return found->second;
}

template <class T> const T& Call::equal(const char* name) const {
  const T &one = std::get<T>(argument(a_, name)), &two = std::get<T>(argument(b_, name));
  if (one != two)
    refuse(fmt::format("its {} depends on the sizes of the inputs\nleave fewer of them open, by SaveOptions::dynamic",
                       name));
  return one;
}

bool Call::flag(const char* name) const { return equal<bool>(name); }
double Call::number(const char* name) const { return equal<double>(name); }
std::int64_t Call::integer(const char* name) const { return equal<std::int64_t>(name); }
std::string Call::text(const char* name) const { return equal<std::string>(name); }
std::vector<std::int64_t> Call::list(const char* name) const { return equal<std::vector<std::int64_t>>(name); }

std::vector<double> Call::numbers(const char* name) const { return equal<std::vector<double>>(name); }

Size Call::size(const char* name) const {
  return {std::get<std::int64_t>(argument(a_, name)), std::get<std::int64_t>(argument(b_, name))};
}
Sizes Call::integers(const char* name) const {
  const auto &one = std::get<std::vector<std::int64_t>>(argument(a_, name)),
             &two = std::get<std::vector<std::int64_t>>(argument(b_, name));
  Sizes sizes;
  for (std::size_t i = 0; i < one.size(); ++i) sizes.push_back({one[i], two.at(i)});
  return sizes;
}

/// The size of a dimension, or "".
std::string Call::found(Size size) const {
  for (const Symbol& s : e_.symbols)
    if (s.size == size) return g.size(e_.input_names[s.input], s.dim);
  for (std::size_t i = 0; i < count(); ++i) {
    if (!has(i)) continue;
    const Sizes own = sizes(i);
    for (std::size_t d = 0; d < own.size(); ++d)
      if (own[d] == size) return g.size(in(i), static_cast<std::int64_t>(d));
  }
  return "";
}

std::string Call::sized(Size size) const {
  if (size.fixed()) return g.list({size.a});
  if (std::string value = found(size); !value.empty()) return value;
  Sizes known;
  for (const Symbol& s : e_.symbols) known.push_back(s.size);
  for (std::size_t i = 0; i < count(); ++i)
    if (has(i))
      for (const Size s : sizes(i))
        if (!s.fixed()) known.push_back(s);
  const auto with = [&](const char* op, Size one, std::int64_t other) {
    return g.add(op, {found(one), g.list({other})});
  };
  for (const Size s : known) {
    if (s.a == 0 || s.b == 0) continue;
    if (size.a % s.a == 0 && size.b % s.b == 0 && size.a / s.a == size.b / s.b) return with("Mul", s, size.a / s.a);
    if (size.a > 0 && size.b > 0 && s.a % size.a == 0 && s.b % size.b == 0 && s.a / size.a == s.b / size.b)
      return with("Div", s, s.a / size.a);
    if (size.a - s.a == size.b - s.b) return with("Add", s, size.a - s.a);
    for (const Size t : known) {
      const Size product{s.a * t.a, s.b * t.b};
      if (!(s == t) && product.a != 0 && product.b != 0 && size.a % product.a == 0 && size.b % product.b == 0 &&
          size.a / product.a == size.b / product.b)
        return g.add("Mul", {g.add("Mul", {found(s), found(t)}), g.list({size.a / product.a})});
    }
  }
  refuse(
      fmt::format("a size, {} and {} in two runs, follows from the sizes of the inputs in a way that cannot be "
                  "exported\nleave fewer of them open, by SaveOptions::dynamic",
                  size.a, size.b));
}

std::string Call::sized(const Sizes& sizes) const {
  bool fixed = true;
  std::vector<std::int64_t> numbers;
  for (const Size s : sizes) {
    fixed = fixed && s.fixed();
    numbers.push_back(s.a);
  }
  if (fixed) return g.list(numbers);
  std::vector<std::string> parts;
  for (const Size s : sizes) parts.push_back(sized(s));
  return parts.size() == 1 ? parts[0] : g.add("Concat", parts, {{"axis", 0}});
}

std::string Call::reshaped(const std::string& value, const Sizes& from, const Sizes& to) const {
  std::vector<std::int64_t> numbers;
  std::size_t open = 0, last = 0;
  bool zero = false;
  for (std::size_t d = 0; d < to.size(); ++d) {
    numbers.push_back(to[d].a);
    zero = zero || to[d].a == 0;
    if (to[d].fixed()) continue;
    if (d < from.size() && from[d] == to[d]) {
      numbers[d] = 0;  // as it is
      continue;
    }
    ++open;
    last = d;
    numbers[d] = -1;
  }
  if (zero) return g.add("Reshape", {value, sized(to)}, {{"allowzero", 1}});
  if (open <= 1) return g.add("Reshape", {value, g.list(numbers)});
  std::vector<std::string> parts;
  for (std::size_t d = 0; d < to.size(); ++d)
    parts.push_back(numbers[d] == -1 && d != last ? sized(to[d]) : g.list({numbers[d]}));
  return g.add("Reshape", {value, g.add("Concat", parts, {{"axis", 0}})});
}

std::string Call::as(const std::string& value, DType from, DType to) const {
  return from == to ? value : g.add("Cast", {value}, {{"to", std::int64_t{data_type(to)}}});
}

}  // namespace minnow::onnx::detail
