#include <minnow/onnx/detail/kernels.h>

#include <fmt/format.h>
#include <unordered_map>
#include <minnow/tensor/error.h>

namespace minnow::onnx::detail {

void Step::refuse(const std::string& why) const {
  const std::string name = node_.name.empty() ? (node_.outputs.empty() ? "" : node_.outputs[0]) : node_.name;
  throw FormatError(fmt::format("onnx::Model: node '{}' ({}): {}", name, node_.op, why));
}

const Tensor& Step::x(std::size_t i) const {
  if (!has(i)) refuse(fmt::format("input {} is left out\nit needs one", i));
  return in_[i];
}

std::vector<std::int64_t> Step::integers(std::size_t i) const {
  if (x(i).is_floating_point()) refuse(fmt::format("input {} must be of integers", i));
  return x(i).to_vector<std::int64_t>();
}

std::vector<Tensor> Step::together() const {
  Device device;
  for (const Tensor& t : in_)
    if (t.defined() && !t.device().is_cpu()) device = t.device();
  std::vector<Tensor> moved;
  for (const Tensor& t : in_) moved.push_back(t.defined() ? t.to(device) : t);
  return moved;
}

template <class T> T Step::attribute(const char* name, T otherwise) const {
  const auto found = node_.attributes.find(name);
  if (found == node_.attributes.end()) return otherwise;
  if (const T* value = std::get_if<T>(&found->second)) return *value;
  refuse(fmt::format("attribute '{}' has another type than ONNX says", name));
}

std::int64_t Step::integer(const char* name, std::int64_t otherwise) const { return attribute(name, otherwise); }
double Step::number(const char* name, double otherwise) const { return attribute(name, otherwise); }
std::string Step::text(const char* name, const std::string& otherwise) const { return attribute(name, otherwise); }
std::vector<std::int64_t> Step::list(const char* name, std::vector<std::int64_t> otherwise) const {
  return attribute(name, std::move(otherwise));
}
Tensor Step::tensor(const char* name) const {
  Tensor found = attribute(name, Tensor());
  if (!found.defined()) refuse(fmt::format("attribute '{}' is missing", name));
  return found;
}

int Step::dim(std::int64_t given, int rank) const {
  if (given < -rank || given >= rank) refuse(fmt::format("dimension {} of {} does not exist", given, rank));
  return static_cast<int>(given < 0 ? given + rank : given);
}

const Kernel* find_kernel(std::string_view op) {
  static const std::unordered_map<std::string_view, const Kernel*> all = [] {
    std::unordered_map<std::string_view, const Kernel*> found;
    for (const std::span<const Kernel> family : {elementwise_kernels(), shape_kernels(), layer_kernels()})
      for (const Kernel& kernel : family) found.emplace(kernel.op, &kernel);
    return found;
  }();
  const auto at = all.find(op);
  return at == all.end() ? nullptr : at->second;
}

}  // namespace minnow::onnx::detail
