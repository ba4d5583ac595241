#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>
#include <minnow/onnx/detail/file.h>

namespace minnow::onnx::detail {

/// A node of a loaded model while it is computed.
class Step {
 public:
  Step(const FileNode& node, std::int64_t version, std::span<const Tensor> in, bool trains)
      : opset(version), training(trains), node_(node), in_(in) {}

  const std::int64_t opset;
  const bool training;

  std::size_t count() const { return in_.size(); }
  std::size_t outputs() const { return node_.outputs.size(); }
  bool has(std::size_t i) const { return i < in_.size() && in_[i].defined(); }
  /// FormatError if it is left out.
  const Tensor& x(std::size_t i) const;
  Tensor optional(std::size_t i) const { return has(i) ? in_[i] : Tensor(); }
  /// An input of integers.
  std::vector<std::int64_t> integers(std::size_t i) const;
  /// All inputs, on the device of those that are not on the host, where sizes are computed.
  std::vector<Tensor> together() const;

  bool has(const char* attribute) const { return node_.attributes.count(attribute) != 0; }
  std::int64_t integer(const char* attribute, std::int64_t otherwise) const;
  double number(const char* attribute, double otherwise) const;
  std::string text(const char* attribute, const std::string& otherwise) const;
  std::vector<std::int64_t> list(const char* attribute, std::vector<std::int64_t> otherwise) const;
  /// FormatError if there is none.
  Tensor tensor(const char* attribute) const;
  const FileNode& node() const { return node_; }

  /// A dimension, counted from the front.
  int dim(std::int64_t given, int rank) const;

  [[noreturn]] void refuse(const std::string& why) const;

 private:
  template <class T> T attribute(const char* name, T otherwise) const;

  const FileNode& node_;
  std::span<const Tensor> in_;
};

/// Computes an operator of ONNX.
struct Kernel {
  std::string_view op;
  std::vector<Tensor> (*compute)(const Step& step);
};

std::span<const Kernel> elementwise_kernels();
std::span<const Kernel> shape_kernels();
std::span<const Kernel> layer_kernels();

/// nullptr if there is none.
const Kernel* find_kernel(std::string_view op);

}  // namespace minnow::onnx::detail
