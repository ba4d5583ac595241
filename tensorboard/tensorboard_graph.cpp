#include <minnow/tensorboard/tensorboard.h>

#include <algorithm>
#include <cstddef>
#include <map>
#include <set>
#include <span>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <minnow/autograd/node.h>
#include <minnow/nn/detail/access.h>
#include <minnow/nn/detail/observed_call.h>
#include <minnow/tensor/error.h>
#include <minnow/tensor/internal.h>
#include <minnow/tensorboard/detail/event.h>

namespace minnow::tensorboard {
namespace {

using nn::detail::Access, protozero::pbf_writer;

/// What makes a tensor: an output of a node of autograd, a leaf, or else the tensor itself.
using Origin = std::pair<const void*, std::uint32_t>;
Origin origin_of(const Tensor& x) {
  const auto& slot = x.slot();
  if (slot && slot->producer) return {slot->producer.get(), slot->output};
  if (slot && slot->requires_grad) return {slot.get(), 0};
  return {x.handle().get(), 0};
}

struct GraphNode {
  std::string name, op, module;
  std::set<std::size_t> inputs{};
  std::vector<Shape> shapes{};
};

std::string class_of(const nn::Module& module) {
  const std::string text = module.describe();
  return text.substr(0, text.find('('));
}

/// Writes down the calls of a model's modules.
class GraphRecorder {
 public:
  GraphRecorder(const nn::Module& model, bool through_inputs, SourceLocation where) {
    const auto parameters = model.parameters();
    records_inputs_ = through_inputs && std::any_of(parameters.begin(), parameters.end(),
                                                    [](const Tensor& p) { return p.requires_grad(); });
    std::unordered_map<std::string, std::string> names;
    for (const auto& [path, module] : model.named_modules()) {
      const std::size_t dot = path.rfind('.');
      const std::string parent = dot == std::string::npos ? "" : path.substr(0, dot);
      names[path] =
          path.empty() ? class_of(module) : names[parent] + "/" + class_of(module) + "[" + path.substr(dot + 1) + "]";
      detail::require_utf8("add_graph", names[path], where);
      names_[&Access::state(module)] = names[path];
    }
  }

  void begin(const nn::ForwardPreCall& call) {
    if (!open_.empty()) open_.back().calls_others = true;
    for (Tensor& x : open_.empty() ? call.inputs : std::span<Tensor>()) {
      // So that operations on the input itself are recorded; a copy, as forward may write to it.
      if (x.defined() && x.is_floating_point() && !x.requires_grad())
        x = x.detach().requires_grad_(records_inputs_).clone();
      add_node({unique("input"), "IO Node", ""}, {&x, 1});
    }
    open_.push_back({origins_of(call.inputs)});
  }
  void end(const nn::ForwardCall& call) {
    Open done = std::move(open_.back());
    open_.pop_back();
    if (!done.calls_others) {
      const std::string name = names_.at(&Access::state(call.module));
      add_node({unique(name), class_of(call.module), call.module.describe(), std::move(done.inputs)}, call.outputs);
    }
    if (!open_.empty()) return;
    for (const Tensor& y : call.outputs)
      nodes_.push_back({unique("output"), "IO Node", "", origins_of({&y, 1}), {shape_of(y)}});
  }

  /// GraphDef.
  std::string bytes() const {
    std::string out;
    pbf_writer graph(out);
    for (const GraphNode& node : nodes_) {
      pbf_writer to(graph, 1);
      to.add_string(1, node.name);
      to.add_string(2, node.op);
      for (const std::size_t input : node.inputs) to.add_string(3, nodes_[input].name);
      add_attribute(to, "_output_shapes", [&](pbf_writer& value) {
        pbf_writer list(value, 1);
        for (const Shape& shape : node.shapes) {
          std::string sizes;  // may be empty, which a nested writer would leave out
          pbf_writer dims(sizes);
          for (const std::int64_t size : shape) pbf_writer(dims, 2).add_int64(1, size);
          list.add_message(7, sizes);
        }
      });
      if (!node.module.empty())
        add_attribute(to, "module", [&](pbf_writer& value) { value.add_bytes(2, node.module); });
    }
    pbf_writer(graph, 4).add_int32(1, 22);  // the version of a GraphDef's producer, as PyTorch writes it
    return out;
  }

 private:
  struct Open {
    std::set<std::size_t> inputs{};
    bool calls_others = false;
  };

  static Shape shape_of(const Tensor& x) { return x.defined() ? x.shape() : Shape(); }

  template <class Fill> static void add_attribute(pbf_writer& node, const char* name, const Fill& fill) {
    pbf_writer entry(node, 5);
    entry.add_string(1, name);
    pbf_writer value(entry, 2);
    fill(value);
  }

  std::string unique(const std::string& name) {
    const int count = used_[name]++;
    return count == 0 ? name : name + "_" + std::to_string(count);
  }

  void add_node(GraphNode node, std::span<const Tensor> outputs) {
    for (const Tensor& y : outputs) {
      node.shapes.push_back(shape_of(y));
      if (!y.defined()) continue;
      made_[origin_of(y)] = nodes_.size();  // one that hands its input on is where it comes from
      kept_.push_back(y);
    }
    nodes_.push_back(std::move(node));
  }

  /// The nodes that the tensors come from, through operations that were recorded.
  std::set<std::size_t> origins_of(std::span<const Tensor> tensors) const {
    std::set<std::size_t> found;
    std::unordered_set<const void*> seen;
    std::vector<autograd::Node*> open;
    const auto visit = [&](const Origin& origin, autograd::Node* node) {
      const auto made = made_.find(origin);
      if (made != made_.end()) found.insert(made->second);
      else if (node && seen.insert(node).second) open.push_back(node);
    };
    for (const Tensor& x : tensors)
      if (x.defined()) visit(origin_of(x), x.slot() ? x.slot()->producer.get() : nullptr);
    while (!open.empty()) {
      autograd::Node* node = open.back();
      open.pop_back();
      for (const autograd::Edge& edge : node->edges())
        if (edge.node) visit({edge.node.get(), edge.output}, edge.node.get());
        else if (edge.leaf) visit({edge.leaf.get(), 0}, nullptr);
    }
    return found;
  }

  bool records_inputs_ = false;
  std::unordered_map<const nn::detail::State*, std::string> names_;
  std::unordered_map<std::string, int> used_;
  std::vector<GraphNode> nodes_;
  std::map<Origin, std::size_t> made_;
  std::vector<Tensor> kept_;  // or another tensor might come to the same place
  std::vector<Open> open_;
};

}  // namespace

void Writer::add_graph(const nn::Module& model, const In& example) {
  add_graph(
      model,
      [&] {
        (void)model({*example, example.where});
      },
      example.where);
}
void Writer::add_graph(const nn::Module& model, const std::function<void()>& call, SourceLocation where) {
  const auto record = [&](bool through_inputs) {
    GraphRecorder recorder(model, through_inputs, where);
    nn::detail::observe_calls(
        model, call, [&](const nn::ForwardPreCall& begun) { recorder.begin(begun); },
        [&](const nn::ForwardCall& done) { recorder.end(done); });
    return recorder.bytes();
  };
  std::string graph;
  try {
    graph = record(true);
  } catch (const AutogradError&) { graph = record(false); }  // it writes to a view of its input
  file(where).append(detail::event_of(0, [&](pbf_writer& event) { event.add_bytes(4, graph); }), where);
}

}  // namespace minnow::tensorboard
