#include <minnow/onnx/detail/graph.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <protozero/pbf_writer.hpp>
#include <span>
#include <minnow/tensor/create.h>
#include <minnow/tensor/error.h>
#include <minnow/tensor/io/file.h>

namespace minnow::onnx::detail {

using protozero::pbf_writer;

std::int32_t data_type(DType dtype) {
  switch (dtype) {
    case DType::float32: return 1;
    case DType::uint8: return 2;
    case DType::int8: return 3;
    case DType::int16: return 5;
    case DType::int32: return 6;
    case DType::int64: return 7;
    case DType::bool_: return 9;
    case DType::float16: return 10;
    case DType::float64: return 11;
    case DType::bfloat16: return 16;
  }
  throw DTypeError("onnx::save: ONNX has no dtype " + std::string(name_of(dtype)) + "\nconvert to float32");
}

std::string bytes_of(const Tensor& value) {
  const Tensor dense = value.detach().cpu().contiguous();
  std::string bytes(static_cast<std::size_t>(dense.nbytes()), '\0');
  if (!bytes.empty()) std::memcpy(bytes.data(), dense.raw_data(), bytes.size());
  return bytes;
}

std::string Graph::unique(const std::string& name) {
  std::string found = name;
  for (int i = 1; !names_.insert(found).second; ++i) found = name + "_" + std::to_string(i);
  return found;
}

std::vector<std::string> Graph::add_all(const std::string& op, std::vector<std::string> operands,
                                        std::vector<Attribute> attributes, std::size_t results) {
  Node node{op, unique((scope_.empty() ? "" : scope_ + "/") + op), std::move(operands), {}, std::move(attributes)};
  for (std::size_t i = 0; i < results; ++i) node.outputs.push_back(unique(node.name + "_output"));
  nodes_.push_back(std::move(node));
  return nodes_.back().outputs;
}

std::string Graph::weight(const std::string& name, const Tensor& value) {
  weights_.emplace_back(unique(name), value);
  return weights_.back().first;
}

std::string Graph::constant(const Tensor& value) {
  constexpr std::int64_t kSmall = 64;
  if (value.numel() > kSmall) return weight("constant", value);
  std::string& name = small_[std::string(name_of(value.dtype())) + value.shape().str() + bytes_of(value)];
  if (name.empty()) name = weight("constant", value.clone());
  return name;
}

std::string Graph::number(double value, DType dtype) { return constant(full({}, value, {dtype})); }

std::string Graph::list(const std::vector<std::int64_t>& values) { return constant(tensor(values)); }

std::string Graph::size(const std::string& value, std::int64_t dim) {
  std::string& name = sizes_[{value, dim}];
  if (name.empty()) name = add("Shape", {value}, {{"start", dim}, {"end", dim + 1}});
  return name;
}

void Graph::rename(const std::string& from, const std::string& to) {
  for (Node& node : nodes_) {
    std::replace(node.inputs.begin(), node.inputs.end(), from, to);
    std::replace(node.outputs.begin(), node.outputs.end(), from, to);
  }
}

namespace {

// The fields of messages by their numbers, as onnx.proto has them.

void write_attribute(pbf_writer& node, const Attribute& a) {
  enum Type : std::int32_t { kFloat = 1, kInt = 2, kString = 3, kInts = 7, kStrings = 8 };
  pbf_writer to(node, 5);
  to.add_string(1, a.name);
  if (const auto* number = std::get_if<double>(&a.value)) {
    to.add_float(2, static_cast<float>(*number));
    to.add_enum(20, kFloat);
  } else if (const auto* integer = std::get_if<std::int64_t>(&a.value)) {
    to.add_int64(3, *integer);
    to.add_enum(20, kInt);
  } else if (const auto* text = std::get_if<std::string>(&a.value)) {
    to.add_bytes(4, *text);
    to.add_enum(20, kString);
  } else if (const auto* integers = std::get_if<std::vector<std::int64_t>>(&a.value)) {
    for (const std::int64_t i : *integers) to.add_int64(8, i);
    to.add_enum(20, kInts);
  } else {
    for (const std::string& s : std::get<std::vector<std::string>>(a.value)) to.add_bytes(9, s);
    to.add_enum(20, kStrings);
  }
}

void write_port(pbf_writer& graph, std::uint32_t field, const Port& port) {
  pbf_writer to(graph, field);
  to.add_string(1, port.name);
  pbf_writer type(to, 2), tensor(type, 1);
  tensor.add_enum(1, data_type(port.dtype));
  std::string shape;  // a nested writer leaves an empty message out
  pbf_writer dims(shape);
  for (const Port::Size& size : port.shape) {
    std::string dim;
    if (size.number >= 0) pbf_writer(dim).add_int64(1, size.number);
    else if (!size.name.empty()) pbf_writer(dim).add_string(2, size.name);
    dims.add_message(1, dim);
  }
  tensor.add_message(2, shape);
}

/// The weights that are in another file, one behind the other.
class ExternalData {
 public:
  ExternalData(const std::string& path, SourceLocation where)
      : name_(std::filesystem::path(path + ".data").filename().string()), file_("onnx::save", path + ".data", where) {}

  void add(pbf_writer& tensor, const Tensor& value) {
    constexpr std::uint64_t kAlignment = 64;
    const std::string bytes = bytes_of(value), gap((kAlignment - size_ % kAlignment) % kAlignment, '\0');
    file_.write(std::as_bytes(std::span(gap)));
    file_.write(std::as_bytes(std::span(bytes)));
    size_ += gap.size();
    const std::pair<const char*, std::string> entries[] = {
        {"location", name_}, {"offset", std::to_string(size_)}, {"length", std::to_string(bytes.size())}};
    for (const auto& [key, text] : entries) {
      pbf_writer entry(tensor, 13);
      entry.add_string(1, key);
      entry.add_string(2, text);
    }
    tensor.add_enum(14, 1);  // EXTERNAL
    size_ += bytes.size();
  }
  void commit() { file_.commit(); }

 private:
  std::string name_;
  io::AtomicFile file_;
  std::uint64_t size_ = 0;
};

void write_weight(pbf_writer& graph, const std::string& name, const Tensor& value, ExternalData* external) {
  constexpr std::int64_t kFew = 1024;  // bytes that are not worth a place in another file
  pbf_writer to(graph, 5);
  for (const std::int64_t size : value.shape()) to.add_int64(1, size);
  to.add_enum(2, data_type(value.dtype()));
  to.add_string(8, name);
  if (external && value.nbytes() >= kFew) external->add(to, value);
  else to.add_bytes(9, bytes_of(value));
}

std::string model_of(const Graph& graph, ExternalData* external) {
  std::string bytes;
  pbf_writer model(bytes);
  constexpr int kNewIr = 23;
  model.add_int64(1, graph.opset() >= kNewIr ? 10 : 8);
  model.add_string(2, "minnow");
  {
    pbf_writer to(model, 7);
    for (const Node& node : graph.nodes()) {
      pbf_writer n(to, 1);
      for (const std::string& name : node.inputs) n.add_string(1, name);
      for (const std::string& name : node.outputs) n.add_string(2, name);
      n.add_string(3, node.name);
      n.add_string(4, node.op);
      for (const Attribute& a : node.attributes) write_attribute(n, a);
    }
    to.add_string(2, "main");
    for (const auto& [name, value] : graph.weights()) write_weight(to, name, value, external);
    for (const Port& port : graph.inputs) write_port(to, 11, port);
    for (const Port& port : graph.outputs) write_port(to, 12, port);
  }
  pbf_writer opset(model, 8);
  opset.add_string(1, "");
  opset.add_int64(2, graph.opset());
  return bytes;
}

}  // namespace

void write(const Graph& graph, const std::string& path, bool external_data, SourceLocation where) {
  constexpr std::int64_t kLargest = 0x7ff00000;  // a message has less than 2^31 bytes
  std::int64_t size = 0;
  for (const auto& [name, value] : graph.weights()) size += value.nbytes();
  std::optional<ExternalData> external;
  if (external_data || size > kLargest) external.emplace(path, where);
  const std::string bytes = model_of(graph, external ? &*external : nullptr);
  io::AtomicFile file("onnx::save", path, where);
  file.write(std::as_bytes(std::span(bytes)));
  if (external) external->commit();
  file.commit();
}

}  // namespace minnow::onnx::detail
