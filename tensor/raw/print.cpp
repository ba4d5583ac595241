#include <minnow/tensor/raw/print.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>
#include <string>
#include <minnow/tensor/create.h>
#include <minnow/tensor/raw/copy.h>
#include <minnow/tensor/raw/transfer.h>
#include <minnow/tensor/raw/view.h>

namespace minnow::detail::raw {
namespace {

constexpr std::int64_t kMaxElements = 1000;  // larger tensors are shortened
constexpr std::int64_t kEdge = 3;            // elements shown at each end of a shortened dimension

/// An element as a double and, for an integer dtype, exactly.
struct Element {
  double real = 0;
  std::int64_t whole = 0;
};
Element element(const Tensor& t) {
  if (!is_integral(t.dtype())) return {t.item(), 0};
  const auto whole = t.item<std::int64_t>();
  return {static_cast<double>(whole), whole};
}

/// The format of all numbers of a tensor.
struct Format {
  bool integers = false, as_bool = false, whole = true, scientific = false;
  int width = 0;

  std::string number(const Element& e) const {
    const double v = e.real;
    if (as_bool) return v != 0 ? "true" : "false";
    if (integers) return std::to_string(e.whole);
    char text[64];
    if (!std::isfinite(v)) return std::isnan(v) ? "nan" : v < 0 ? "-inf" : "inf";
    if (scientific) std::snprintf(text, sizeof text, "%.4e", v);
    else if (whole) std::snprintf(text, sizeof text, "%.0f.", v);
    else std::snprintf(text, sizeof text, "%.4f", v);
    return text;
  }
  std::string padded(const Element& e) const {
    const std::string text = number(e);
    const auto missing = static_cast<std::size_t>(width) - std::min(static_cast<std::size_t>(width), text.size());
    return std::string(missing, ' ') + text;
  }
};

Format format_of(const Tensor& t, const std::vector<Element>& shown) {
  Format f;
  f.as_bool = t.dtype() == DType::bool_;
  f.integers = is_integral(t.dtype());
  double largest = 0, smallest = std::numeric_limits<double>::max();
  for (const auto& [v, whole] : shown) {
    if (!std::isfinite(v)) continue;
    if (v != 0) {
      largest = std::max(largest, std::abs(v));
      smallest = std::min(smallest, std::abs(v));
    }
    f.whole = f.whole && v == std::round(v);
  }
  const bool wide = largest > 0 && largest / smallest > 1000;
  f.scientific = wide || largest > 1e8 || (!f.whole && largest > 0 && smallest < 1e-4);
  for (const Element& e : shown)
    if (std::isfinite(e.real)) f.width = std::max(f.width, static_cast<int>(f.number(e).size()));
  return f;
}

/// The indices of a dimension that are shown; -1 means "...".
std::vector<std::int64_t> shown_indices(std::int64_t size, bool shorten) {
  std::vector<std::int64_t> out;
  for (std::int64_t i = 0; i < size; ++i) {
    if (shorten && size > 2 * kEdge && i == kEdge) {
      out.push_back(-1);
      i = size - kEdge;
    }
    out.push_back(i);
  }
  return out;
}

class Printer {
 public:
  Printer(const Tensor& t, std::int64_t total) : t_(t), shorten_(total > kMaxElements) {
    collect(t_);
    format_ = format_of(t_, shown_);
  }

  void print(std::string& out, const Tensor& t, int indent) const {
    if (t.dim() == 0) {
      out += format_.padded(element(t));
      return;
    }
    out += '[';
    bool first = true;
    for (const std::int64_t i : shown_indices(t.shape()[0], shorten_)) {
      if (!first) out += t.dim() == 1 ? ", " : separator(t.dim(), indent);
      first = false;
      if (i < 0) out += t.dim() == 1 ? " ..." : "...";
      else print(out, first_dim_at(t, i), indent + 1);
    }
    out += ']';
  }

 private:
  static std::string separator(int rank, int indent) {
    std::string text = ",";
    text.append(static_cast<std::size_t>(rank - 1), '\n');
    return text.append(static_cast<std::size_t>(indent + 1), ' ');
  }
  void collect(const Tensor& t) {
    if (t.dim() == 0) {
      shown_.push_back(element(t));
      return;
    }
    for (const std::int64_t i : shown_indices(t.shape()[0], shorten_))
      if (i >= 0) collect(first_dim_at(t, i));
  }

  Tensor t_;
  bool shorten_;
  std::vector<Element> shown_;
  Format format_;
};

}  // namespace

std::string to_string(const In& tensor, std::string_view note) {
  const CallSite site("to_string", tensor.where);
  if (!tensor->defined()) return "tensor(undefined)";
  constexpr int kIndent = 7;  // the width of "tensor("
  std::string out = "tensor(";
  const Tensor host = to_device(detach(tensor), Device());
  if (tensor->numel() == 0) out += "[]";
  else Printer(host, host.numel()).print(out, host, kIndent);
  if (tensor->numel() == 0 && tensor->dim() > 1) out += ", size=" + tensor->shape().str();
  if (!tensor->device().is_cpu()) out += ", device='" + tensor->device().str() + '\'';
  const DType d = tensor->dtype();
  // The dtype is left out if the numbers show it.
  const bool shown = d == DType::float32 || (tensor->numel() > 0 && (d == DType::int64 || d == DType::bool_));
  if (!shown) out.append(", dtype=").append(name_of(d));
  return out.append(note) + ')';
}

}  // namespace minnow::detail::raw
