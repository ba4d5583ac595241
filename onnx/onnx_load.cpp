#include <algorithm>
#include <fmt/format.h>
#include <map>
#include <set>
#include <unordered_map>
#include <minnow/nn/detail/access.h>
#include <minnow/onnx/detail/kernels.h>
#include <minnow/onnx/onnx.h>
#include <minnow/tensor/error.h>

namespace minnow::onnx {

using namespace detail;

/// What a model computes.
struct detail::Program {
  /// Where a value comes from.
  struct Place {
    enum class Kind : std::uint8_t { none, parameter, buffer, constant, made } kind = Kind::none;
    std::size_t at = 0;
  };
  struct Node {
    FileNode file;
    const Kernel* kernel;
    std::vector<Place> inputs;
    std::vector<std::size_t> outputs;   ///< places of what it makes
    std::vector<std::size_t> finished;  ///< places that nobody reads after it
  };

  std::int64_t opset;
  std::vector<std::string> inputs, outputs;  ///< inputs are the first places
  std::vector<FilePort> ports;               ///< of the inputs
  std::vector<Place> results;
  std::vector<Node> nodes;
  std::size_t places = 0;
  std::vector<Tensor> constants;  ///< integers, on the host: sizes are computed there
  std::vector<std::pair<std::string, Tensor>> parameters, buffers;
};

namespace {

using Place = Program::Place;

/// Modules that give a name its dots.
struct Group : nn::Module {
  Group() { hold_children(); }

  Group* child_of(const std::string& name, SourceLocation where) {
    Group*& found = groups[name];
    if (found) return found;
    const auto made = std::make_shared<Group>();
    register_child({name, made, &nn::detail::copy_as<Group>}, where);
    return found = made.get();
  }
  using Module::buffer;
  using Module::parameter;

  std::map<std::string, Group*> groups;  // while they are made
  std::vector<nn::Parameter> parameters;
  std::vector<nn::Buffer> buffers;
};

/// Makes a Program of a file.
class Builder {
 public:
  Builder(FileModel file, const std::string& path, SourceLocation where)
      : file_(std::move(file)), path_(path), where_(where) {}

  std::shared_ptr<const Program> program() {
    auto p = std::make_shared<Program>();
    p->opset = file_.opset;
    for (const FilePort& port : file_.inputs) p->inputs.push_back(port.name);
    p->ports = file_.inputs;
    p->outputs = file_.outputs;
    refuse_unknown();
    for (const std::string& name : p->inputs) define(name, {Place::Kind::made, p->places++});
    add_weights(*p);
    for (FileNode& node : file_.nodes) add(*p, std::move(node));
    for (const std::string& name : p->outputs) p->results.push_back(place_of(name));
    if (p->outputs.empty()) fail("a graph without outputs");
    find_finished(*p);
    return p;
  }

 private:
  [[noreturn]] void fail(const std::string& what) const {
    throw FormatError(
        fmt::format("onnx::load: '{}' is no model that minnow can read\n  found  {}\nexport it again", path_, what),
        where_);
  }

  void refuse_unknown() const {
    std::set<std::string> unknown;
    for (const FileNode& node : file_.nodes)
      if (!find_kernel(node.op)) unknown.insert(node.op);
    if (unknown.empty()) return;
    std::string names;
    for (const std::string& name : unknown) names += (names.empty() ? "" : ", ") + name;
    throw FormatError(
        fmt::format("onnx::load: '{}' has operators that minnow does not read: {}\nexport a model without them; "
                    "docs/onnx.md lists those that are read",
                    path_, names),
        where_);
  }

  void define(const std::string& name, Place place) {
    if (name.empty() || !places_.emplace(name, place).second)
      fail(fmt::format("two values '{}', or one without a name", name));
  }
  Place place_of(const std::string& name) const {
    if (name.empty()) return {};
    const auto found = places_.find(name);
    if (found == places_.end()) fail(fmt::format("'{}', which is used before it is computed", name));
    return found->second;
  }

  /// Whether a weight is trained: a floating-point one of a layer, but not what onnx::save and PyTorch's exporter name
  /// as a constant.
  static bool is_parameter(const std::string& name, const Tensor& value, const std::set<std::string>& others) {
    const bool constant = name.starts_with("constant") || (name.starts_with("val_") && value.numel() == 1);
    return value.is_floating_point() && value.dim() > 0 && !constant && !others.count(name);
  }

  void add_weights(Program& p) {
    std::set<std::string> statistics, numbers;  // of BatchNormalization; what is no layer's
    for (const FileNode& node : file_.nodes)
      for (std::size_t i = 0; i < node.inputs.size(); ++i) {
        if (node.op == "BatchNormalization" && i >= 3) statistics.insert(node.inputs[i]);
        const bool recurrent = node.op == "LSTM" || node.op == "GRU" || node.op == "RNN";
        if (node.op == "Resize" || node.op == "Pad" || node.op == "DequantizeLinear" || node.op == "QuantizeLinear" ||
            (recurrent && i >= 5))
          numbers.insert(node.inputs[i]);
      }
    for (const auto& [name, value] : file_.weights) {
      using enum Place::Kind;
      if (statistics.count(name)) {
        define(name, {buffer, p.buffers.size()});
        p.buffers.emplace_back(name, value);
      } else if (is_parameter(name, value, numbers)) {
        define(name, {parameter, p.parameters.size()});
        p.parameters.emplace_back(name, value);
      } else if (value.is_floating_point() || value.dtype() == DType::int8) {
        define(name, {buffer, p.buffers.size()});
        p.buffers.emplace_back(name, value);
      } else {
        define(name, {constant, p.constants.size()});
        p.constants.push_back(value);
      }
    }
  }

  void add(Program& p, FileNode node) {
    Program::Node to{{}, find_kernel(node.op), {}, {}, {}};
    for (const std::string& name : node.inputs) to.inputs.push_back(place_of(name));
    for (const std::string& name : node.outputs) {
      to.outputs.push_back(p.places++);
      if (!name.empty()) define(name, {Place::Kind::made, to.outputs.back()});
    }
    to.file = std::move(node);
    p.nodes.push_back(std::move(to));
  }

  static void find_finished(Program& p) {
    std::vector<bool> read(p.places);
    for (const Place& result : p.results)
      if (result.kind == Place::Kind::made) read[result.at] = true;
    for (std::size_t i = p.nodes.size(); i-- > 0;) {
      Program::Node& node = p.nodes[i];
      const auto finish = [&](std::size_t at) {
        if (!read[at]) node.finished.push_back(at);
        read[at] = true;
      };
      for (const Place& x : node.inputs)
        if (x.kind == Place::Kind::made) finish(x.at);
      for (const std::size_t at : node.outputs) finish(at);
    }
  }

  FileModel file_;
  std::string path_;
  SourceLocation where_;
  std::unordered_map<std::string, Place> places_;
};

}  // namespace

namespace {

/// How inputs differ from what the file says, a line for each; empty if they do not.
std::string differences(const std::vector<FilePort>& ports, const std::vector<Tensor>& inputs) {
  std::string text;
  for (std::size_t i = 0; i < ports.size(); ++i) {
    const auto& [name, dtype, shape] = ports[i];
    const Tensor& x = inputs[i];
    bool differs = (dtype && *dtype != x.dtype()) || (shape && std::ssize(*shape) != x.dim());
    for (int d = 0; !differs && shape && d < x.dim(); ++d) {
      const std::string& size = (*shape)[static_cast<std::size_t>(d)];
      differs = size.find_first_not_of("0123456789") == std::string::npos && size != std::to_string(x.size(d));
    }
    if (!differs) continue;
    text += fmt::format("\n  {}  {}, the file says {}", name, describe(x), dtype ? name_of(*dtype) : "");
    if (!shape) continue;
    text += "[";
    for (const std::string& size : *shape) text += (text.back() == '[' ? "" : ", ") + size;
    text += "]";
  }
  return text;
}

}  // namespace

Model load(const std::string& path, SourceLocation where) {
  return Model(Builder(read(path, where), path, where).program(), path, where);
}

Model::Model(std::shared_ptr<const detail::Program> program, const std::string& path, SourceLocation where)
    : program_(std::move(program)) {
  hold_children();
  std::map<std::string, Group*> roots;
  /// "layers.0.weight": the group "layers.0", made where it is missing, and "weight".
  const auto group_of = [&](const std::string& name, std::string& last) -> Group* {
    constexpr std::ptrdiff_t kDeepest = 64;  // modules are destroyed by recursion
    if (std::count(name.begin(), name.end(), '.') > kDeepest) throw ValueError("a name has more than 64 dots");
    Group* at = nullptr;
    std::size_t begin = 0;
    for (std::size_t dot = name.find('.'); dot != std::string::npos; dot = name.find('.', begin)) {
      const std::string part = name.substr(begin, dot - begin);
      begin = dot + 1;
      if (at) {
        at = at->child_of(part, where);
        continue;
      }
      Group*& root = roots[part];
      if (!root) {
        const auto made = std::make_shared<Group>();
        register_child({part, made, &nn::detail::copy_as<Group>}, where);
        root = made.get();
      }
      at = root;
    }
    last = name.substr(begin);
    return at;
  };
  try {
    std::string last;
    for (const auto& [name, value] : program_->parameters) {
      Group* const at = group_of(name, last);
      parameters_.push_back(at ? at->parameter(last, value, where) : parameter(last, value, where));
      if (at) at->parameters.push_back(parameters_.back());
    }
    for (const auto& [name, value] : program_->buffers) {
      Group* const at = group_of(name, last);
      buffers_.push_back(at ? at->buffer(last, value, true, where) : buffer(last, value, true, where));
      if (at) at->buffers.push_back(buffers_.back());
    }
  } catch (const ValueError& e) {
    throw FormatError(
        fmt::format("onnx::load: the names of weights in '{}' do not make a tree of modules\n  {}\nexport "
                    "it again",
                    path, e.what()),
        where);
  }
  eval();
}

const std::vector<std::string>& Model::input_names() const { return program_->inputs; }
const std::vector<std::string>& Model::output_names() const { return program_->outputs; }

std::vector<Tensor> Model::forward(std::vector<Tensor> inputs) {
  const auto site = called();
  const Program& p = *program_;
  if (inputs.size() != p.inputs.size())
    throw ValueError(fmt::format("onnx::Model: {} inputs are given, it takes {}\ninput_names() lists them",
                                 inputs.size(), p.inputs.size()));
  for (const Tensor& x : inputs) x.require_defined("onnx::Model", {});
  const std::string odd = differences(p.ports, inputs);
  if (odd.empty()) return compute(std::move(inputs));
  const std::string_view head = "onnx::Model: an input is not what the file says";
  try {
    return compute(std::move(inputs));
  } catch (const ShapeError& e) {
    throw ShapeError(fmt::format("{}{}\nbecause of that: {}", head, odd, e.what()));
  } catch (const DTypeError& e) {
    throw DTypeError(fmt::format("{}{}\nbecause of that: {}", head, odd, e.what()));
  } catch (const FormatError& e) { throw ShapeError(fmt::format("{}{}\nbecause of that: {}", head, odd, e.what())); }
}

std::vector<Tensor> Model::compute(std::vector<Tensor> inputs) const {
  const Program& p = *program_;
  std::vector<Tensor> made = std::move(inputs), in;
  made.resize(p.places);
  const auto get = [&](const Place& place) -> Tensor {
    switch (place.kind) {
      case Place::Kind::parameter: return parameters_[place.at];
      case Place::Kind::buffer: return buffers_[place.at];
      case Place::Kind::constant: return p.constants[place.at];
      case Place::Kind::made: return made[place.at];
      case Place::Kind::none: break;
    }
    return {};
  };
  for (const Program::Node& node : p.nodes) {
    in.clear();
    for (const Place& place : node.inputs) in.push_back(get(place));
    const Step step(node.file, p.opset, in, is_training());
    std::vector<Tensor> results = node.kernel->compute(step);
    for (std::size_t i = 0; i < node.outputs.size(); ++i) {
      if (i >= results.size() && !node.file.outputs[i].empty())
        step.refuse(fmt::format("its output {} is not read by minnow", i));
      if (i < results.size()) made[node.outputs[i]] = std::move(results[i]);
    }
    for (const std::size_t at : node.finished) made[at] = Tensor();
  }
  std::vector<Tensor> results;
  for (const Place& place : p.results) results.push_back(get(place));
  return results;
}

Tensor Model::forward(const Tensor& x) { return forward(std::vector<Tensor>{x})[0]; }
Tensor Model::forward(const Tensor& x, const Tensor& y) { return forward(std::vector<Tensor>{x, y})[0]; }
Tensor Model::forward(const Tensor& x, const Tensor& y, const Tensor& z) {
  return forward(std::vector<Tensor>{x, y, z})[0];
}
Tensor Model::forward(const Tensor& x, const Tensor& y, const Tensor& z, const Tensor& w) {
  return forward(std::vector<Tensor>{x, y, z, w})[0];
}

std::string Model::describe() const { return fmt::format("onnx::Model({} nodes)", program_->nodes.size()); }

}  // namespace minnow::onnx
