// Module::state_dict and load_state_dict.
#include <algorithm>
#include <unordered_set>
#include <minnow/autograd/node.h>
#include <minnow/nn/detail/access.h>
#include <minnow/tensor/error.h>
#include <minnow/tensor/raw/copy.h>
#include <minnow/tensor/runtime/warning.h>

namespace minnow::nn {

using detail::Access;
using detail::Child;
using detail::Entry;
using detail::join;
using detail::State;

namespace {

/// Every saved tensor with each of its names.
void collect(const State& state, const std::string& path, std::vector<NamedTensor>& out) {
  for (const Entry& entry : state.parameters) out.push_back({join(path, entry.name), entry.tensor});
  for (const Entry& entry : state.buffers)
    if (entry.persistent) out.push_back({join(path, entry.name), entry.tensor});
  for (const Child& child : state.children) collect(Access::state(*child.module), join(path, child.name), out);
}

std::string type_of(const Tensor& t) {
  return t.defined() ? std::string(name_of(t.dtype())) + t.shape().str() : "undefined";
}

/// A list of what does not fit, for the error.
class Problems {
 public:
  void names(const char* what, const std::vector<std::string>& list) {
    constexpr std::size_t kShown = 20;
    if (list.empty()) return;
    text_ += std::string("\n  ") + what;
    for (std::size_t i = 0; i < std::min(list.size(), kShown); ++i) text_ += (i ? ", '" : "'") + list[i] + "'";
    if (list.size() > kShown) text_ += " and " + std::to_string(list.size() - kShown) + " more";
  }
  void line(const std::string& line) { text_ += "\n  " + line; }
  const std::string& text() const { return text_; }

 private:
  std::string text_;
};

constexpr const char* kQuantizedModule = "the module is quantized to int8: load before nn::quantize_dynamic_()";
constexpr const char* kQuantizedValues =
    "the values are of a model that is quantized to int8: call nn::quantize_dynamic_() on this one first";

bool fits(const Tensor& value, const Tensor& target, LoadOptions options) {
  if (!value.defined() || !(value.shape() == target.shape())) return false;
  return value.dtype() == target.dtype() ||
         (options.convert && value.is_floating_point() && target.is_floating_point());
}

/// Does the part of copying the second of each pair into the first that can fail.
void prepare(std::vector<std::pair<Tensor, Tensor>>& copies) {
  std::unordered_set<const Storage*> targets;
  for (const auto& [tensor, value] : copies) {
    raw::require_writable(tensor);
    targets.insert(tensor.storage().get());
  }
  for (auto& [tensor, value] : copies) {
    value = value.detach().to(tensor.device(), tensor.dtype());
    // A value in memory of this module could be overwritten before it is read, unless it is copied to itself.
    if (targets.contains(value.storage().get()) &&
        (value.storage() != tensor.storage() || raw::overlaps(tensor, value)))
      value = raw::clone(value);
  }
  for (const auto& [tensor, value] : copies) raw::wait_for(tensor, value);
}

/// What the names of the values have in front of all that are missing, e.g. "module."; empty if they differ otherwise.
std::string beginning_of(const StateDict& values, const LoadReport& report) {
  if (report.missing.empty()) return {};
  const std::string end = "." + report.missing.front();
  for (const std::string& name : report.unexpected) {
    if (!name.ends_with(end)) continue;
    std::string beginning = name.substr(0, name.size() - end.size() + 1);
    const auto has_it = [&](const std::string& missing) { return values.contains(beginning + missing); };
    if (std::all_of(report.missing.begin(), report.missing.end(), has_it)) return beginning;
  }
  return {};
}

}  // namespace

StateDict Module::state_dict() const {
  if (minnow::detail::has_late_warnings()) minnow::detail::give_late_warnings([](const void*) { return false; });
  std::vector<NamedTensor> list;
  collect(*state_, "", list);
  StateDict dict;
  for (const auto& [name, tensor] : list) dict.set(name, tensor.detach());
  return dict;
}

LoadReport Module::load_state_dict(const StateDict& values, LoadOptions options, SourceLocation where) {
  const CallSite site("load_state_dict", where);
  std::vector<NamedTensor> list;
  collect(*state_, "", list);
  LoadReport report;
  Problems problems;
  const char* quantized = nullptr;  // a hint
  std::unordered_set<std::string> known;
  std::unordered_set<const void*> filled;
  std::vector<std::pair<Tensor, Tensor>> copies;
  for (const auto& [name, tensor] : list) {
    known.insert(name);
    const Tensor* value = values.find(name);
    if (!value) continue;
    filled.insert(autograd::identity(tensor));
    if (!fits(*value, tensor, options)) {
      problems.line("'" + name + "' is " + type_of(*value) + ", the module has " + type_of(tensor));
      if (value->defined() && tensor.dtype() != value->dtype()) {
        if (tensor.dtype() == DType::int8) quantized = kQuantizedModule;
        if (value->dtype() == DType::int8) quantized = kQuantizedValues;
      }
      continue;
    }
    report.loaded.push_back(name);
    copies.emplace_back(tensor, *value);
  }
  for (const auto& [name, tensor] : list)  // a shared tensor needs a value for one of its names
    if (!filled.contains(autograd::identity(tensor))) report.missing.push_back(name);
  for (const auto& [name, value] : values)
    if (!known.contains(name)) report.unexpected.push_back(name);
  const bool nothing = report.loaded.empty() && problems.text().empty() && !values.empty() && !list.empty();
  if (options.strict || nothing) {
    problems.names("missing     ", report.missing);
    problems.names("unexpected  ", report.unexpected);
  }
  if (!problems.text().empty()) {
    std::string hint =
        "load into the architecture that was saved; {.strict = false} skips missing and unexpected names, {.convert = "
        "true} converts floating-point values";
    if (quantized != nullptr) hint = quantized;
    else if (const std::string extra = beginning_of(values, report); !extra.empty())
      hint = "some names begin with '" + extra + "': load(path, {.prefix = \"" + extra + "\", .rename = {{\"" + extra +
             "\", \"\"}}})";
    else if (!options.strict && nothing) hint = R"(no name fits: load(path, {.rename = {{"old", "new"}}}))";
    throw ValueError("load_state_dict: the values do not fit " + describe() + problems.text() + '\n' + hint);
  }
  prepare(copies);
  for (const auto& [tensor, value] : copies) raw::overwrite(value, tensor);  // does not allocate
  return report;
}

}  // namespace minnow::nn
