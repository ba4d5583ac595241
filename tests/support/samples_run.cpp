#include <cmath>
#include <cstdlib>
#include <fstream>
#include <gtest/gtest.h>
#include <iostream>
#include <sstream>

#include "op_misuse.h"
#include "samples_text.h"

namespace minnow::test {
namespace {

struct Line {
  std::string text, name, arguments, results;
  char dtype = 0;
};

std::vector<Line> lines_of(const std::string& family) {
  std::ifstream file(MINNOW_TEST_DIR "/golden/samples/" + family + ".txt");
  std::vector<Line> lines;
  for (std::string text; std::getline(file, text);) {
    const std::size_t name = text.find(' '), arrow = text.find(" -> ");
    lines.push_back(
        {text, text.substr(0, name), text.substr(name + 2, arrow - name - 2), text.substr(arrow + 4), text[name + 1]});
  }
  EXPECT_FALSE(lines.empty()) << family;
  return lines;
}

enum class Layout : std::uint8_t { kContiguous, kStrided, kExpanded, kExpandedCopy };

/// The same elements (of kExpanded: those of the first slice again and again) in memory with gaps, or transposed.
Tensor laid_out(const Tensor& x, Layout layout, int number) {
  if (x.dim() == 0 || x.numel() == 0 || layout == Layout::kContiguous) return x;
  if (layout != Layout::kStrided) {
    const int dim = number % static_cast<int>(x.dim());
    const Tensor y = x.narrow(dim, 0, 1).expand(x.shape());
    return layout == Layout::kExpanded ? y : y.contiguous().clone();
  }
  if (number % 2 == 0) return x.transpose(0, -1).contiguous().transpose(0, -1);
  return stack({x, x}, -1).select(-1, 1);
}

double eps_of(DType dtype) {
  switch (dtype) {
    case DType::float64: return 1e-9;
    case DType::float32: return 1e-5;
    case DType::float16: return 5e-3;
    case DType::bfloat16: return 3e-2;
    default: return 1e-12;
  }
}

/// Empty, or how the sums differ.
std::string compare(const Tensor& got, const std::vector<double>& want, const std::string& what, double eps) {
  const std::vector<double> sums = sums_of(got);
  const double allowed = eps * (want[0] + 1e-2 * static_cast<double>(got.numel()) + 1);
  for (std::size_t i = 0; i < 3; ++i)
    if (!(std::abs(sums[i] - want[i]) <= allowed))
      return what + ": sum " + std::to_string(i) + " is " + std::to_string(sums[i]) + " instead of " +
             std::to_string(want[i]) + ", " + to_string(got).substr(0, 300);
  return {};
}

std::string letter_shape(const Tensor& t) {
  static const char kLetters[] = "fdehliscub";
  std::string text(1, kLetters[static_cast<int>(t.dtype())]);
  text += '[';
  for (int i = 0; i < t.dim(); ++i) text += (i > 0 ? "," : "") + std::to_string(t.size(i));
  return text + "]";
}

struct Run {
  std::vector<Tensor> outputs, gradients;
};

class Sample {
 public:
  Sample(const Line& line, const SampleCall& call, Device device, bool same_bits)
      : line_(line), call_(call), device_(device), same_bits_(same_bits) {}

  /// NoForm; errors of minnow.
  Run run(Layout layout) const {
    SampleArguments x = read_sample(line_.arguments);
    std::vector<Tensor> leaves;
    int number = 0;
    x.for_each([&](SampleValue& v) {
      v.tensor = laid_out(v.tensor.to(device_), layout, number++);
      if (v.differentiable) leaves.push_back(v.tensor = v.tensor.detach().requires_grad_());
    });
    Run run{call_(x), {}};
    if (!x.all_used()) throw NoForm();
    if (line_.results.find('^') == std::string::npos) return run;
    std::vector<Tensor> recorded, arriving;
    for (const Tensor& y : run.outputs)
      if (y.requires_grad()) {
        recorded.push_back(y);
        arriving.push_back(weights_of(y));
      }
    if (recorded.empty()) throw AutogradError("no result has a gradient");
    run.gradients = grad(recorded, leaves, {.allow_unused = true, .grad_outputs = arriving});
    for (std::size_t i = 0; i < leaves.size(); ++i)
      if (!run.gradients[i].defined()) run.gradients[i] = zeros_like(leaves[i]);
    return run;
  }

  /// Empty, or what is not as PyTorch has it.
  std::string against_torch(const Run& run) const {
    std::istringstream results(line_.results);
    std::size_t output = 0, gradient = 0;
    for (std::string word; results >> word;) {
      const bool is_gradient = word == "^";
      const std::size_t i = is_gradient ? gradient++ : output++;
      const std::vector<Tensor>& got = is_gradient ? run.gradients : run.outputs;
      std::vector<double> want(3);
      for (double& sum : want) {
        std::string text;
        results >> text;
        sum = std::strtod(text.c_str(), nullptr);
      }
      if (i >= got.size()) return "there is no result " + std::to_string(i);
      const std::string what = (is_gradient ? "gradient " : "result ") + std::to_string(i);
      if (!is_gradient && letter_shape(got[i]) != word) return what + " is " + letter_shape(got[i]);
      const double eps = std::max(eps_of(got[i].dtype()), is_gradient ? eps_of(run.outputs[0].dtype()) : 0);
      const std::string difference = compare(got[i], want, what, eps);
      if (!difference.empty()) return difference;
    }
    return output == run.outputs.size() ? "" : "there are more results";
  }

  std::string expanded_as_copied() const {
    Run expanded, copied;
    try {
      copied = run(Layout::kExpandedCopy);
    } catch (const Error&) { return {}; }  // a singular matrix, or another value that is not fit
    expanded = run(Layout::kExpanded);
    for (std::size_t i = 0; i < copied.outputs.size() + copied.gradients.size(); ++i) {
      const bool is_gradient = i >= copied.outputs.size();
      const std::size_t at = is_gradient ? i - copied.outputs.size() : i;
      const Tensor& want = (is_gradient ? copied.gradients : copied.outputs)[at];
      const Tensor& got = (is_gradient ? expanded.gradients : expanded.outputs).at(at);
      const std::string difference =
          compare(got, sums_of(want), "expanded: " + std::to_string(i), 10 * eps_of(got.dtype()));
      if (!difference.empty()) return difference;
    }
    return {};
  }

  std::string check() const {
    if (line_.results == "!") {
      try {
        synchronize_after(run(Layout::kContiguous));
      } catch (const Error&) { return {}; }
      return "accepted, PyTorch refuses it";
    }
    try {
      std::string fault = against_torch(run(Layout::kContiguous));
      if (!device_.is_cpu() || !fault.empty()) return fault;
      const Run strided = run(Layout::kStrided);
      if (same_bits_ && !equal(strided.outputs, run(Layout::kContiguous).outputs)) return "strided: other bits";
      fault = against_torch(strided);
      if (!fault.empty()) return "strided: " + fault;
      return expanded_as_copied();
    } catch (const Error& error) { return error.what(); }
  }

 private:
  const Line& line_;
  const SampleCall& call_;
  Device device_;
  bool same_bits_;

  static bool equal(const std::vector<Tensor>& a, const std::vector<Tensor>& b) {
    for (std::size_t i = 0; i < a.size(); ++i)
      if (!allclose(a[i].detach(), b.at(i).detach(), 0, 0, true)) return false;
    return a.size() == b.size();
  }

  static void synchronize_after(const Run& run) {
    for (const Tensor& y : run.outputs) (void)y.cpu();
  }
};

bool excepted(const Line& line, const std::string& fault, const std::vector<SampleException>& exceptions) {
  for (const SampleException& e : exceptions)
    if (line.name.rfind(e.name, 0) == 0 && (line.text + "\n" + fault).find(e.part) != std::string::npos) return true;
  return false;
}

}  // namespace

void expect_samples(const std::string& family, const SampleCalls& calls, const std::vector<SampleException>& exceptions,
                    Device device, bool same_bits) {
  std::size_t right = 0, without_form = 0, intended = 0, wrong = 0;
  for (const Line& line : lines_of(family)) {
    const auto call = calls.find(line.name);
    if (call == calls.end()) {
      ADD_FAILURE() << line.name << " has no call";
      continue;
    }
    std::string fault;
    try {
      fault = Sample(line, call->second, device, same_bits).check();
    } catch (const NoForm&) {
      ++without_form;
      if (std::getenv("MINNOW_SAMPLES_WITHOUT_FORM")) std::cout << "no form: " << line.text << "\n";
      continue;
    } catch (const std::exception& error) { fault = std::string("an exception of another kind: ") + error.what(); }
    if (fault.empty()) {
      ++right;
    } else if (excepted(line, fault, exceptions)) {
      ++intended;
    } else {
      ++wrong;
      ADD_FAILURE() << line.text << "\n  " << fault;
    }
  }
  ::testing::Test::RecordProperty("samples", static_cast<int>(right));
  std::cout << family << ": " << right << " right, " << intended << " other by intention, " << without_form
            << " without a form, " << wrong << " wrong\n";
}

namespace {

/// The call with its number-th number replaced by the which-th bad one; whether there is that number.
bool misuse_number(const Line& line, const SampleCall& call, Device device, int number, double bad) {
  SampleArguments x = read_sample(line.arguments);
  std::vector<Tensor> leaves;
  x.for_each([&](SampleValue& v) {
    v.tensor = v.tensor.to(device);
    if (v.differentiable) leaves.push_back(v.tensor = v.tensor.detach().requires_grad_());
  });
  int at = 0;
  x.for_each_number([&](SampleValue& v) {
    if (at++ == number) v.number = v.kind == SampleValue::Kind::kInteger && std::isnan(bad) ? -2 : bad;
  });
  if (at <= number) return false;
  std::string fault;
  try {
    std::vector<Tensor> recorded;
    for (const Tensor& y : call(x)) {
      if (y.numel() > 1'000'000) continue;  // a view
      (void)y.cpu();
      if (y.requires_grad()) recorded.push_back(sum(y));
    }
    if (!recorded.empty()) (void)grad(recorded, leaves, {.allow_unused = true});
  } catch (const NoForm&) {
  } catch (const Error& error) {
    if (!names_an_operation(error.what())) fault = std::string("names no operation: ") + error.what();
  } catch (const std::exception& error) { fault = std::string("no Error: ") + error.what(); }
  EXPECT_EQ(fault, "") << line.text << "\n  number " << number << " is " << bad;
  return true;
}

}  // namespace

void misuse_samples(const std::string& family, const SampleCalls& calls, Device device) {
  std::map<std::string, int> done;
  for (const Line& line : lines_of(family)) {
    if (line.results == "!" || (line.dtype != 'f' && line.dtype != 'l') || ++done[line.name + line.dtype] > 4) continue;
    const SampleCall& call = calls.at(line.name);
    for (const double bad : {-1.0, 0.0, -7.0, 0x1p62, -0x1p63, 0x1p63 - 1024, std::nan("")})
      for (int number = 0; misuse_number(line, call, device, number, bad); ++number) {}
  }
}

}  // namespace minnow::test
