#include <minnow/autograd/anomaly.h>

#include <cmath>
#include <fmt/format.h>
#include <minnow/autograd/record.h>
#include <minnow/tensor/backend/dispatch.h>
#include <minnow/tensor/error.h>
#include <minnow/tensor/raw/elementwise.h>
#include <minnow/tensor/raw/reduce.h>
#include <minnow/tensor/runtime/calling_thread.h>
#include <minnow/tensor/runtime/capture_rules.h>
#include <minnow/tensor/text.h>

namespace minnow {
namespace {

using autograd::Edge;

struct Counts {
  std::int64_t nans = 0, infinities = 0, elements = 0;

  bool finite() const { return nans == 0 && infinities == 0; }
  std::string text() const {
    return fmt::format("{} NaN and {} infinite of {} value{}", nans, infinities, elements, elements == 1 ? "" : "s");
  }
};

Tensor total(const Tensor& x) { return raw::reduce(raw::kReduce<kernels::Sum>, x, {}, false); }
std::int64_t count(int predicate, const Tensor& x) { return total(raw::unary(predicate, x)).item<std::int64_t>(); }

/// Waits for the device.
Counts count_nonfinite(const Tensor& x) {
  if (!x.defined() || !x.is_floating_point() || x.numel() == 0) return {};
  if (CaptureRules::current())
    throw BackendError(
        "detect_anomaly: gradients cannot be checked while a step is captured\n"
        "turn it on outside of the CapturedStep, which then runs directly");
  // NaN and infinity remain in a sum, so that one pass is enough as long as all is well.  A sum may overflow, too.
  if (std::isfinite(total(x).item())) return {};
  return {count(raw::kUnary<kernels::IsNan>, x), count(raw::kUnary<kernels::IsInf>, x), x.numel()};
}

std::string origin(const autograd::Node& node) {
  std::string text = fmt::format("result of '{}'", node.name());
  if (node.where().line) text += " (" + file_and_line(node.where()) + ")";
  return text;
}

/// What an edge leads to: "float32[2, 3] on cpu   parameter 'fc.weight'".
std::string describe_end(const Edge& edge) {
  if (edge.leaf)
    if (const auto owner = edge.leaf->owner.lock()) return describe(Tensor(owner));
  std::string text = fmt::format("{}{} on {}", name_of(edge.dtype), edge.shape.str(), edge.device.str());
  return edge.node ? text + "   " + origin(*edge.node) : text;
}

}  // namespace

void set_detect_anomaly(bool on, AnomalyOptions options) {
  calling_thread.detects_anomaly = on;
  calling_thread.checks_forward = on && options.check_forward;
}

bool is_anomaly_enabled() { return calling_thread.detects_anomaly; }

DetectAnomalyGuard::DetectAnomalyGuard(AnomalyOptions options)
    : on_(is_anomaly_enabled()), options_{calling_thread.checks_forward} {
  set_detect_anomaly(true, options);
}
DetectAnomalyGuard::~DetectAnomalyGuard() { set_detect_anomaly(on_, options_); }

void autograd::check_gradient(Node& node, std::size_t input, const Tensor& gradient, std::span<const Tensor> incoming) {
  const CallSite site = CallSite::instead(node.name(), node.where());
  const Counts counts = count_nonfinite(gradient);
  if (counts.finite()) return;
  Counts before;
  for (const Tensor& grad : incoming)
    if (before.finite()) before = count_nonfinite(grad);
  const std::string text = fmt::format("the gradient of its operand {} has {}\n  operand   {}\n  gradient  {}", input,
                                       counts.text(), describe_end(node.edges()[input]), describe(gradient));
  // All that a backward computes is checked, so that only a hook can have returned it.
  if (!before.finite())
    throw AutogradError(message(text, {}, "a hook on the gradient of its result returned " + before.text()));
  throw AutogradError(message(
      text, {},
      "the gradient of its result is finite: look for an operand where its slope is not (0 of log or sqrt), or for a "
      "value of forward that is not: DetectAnomalyGuard guard({.check_forward = true})"));
}

void autograd::check_gradient_at(const Edge& edge, const Tensor& gradient, const char* what, const char* hint) {
  const CallSite site = edge.node ? CallSite::instead(edge.node->name(), edge.node->where())
                                  : CallSite::instead("backward", CallSite::where());
  const Counts counts = count_nonfinite(gradient);
  if (counts.finite()) return;
  throw AutogradError(message(fmt::format("{} has {}\n  tensor    {}\n  gradient  {}", what, counts.text(),
                                          describe_end(edge), describe(gradient)),
                              {}, hint));
}

void autograd::check_result(const Node& node, const Tensor& result, std::span<const Input> inputs) {
  const Counts counts = count_nonfinite(result);
  if (counts.finite() || std::string_view(node.name()) == "pad") return;  // pads with any number
  Counts operands;
  std::string lines;
  for (const Input& in : inputs) {
    const Counts of_input = count_nonfinite(in.tensor);
    operands.nans += of_input.nans;
    operands.infinities += of_input.infinities;
    lines += "\n  operand  " + (in.tensor.defined() ? describe(in.tensor) : "undefined");
    if (!of_input.finite()) lines += "   " + of_input.text();
  }
  if (counts.nans == 0 && operands.infinities > 0) return;  // for example of a mask with -infinity
  throw AutogradError(message("its result has " + counts.text() + lines, {},
                              operands.nans > 0 ? "an operand has NaN: look where its values come from"
                                                : "no operand has NaN: it was made here"));
}

}  // namespace minnow
