#pragma once

#include <protozero/pbf_reader.hpp>
#include <string>
#include <vector>
#include "tensor/io_support.h"

namespace minnow::test {

/// The fields of one number in a message that hold bytes.
inline std::vector<std::string> fields_of(const std::string& message, protozero::pbf_tag_type tag) {
  std::vector<std::string> found;
  protozero::pbf_reader reader(message);
  while (reader.next())
    if (reader.tag() == tag && reader.wire_type() == protozero::pbf_wire_type::length_delimited)
      found.push_back(reader.get_string());
    else reader.skip();
  return found;
}
inline std::string first_of(const std::string& message, protozero::pbf_tag_type tag) {
  const auto found = fields_of(message, tag);
  return found.empty() ? "" : found[0];
}

/// What a file of ONNX has.
struct ModelFile {
  explicit ModelFile(const std::string& path) : graph(first_of(read_bytes(path), 7)) {}

  /// "Gemm(input, fc.weight) Relu(...)", of the nodes; without the inputs if not `inputs`.
  std::string nodes(bool inputs = true) const {
    std::string text;
    for (const std::string& node : fields_of(graph, 1)) {
      text += (text.empty() ? "" : " ") + first_of(node, 4);
      if (!inputs) continue;
      text += "(";
      for (const std::string& name : fields_of(node, 1)) text += (text.back() == '(' ? "" : ", ") + name;
      text += ")";
    }
    return text;
  }
  std::vector<std::string> weights() const {
    std::vector<std::string> names;
    for (const std::string& weight : fields_of(graph, 5)) names.push_back(first_of(weight, 8));
    return names;
  }
  /// "input[batch, 4]" of inputs (11) or outputs (12).
  std::vector<std::string> ports(protozero::pbf_tag_type tag) const {
    std::vector<std::string> found;
    for (const std::string& port : fields_of(graph, tag)) {
      std::string text = first_of(port, 1) + "[";
      for (const std::string& dim : fields_of(first_of(first_of(first_of(port, 2), 1), 2), 1)) {
        protozero::pbf_reader reader(dim);
        std::string size = "?";
        while (reader.next()) size = reader.tag() == 1 ? std::to_string(reader.get_int64()) : reader.get_string();
        text += (text.back() == '[' ? "" : ", ") + size;
      }
      found.push_back(text + "]");
    }
    return found;
  }

  std::string graph;
};

}  // namespace minnow::test
