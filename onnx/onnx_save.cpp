#include <minnow/onnx/onnx.h>

#include <algorithm>
#include <cstring>
#include <fmt/format.h>
#include <set>
#include <unordered_set>
#include <minnow/autograd/grad_mode.h>
#include <minnow/onnx/detail/call.h>
#include <minnow/onnx/detail/rules.h>
#include <minnow/ops/elementwise/arithmetic.h>
#include <minnow/ops/indexing/index.h>
#include <minnow/tensor/create.h>
#include <minnow/tensor/error.h>
#include <minnow/tensor/io/detail/json_reader.h>

namespace minnow::onnx {

namespace {

using namespace detail;

/// A forward as it was recorded.
struct Run {
  Run(std::span<const Tensor> given, const Forward& forward, SourceLocation where)
      : inputs(given.begin(), given.end()), recorder(inputs) {
    const NoGradGuard no_grad;
    const Recording recording(recorder);
    const std::vector<Tensor> results = forward(inputs);
    for (const Tensor& y : results)
      if (y.defined()) outputs.push_back(recorder.number_of(y));
    recorder.require_told(where);
  }

  std::vector<Tensor> inputs;
  Recorder recorder;
  std::vector<std::size_t> outputs;
};

/// The records that outputs are made of.
std::vector<std::size_t> live(const Run& run) {
  std::unordered_set<std::size_t> needed;
  const auto need = [&](std::size_t value) {
    if (value != kNone && run.recorder.value(value).record != kNone) needed.insert(run.recorder.value(value).record);
  };
  for (const std::size_t y : run.outputs) need(y);
  std::vector<std::size_t> found;
  const auto& records = run.recorder.records();
  for (std::size_t i = records.size(); i-- > 0;) {
    if (!needed.count(i)) continue;
    found.push_back(i);
    for (const std::size_t x : records[i].operands) need(x);
  }
  std::reverse(found.begin(), found.end());
  return found;
}

[[noreturn]] void refuse_difference(const Record& a, const Record* b, SourceLocation where) {
  throw ValueError(
      fmt::format("onnx::save: the forward does other things for other sizes of the inputs\n  first {}, then {}\nleave "
                  "fewer sizes open, by SaveOptions::dynamic",
                  place_of(a), b ? place_of(*b) : "nothing"),
      where);
}

bool same_elements(const Tensor& x, const Tensor& y) {
  return x.dtype() == y.dtype() && x.shape() == y.shape() &&
         ((x.storage() == y.storage() && x.storage_offset() == y.storage_offset() && x.strides() == y.strides()) ||
          bytes_of(x) == bytes_of(y));
}

/// Makes a graph of two recordings.
class Exporter {
 public:
  Exporter(const nn::Module& model, const Run& a, const Run& b, Export& e) : model_(model), a_(a), b_(b), e_(e) {}

  void run() {
    pair();
    fold();
    for (std::size_t i = 0; i < e_.input_names.size(); ++i) e_.names[i] = e_.input_names[i];
    for (std::size_t i = 0; i < records_.size(); ++i) {
      const Record& a = record(a_, records_[i]);
      if (!emitted_[i]) continue;
      for (const std::size_t x : a.operands)
        if (x != kNone) name(x, a);
      e_.graph.set_scope(a.module);
      const Rule* const rule = find_rule(a.function);
      Call call(e_, a, record(b_, others_[i]));
      if (!rule) call.refuse("ONNX has no operators for it\ncompute it by other functions, or outside of the model");
      rule->emit(call, rule->op);
    }
    e_.graph.set_scope("");
  }

  /// The outputs by these names.
  void give_outputs(const std::vector<std::string>& names) {
    std::unordered_set<std::string> taken(e_.input_names.begin(), e_.input_names.end());
    for (std::size_t i = 0; i < a_.outputs.size(); ++i) {
      const std::size_t y = a_.outputs[i];
      std::string made = name(y, Record{"the output", {}, {}, {}, {}, {}});
      const auto is_made = [&](const auto& weight) { return weight.first == made; };
      const auto& weights = e_.graph.weights();
      if (taken.count(made) || std::any_of(weights.begin(), weights.end(), is_made))
        made = e_.graph.add("Identity", {made});
      e_.graph.rename(made, names[i]);
      taken.insert(names[i]);
      for (auto& [number, value] : e_.names)
        if (value == made) value = names[i];
      Port port{names[i], a_.recorder.value(y).tensor.dtype(), {}};
      for (const Size s : e_.sizes_of(y)) port.shape.push_back(port_size(s));
      e_.graph.outputs.push_back(std::move(port));
    }
  }

  Port::Size port_size(Size s) const {
    if (s.fixed()) return {s.a};
    for (const Symbol& symbol : e_.symbols)
      if (symbol.size == s) return {-1, symbol.name};
    return {};
  }

 private:
  static const Record& record(const Run& run, std::size_t i) { return run.recorder.records()[i]; }

  /// Finds for each value and record of a that of b.
  void pair() {
    records_ = live(a_);
    others_ = live(b_);
    for (std::size_t i = 0; i < a_.inputs.size(); ++i) e_.other[i] = i;
    for (std::size_t i = 0; i < records_.size(); ++i) {
      const Record& a = record(a_, records_[i]);
      if (i >= others_.size()) refuse_difference(a, nullptr, e_.where);
      const Record& b = record(b_, others_[i]);
      if (a.function != b.function || a.operands.size() != b.operands.size() || a.results.size() != b.results.size() ||
          a.arguments.size() != b.arguments.size())
        refuse_difference(a, &b, e_.where);
      for (std::size_t k = 0; k < a.operands.size(); ++k) match(a.operands[k], b.operands[k], a, b);
      for (std::size_t k = 0; k < a.results.size(); ++k)
        if (a.results[k] != kNone && b.results[k] != kNone) e_.other[a.results[k]] = b.results[k];
    }
    if (others_.size() > records_.size()) refuse_difference(record(b_, others_[records_.size()]), nullptr, e_.where);
    const Record output{"the output", {}, {}, {}, {}, {}};
    for (std::size_t i = 0; i < a_.outputs.size(); ++i)
      match(a_.outputs[i], i < b_.outputs.size() ? b_.outputs[i] : kNone, output, output);
  }

  void match(std::size_t x, std::size_t y, const Record& a, const Record& b) {
    if (x == kNone && y == kNone) return;
    if (x == kNone || y == kNone) refuse_difference(a, &b, e_.where);
    const auto known = e_.other.find(x);
    const Value &one = a_.recorder.value(x), &two = b_.recorder.value(y);
    for (const Value* value : {&one, &two})
      if (!value->fault.empty())
        throw ValueError(fmt::format("onnx::save: {} reads a tensor of which it is not known how it was computed: {}\n"
                                     "use forms of functions that return new tensors",
                                     place_of(a), value->fault),
                         e_.where);
    if (known == e_.other.end() && one.record == kNone && two.record == kNone) e_.other[x] = y;
    else if (known == e_.other.end() || known->second != y) refuse_difference(a, &b, e_.where);
  }

  /// Whether a value is the same for all inputs.
  bool is_constant(std::size_t x) const {
    const Value &one = a_.recorder.value(x), &two = b_.recorder.value(e_.other.at(x));
    return !one.depends && !two.depends && same_elements(one.tensor, two.tensor);
  }

  std::string parameter_name(const Tensor& x) const {
    const auto find = [&](const std::vector<nn::NamedTensor>& tensors) -> std::string {
      for (const auto& [name, tensor] : tensors)
        if (tensor.storage() == x.storage() && tensor.storage_offset() == x.storage_offset() &&
            tensor.shape() == x.shape() && tensor.strides() == x.strides())
          return name;
      return "";
    };
    const std::string name = find(parameters_);
    return name.empty() ? find(buffers_) : name;
  }

  /// Leaves out what is computed from constants: the result is a constant.  But views of parameters are exported, so
  /// that these keep their names.
  void fold() {
    parameters_ = model_.named_parameters();
    buffers_ = model_.named_buffers();
    static const std::set<std::string_view> kViews{"reshape", "permute", "transpose", "slice"};
    std::unordered_set<std::size_t> needed(a_.outputs.begin(), a_.outputs.end());
    emitted_.assign(records_.size(), false);
    std::unordered_set<std::size_t> of_parameters;
    for (const std::size_t r : records_) {
      const Record& a = record(a_, r);
      if (kViews.count(a.function) &&
          (of_parameters.count(a.operands[0]) || !parameter_name(a_.recorder.value(a.operands[0]).tensor).empty()))
        of_parameters.insert(a.results[0]);
    }
    for (std::size_t i = records_.size(); i-- > 0;) {
      const Record& a = record(a_, records_[i]);
      const auto wanted = [&](std::size_t y) {
        return y != kNone && needed.count(y) && (of_parameters.count(y) || !is_constant(y));
      };
      emitted_[i] = std::any_of(a.results.begin(), a.results.end(), wanted);
      if (emitted_[i])
        for (const std::size_t x : a.operands)
          if (x != kNone) needed.insert(x);
    }
  }

  /// Of a value that no emitted record has made: a weight.
  const std::string& name(std::size_t x, const Record& reader) {
    std::string& name = e_.names[x];
    if (!name.empty()) return name;
    const Tensor& value = a_.recorder.value(x).tensor;
    if (!is_constant(x))
      throw ValueError(
          fmt::format("onnx::save: {} reads a tensor {} that follows from the inputs by functions that "
                      "do not tell of it, from their sizes, or is random\ncompute it by functions of tensors",
                      place_of(reader), value.shape().str()),
          e_.where);
    const std::string given = parameter_name(value);
    name = given.empty() ? e_.graph.constant(value) : e_.graph.weight(given, value);
    return name;
  }

  const nn::Module& model_;
  const Run &a_, &b_;
  Export& e_;
  std::vector<std::size_t> records_, others_;
  std::vector<bool> emitted_;
  std::vector<nn::NamedTensor> parameters_, buffers_;
};

std::vector<Symbol> symbols_of(const std::vector<Tensor>& inputs, const SaveOptions& options, SourceLocation where) {
  std::vector<DynamicDim> dims;
  if (options.dynamic) {
    dims = *options.dynamic;
  } else {
    for (std::size_t i = 0; i < inputs.size(); ++i)
      if (inputs[i].dim() > 0) dims.push_back({i, 0, "batch"});
  }
  std::vector<Symbol> symbols;
  std::set<std::int64_t> taken;
  for (const DynamicDim& d : dims) {
    if (d.input >= inputs.size() || d.dim < -inputs[d.input].dim() || d.dim >= inputs[d.input].dim() || d.name.empty())
      throw ValueError(fmt::format("onnx::save: dynamic dimension {} of input {} does not exist, or has no name\ngive "
                                   "{{input, dim, name}}, counted from 0",
                                   d.dim, d.input),
                       where);
    const int dim = d.dim < 0 ? d.dim + inputs[d.input].dim() : d.dim;
    const std::int64_t size = inputs[d.input].size(dim);
    const auto same = std::find_if(symbols.begin(), symbols.end(), [&](const Symbol& s) { return s.name == d.name; });
    if (same != symbols.end()) {
      if (inputs[same->input].size(same->dim) != size)
        throw ValueError(fmt::format("onnx::save: dimension \"{}\" has sizes {} and {} in the example\nuse two names",
                                     d.name, inputs[same->input].size(same->dim), size),
                         where);
      symbols.push_back({d.name, d.input, dim, same->size});
      continue;
    }
    if (size < 1)
      throw ValueError(fmt::format("onnx::save: input {} has no elements\ngive an example with some", d.input), where);
    // Not 1, which is broadcast; and less in the second run where that goes, since there may be a largest size.
    const std::int64_t first = std::max<std::int64_t>(size, 2);
    std::int64_t second = first - 1;
    while (second >= 2 && taken.count(second)) --second;
    if (second < 2)
      for (second = first + 1; taken.count(second);) ++second;
    taken.insert(second);
    symbols.push_back({d.name, d.input, dim, {first, second}});
  }
  return symbols;
}

/// The example with as many rows as a run has; in the second one with other elements too, where any will do.
std::vector<Tensor> resized(const std::vector<Tensor>& inputs, const std::vector<Symbol>& symbols, bool second) {
  std::vector<Tensor> out;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    Tensor x = inputs[i].detach();
    for (const Symbol& s : symbols) {
      if (s.input != i) continue;
      const std::int64_t size = second ? s.size.b : s.size.a;
      std::vector<std::int64_t> rows;
      for (std::int64_t k = 0; k < size; ++k) rows.push_back((second ? size - 1 - k : k) % x.size(s.dim));
      x = index_select(x, s.dim, tensor(rows, x.device()));
    }
    constexpr double kOther = 0.9375;
    out.push_back(second && x.is_floating_point() ? mul(x, kOther) : x.clone());
  }
  return out;
}

std::vector<std::string> names_of(const char* what, const std::vector<std::string>& given, std::size_t count,
                                  SourceLocation where) {
  if (given.empty()) {
    std::vector<std::string> names;
    for (std::size_t i = 0; i < count; ++i) names.push_back(count == 1 ? what : fmt::format("{}_{}", what, i));
    return names;
  }
  const bool valid = std::all_of(given.begin(), given.end(),
                                 [](const std::string& name) { return !name.empty() && io::detail::is_utf8(name); });
  if (given.size() != count || !valid || std::set(given.begin(), given.end()).size() != count)
    throw ValueError(fmt::format("onnx::save: {} names of {}s are given, there are {}\ngive each a name of its own, "
                                 "which is not empty",
                                 given.size(), what, count),
                     where);
  return given;
}

}  // namespace

void save(const nn::Module& model, const std::vector<Tensor>& inputs, const Forward& forward, const std::string& path,
          const SaveOptions& options, SourceLocation where) {
  if (options.opset < 18 || options.opset > 23)
    throw ValueError(fmt::format("onnx::save: opset {} is not known\ngive 18 to 23", options.opset), where);
  for (const auto& [name, module] : model.named_modules())
    if (module.is_training())
      throw ValueError(fmt::format("onnx::save: {} is in train mode\ncall eval() first",
                                   name.empty() ? "the model" : "the module '" + name + "'"),
                       where);
  if (inputs.empty()) throw ValueError("onnx::save: there are no inputs\ngive an example of each", where);
  for (const Tensor& x : inputs) x.require_defined("onnx::save", where);
  std::vector<Symbol> symbols = symbols_of(inputs, options, where);
  const std::vector<std::string> input_names = names_of("input", options.input_names, inputs.size(), where);
  const Run a(resized(inputs, symbols, false), forward, where), b(resized(inputs, symbols, true), forward, where);
  if (a.outputs.empty()) throw ValueError("onnx::save: the forward returns no tensor\nreturn its results", where);
  const std::vector<std::string> output_names = names_of("output", options.output_names, a.outputs.size(), where);
  for (const std::string& name : output_names)
    if (std::find(input_names.begin(), input_names.end(), name) != input_names.end())
      throw ValueError(fmt::format("onnx::save: \"{}\" is the name of an input and of an output\ngive two", name),
                       where);
  Export e{a.recorder, b.recorder, std::move(symbols), input_names, Graph(options.opset), {}, {}, where};
  for (const auto* names : {&input_names, &output_names})
    for (const std::string& name : *names) (void)e.graph.unique(name);
  Exporter exporter(model, a, b, e);
  exporter.run();
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    Port port{input_names[i], inputs[i].dtype(), {}};
    for (const Size s : e.sizes_of(i)) port.shape.push_back(exporter.port_size(s));
    e.graph.inputs.push_back(std::move(port));
  }
  exporter.give_outputs(output_names);
  write(e.graph, path, options.external_data, where);
}

}  // namespace minnow::onnx
