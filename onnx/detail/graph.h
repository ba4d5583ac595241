#pragma once

#include <cstdint>
#include <initializer_list>
#include <map>
#include <string>
#include <unordered_set>
#include <utility>
#include <variant>
#include <vector>
#include <minnow/tensor/tensor.h>

namespace minnow::onnx::detail {

struct Attribute {
  std::string name;
  std::variant<std::int64_t, double, std::string, std::vector<std::int64_t>, std::vector<std::string>> value;
};

struct Node {
  std::string op, name;
  std::vector<std::string> inputs, outputs;  ///< "" for one that is left out
  std::vector<Attribute> attributes;
};

/// An input or output: a size is a number, or else a name, or else unknown.
struct Port {
  struct Size {
    std::int64_t number = -1;
    std::string name = {};
  };
  std::string name;
  DType dtype;
  std::vector<Size> shape;
};

/// The DataType of ONNX.  DTypeError if there is none.
std::int32_t data_type(DType dtype);

/// A GraphProto that grows.
class Graph {
 public:
  explicit Graph(int opset) : opset_(opset) {}

  int opset() const { return opset_; }
  /// How the names of what is added next begin.
  void set_scope(std::string scope) { scope_ = std::move(scope); }
  /// A name that nothing has yet, made of this one.
  std::string unique(const std::string& name);

  /// A node's outputs.
  std::vector<std::string> add_all(const std::string& op, std::vector<std::string> operands,
                                   std::vector<Attribute> attributes, std::size_t results);
  /// Its only output.
  std::string add(const std::string& op, std::vector<std::string> operands, std::vector<Attribute> attributes = {}) {
    return add_all(op, std::move(operands), std::move(attributes), 1)[0];
  }
  /// A weight, whose name is taken from now on.
  std::string weight(const std::string& name, const Tensor& value);
  /// A tensor without a name; small ones that are equal are one.
  std::string constant(const Tensor& value);
  /// A 0-dim number.
  std::string number(double value, DType dtype);
  /// int64 numbers, as a vector.
  std::string list(const std::vector<std::int64_t>& values);

  /// The size of a dimension, as a vector; one node for all who ask.
  std::string size(const std::string& value, std::int64_t dim);

  /// Gives a node's output another name.
  void rename(const std::string& from, const std::string& to);

  std::vector<Port> inputs, outputs;
  const std::vector<Node>& nodes() const { return nodes_; }
  const std::vector<std::pair<std::string, Tensor>>& weights() const { return weights_; }

 private:
  int opset_;
  std::string scope_;
  std::vector<Node> nodes_;
  std::vector<std::pair<std::string, Tensor>> weights_;
  std::map<std::string, std::string> small_;  ///< dtype, shape and bytes: the name
  std::map<std::pair<std::string, std::int64_t>, std::string> sizes_;
  std::unordered_set<std::string> names_;
};

/// The elements in row-major order, as bytes.
std::string bytes_of(const Tensor& value);

/// Writes a ModelProto, and PATH.data beside it if `external_data`, or if the weights are too large for one file.
void write(const Graph& graph, const std::string& path, bool external_data, SourceLocation where);

}  // namespace minnow::onnx::detail
