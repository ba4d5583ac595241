#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>
#include <minnow/tensor/tensor.h>

namespace minnow::onnx::detail {

using FileAttribute = std::variant<std::int64_t, double, std::string, std::vector<std::int64_t>, std::vector<double>,
                                   std::vector<std::string>, Tensor>;

struct FileNode {
  std::string op, name;
  std::vector<std::string> inputs, outputs;
  std::map<std::string, FileAttribute> attributes;
};

/// What a file says of an input.
struct FilePort {
  std::string name;
  std::optional<DType> dtype;
  std::optional<std::vector<std::string>> shape;  ///< numbers, and names or "?" of sizes that are left open
};

/// A model as its file has it.
struct FileModel {
  std::int64_t opset = 0;
  std::vector<FileNode> nodes;
  std::vector<std::pair<std::string, Tensor>> weights;
  std::vector<FilePort> inputs;  ///< without the weights that are listed there
  std::vector<std::string> outputs;
};

/// The dtype of a DataType of ONNX, if Tensor has it.
std::optional<DType> dtype_of(std::int64_t data_type);

/// FormatError for what is no model of ONNX, and for weights whose bytes are not there; IoError.
FileModel read(const std::string& path, SourceLocation where);

}  // namespace minnow::onnx::detail
