#include "samples.h"

#include <algorithm>
#include <cstdlib>

#include "samples_text.h"

namespace minnow::test {
namespace {

DType dtype_of_letter(char letter) {
  switch (letter) {
    case 'd': return float64;
    case 'f': return float32;
    case 'h': return bfloat16;
    case 'e': return float16;
    case 'l': return int64;
    case 'i': return int32;
    case 's': return int16;
    case 'c': return int8;
    case 'u': return uint8;
    case 'b': return bool_;
    default: throw FormatError(std::string("samples: no dtype has the letter ") + letter);
  }
}

/// 16 random bits of an element: mixed() of make_samples.py.
std::int64_t mixed(std::int64_t i, std::int64_t seed) {
  auto h = static_cast<std::uint32_t>(i) * 2654435761U + static_cast<std::uint32_t>(seed) * 40503U + 12345U;
  h = (h ^ (h >> 15)) * 2246822519U;
  h = (h ^ (h >> 13)) * 3266489917U;
  return h >> 16;
}

/// One pass over a line's arguments.
class Reader {
 public:
  explicit Reader(const std::string& text) : at_(text.c_str()) {}

  bool next() {
    while (*at_ == ' ') ++at_;
    return *at_ != 0;
  }
  bool take(char c) { return *at_ == c && ++at_; }
  bool take(const char* word) {
    const std::size_t length = std::char_traits<char>::length(word);
    if (std::string_view(at_).substr(0, length) != word) return false;
    at_ += length;
    return true;
  }
  std::string name() {
    const char* end = at_;
    while (std::isalnum(*end) || *end == '_' || *end == '.') ++end;
    if (*end != '=' || end == at_ || std::isdigit(*at_)) return {};
    std::string found(at_, end);
    at_ = end + 1;
    return found;
  }
  std::vector<std::int64_t> integers() {
    std::vector<std::int64_t> list;
    while (*at_ == '-' || std::isdigit(*at_)) {
      list.push_back(std::strtoll(at_, end(), 10));
      take(',');
    }
    return list;
  }
  double number() { return std::strtod(at_, end()); }

  SampleValue value() {
    SampleValue v;
    if (take("None")) return v;
    if (take("True") || take("False")) {
      v.kind = SampleValue::Kind::kBool;
      v.number = at_[-2] == 'u';
    } else if (take('\'')) {
      v.kind = SampleValue::Kind::kText;
      while (!take('\'')) v.text += *at_++;
    } else if (take(':')) {
      v.kind = SampleValue::Kind::kDType;
      v.dtype = dtype_of_letter(*at_++);
    } else if (take('(')) {
      v.kind = SampleValue::Kind::kList;
      while (!take(')')) {
        v.items.push_back(value());
        take(',');
      }
    } else if (*at_ == '*' || *at_ == '~' || (std::isalpha(*at_) && at_[1] == '[')) {
      tensor(v);
    } else {
      const char* begin = at_;
      v.number = number();
      const std::string_view read(begin, static_cast<std::size_t>(at_ - begin));
      v.kind = read.find_first_of(".einf") == std::string_view::npos ? SampleValue::Kind::kInteger
                                                                     : SampleValue::Kind::kNumber;
      if (read.empty()) throw FormatError(std::string("samples: not a value: ") + at_);
    }
    return v;
  }

 private:
  const char* at_;
  std::int64_t seed_ = 0;

  char** end() { return const_cast<char**>(&at_); }

  void tensor(SampleValue& v) {
    v.kind = SampleValue::Kind::kTensor;
    v.differentiable = take('*');
    const bool nonzero = take('~');
    v.dtype = dtype_of_letter(*at_++);
    take('[');
    const Shape shape(integers());
    take(']');
    std::vector<double> values(static_cast<std::size_t>(shape.numel()));
    if (take('=')) {
      const std::vector<std::int64_t> written = integers();
      for (std::size_t i = 0; i < values.size(); ++i)
        values[i] = static_cast<double>(written.at(i)) / (is_floating_point(v.dtype) ? 64 : 1);
    } else if (!values.empty()) {
      const double low = number();
      take(':');
      const double high = number();
      for (std::size_t i = 0; i < values.size(); ++i) {
        const std::int64_t bits = mixed(static_cast<std::int64_t>(i), seed_);
        if (is_floating_point(v.dtype)) values[i] = low + (high - low) * (static_cast<double>(bits) / 65536);
        else values[i] = low + static_cast<double>(bits % static_cast<std::int64_t>(high - low + 1));
        if (is_half(v.dtype)) values[i] = static_cast<float>(values[i]);  // as PyTorch rounds
        if (nonzero && values[i] == 0) values[i] = 1;
      }
    }
    ++seed_;
    v.tensor = from_blob(values.data(), shape, {.dtype = float64}).to(v.dtype, {.copy = true});
  }
};

const SampleValue kNothing;

}  // namespace

SampleArguments read_sample(const std::string& text) {
  SampleArguments arguments;
  Reader reader(text);
  while (reader.next()) {
    const std::string name = reader.name();
    if (name.empty()) arguments.positional.push_back(reader.value());
    else arguments.named.emplace_back(name, reader.value());
  }
  return arguments;
}

std::vector<double> sums_of(const Tensor& y) {
  std::vector<double> sums(3);
  const std::vector<double> values = y.detach().to(float64).to_vector<double>();
  for (std::size_t i = 0; i < values.size(); ++i) {
    double v = values[i];
    if (std::isnan(v)) v = 3.25;
    else if (std::isinf(v)) v = v > 0 ? 1e3 : -1e3;
    sums[0] += std::abs(v);
    sums[1] += v * (static_cast<double>((i * 7919 + 13) % 1009) / 504.5 - 1);
    sums[2] += v * (static_cast<double>((i * 104729 + 71) % 997) / 498.5 - 1);
  }
  return sums;
}

Tensor weights_of(const Tensor& y) {
  std::vector<float> w(static_cast<std::size_t>(y.numel()));
  for (std::size_t i = 0; i < w.size(); ++i)
    w[i] = static_cast<float>(static_cast<double>((i * 7919 + 13) % 1009) / 504.5 - 1);
  return from_blob(w.data(), y.shape(), {.dtype = float32}).to(y.device(), y.dtype(), {.copy = true});
}

bool SampleArguments::has(std::size_t at, const std::string& name) const {
  return value(at, name).kind != SampleValue::Kind::kNone;
}

const SampleValue& SampleArguments::value(std::size_t at, const std::string& name) const {
  if (at < positional.size()) {
    used_.push_back(std::to_string(at));
    return positional[at];
  }
  used_.push_back(name);
  const auto found = std::find_if(named.begin(), named.end(), [&](const auto& entry) { return entry.first == name; });
  return found == named.end() ? kNothing : found->second;
}

SampleOperand SampleArguments::like(std::size_t at, const std::string& name) const {
  const SampleValue& v = value(at, name);
  if (v.kind == SampleValue::Kind::kTensor) return {v.tensor};
  return {{}, scalar(at, name, 0)};
}

namespace {

/// The nearest int64: misused samples have integers up to 2^63.
std::int64_t whole(double number) {
  return number >= 0x1p63 ? std::numeric_limits<std::int64_t>::max() : static_cast<std::int64_t>(number);
}

}  // namespace

Scalar SampleArguments::scalar(std::size_t at, const std::string& name, Scalar otherwise) const {
  const SampleValue& v = value(at, name);
  switch (v.kind) {
    case SampleValue::Kind::kNone: return otherwise;
    case SampleValue::Kind::kBool: return v.number != 0;
    case SampleValue::Kind::kInteger: return whole(v.number);
    case SampleValue::Kind::kNumber: return v.number;
    default: throw NoForm();
  }
}

double SampleArguments::number(std::size_t at, const std::string& name, double otherwise) const {
  return scalar(at, name, otherwise).as_double();
}

std::int64_t SampleArguments::integer(std::size_t at, const std::string& name, std::int64_t otherwise) const {
  const Scalar n = scalar(at, name, otherwise);
  if (n.dtype() == float32) throw NoForm();
  return n.as_int();
}

bool SampleArguments::flag(std::size_t at, const std::string& name, bool otherwise) const {
  return scalar(at, name, otherwise).as_double() != 0;
}

std::string SampleArguments::text(std::size_t at, const std::string& name, const std::string& otherwise) const {
  return has(at, name) ? value(at, name).text : otherwise;
}

std::vector<std::int64_t> SampleArguments::integers(std::size_t at, const std::string& name) const {
  const SampleValue& v = value(at, name);
  if (v.kind == SampleValue::Kind::kNone) return {};
  if (v.kind != SampleValue::Kind::kList) return {integer(at, name, 0)};
  std::vector<std::int64_t> list;
  for (const SampleValue& item : v.items) {
    if (item.kind != SampleValue::Kind::kInteger && item.kind != SampleValue::Kind::kBool) throw NoForm();
    list.push_back(whole(item.number));
  }
  return list;
}

std::vector<std::int64_t> SampleArguments::rest(std::size_t at, const std::string& name) const {
  if (at + 1 >= positional.size() && value(at, name).kind != SampleValue::Kind::kInteger) return integers(at, name);
  std::vector<std::int64_t> list;
  for (std::size_t i = at; i < positional.size(); ++i) list.push_back(integer(i, name, 0));
  return list;
}

std::vector<Tensor> SampleArguments::tensors(std::size_t at) const {
  std::vector<Tensor> list;
  const auto add = [&](const SampleValue& v) {
    if (v.kind != SampleValue::Kind::kTensor) throw NoForm();
    list.push_back(v.tensor);
  };
  for (std::size_t i = at; i < positional.size(); ++i) {
    const SampleValue& v = value(i);
    if (v.kind != SampleValue::Kind::kList) add(v);
    for (const SampleValue& item : v.items) add(item);
  }
  return list;
}

bool SampleArguments::all_used() const {
  const auto used = [&](const std::string& name) { return std::find(used_.begin(), used_.end(), name) != used_.end(); };
  for (std::size_t i = 0; i < positional.size(); ++i)
    if (positional[i].kind != SampleValue::Kind::kNone && !used(std::to_string(i))) return false;
  return std::all_of(named.begin(), named.end(), [&](const auto& entry) {
    return entry.second.kind == SampleValue::Kind::kNone || used(entry.first);
  });
}

namespace {

bool is_number(const SampleValue& v) {
  return v.kind == SampleValue::Kind::kInteger || v.kind == SampleValue::Kind::kNumber;
}

void visit(SampleValue& v, bool numbers, const std::function<void(SampleValue&)>& f) {
  if (numbers ? is_number(v) : v.kind == SampleValue::Kind::kTensor) f(v);
  for (SampleValue& item : v.items) visit(item, numbers, f);
}

}  // namespace

void SampleArguments::for_each(const std::function<void(SampleValue&)>& f) {
  for (SampleValue& v : positional) visit(v, false, f);
  for (auto& [name, v] : named) visit(v, false, f);
}

void SampleArguments::for_each_number(const std::function<void(SampleValue&)>& f) {
  for (SampleValue& v : positional) visit(v, true, f);
  for (auto& [name, v] : named) visit(v, true, f);
}

}  // namespace minnow::test
