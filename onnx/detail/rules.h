#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace minnow::onnx::detail {

class Call;

/// Exports a call of a function.
struct Rule {
  std::string_view function;
  void (*emit)(Call& call, const char* op);
  const char* op = nullptr;  ///< the operator of ONNX, for rules that differ in it alone
};

/// x, then what linear() and conv2d() apply to it (Activation, as a number).
std::string activated(Call& call, const std::string& x, std::int64_t activation);

// By families.
std::span<const Rule> elementwise_rules();
std::span<const Rule> shape_rules();
std::span<const Rule> product_rules();
std::span<const Rule> image_rules();
std::span<const Rule> norm_rules();
std::span<const Rule> reduction_rules();
std::span<const Rule> recurrent_rules();

bool has_rule(std::string_view function);
/// nullptr if there is none.
const Rule* find_rule(std::string_view function);

}  // namespace minnow::onnx::detail
