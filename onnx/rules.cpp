#include <minnow/onnx/detail/rules.h>

#include <unordered_map>

namespace minnow::onnx::detail {

const Rule* find_rule(std::string_view function) {
  static const std::unordered_map<std::string_view, const Rule*> all = [] {
    std::unordered_map<std::string_view, const Rule*> found;
    for (const std::span<const Rule> family : {elementwise_rules(), shape_rules(), product_rules(), image_rules(),
                                               norm_rules(), reduction_rules(), recurrent_rules()})
      for (const Rule& rule : family) found.emplace(rule.function, &rule);
    return found;
  }();
  const auto at = all.find(function);
  return at == all.end() ? nullptr : at->second;
}

bool has_rule(std::string_view function) { return find_rule(function) != nullptr; }

}  // namespace minnow::onnx::detail
