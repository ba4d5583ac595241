#include <minnow/nn/activation.h>

#include <fmt/format.h>

namespace minnow::nn::detail {

std::string call_text(std::string_view name, std::initializer_list<double> numbers) {
  std::string text(name);
  for (const double* n = numbers.begin(); n != numbers.end(); ++n)
    text += fmt::format("{}{}", n == numbers.begin() ? "(" : ", ", *n);
  return numbers.size() ? text + ")" : text;
}

}  // namespace minnow::nn::detail
