#include <minnow/ops/detail/extents.h>

namespace minnow::detail {
namespace {

std::string joined(const Extents& e, const char* separator) {
  std::string text;
  for (const std::int64_t n : e) {
    if (!text.empty()) text += separator;
    text += std::to_string(n);
  }
  return text;
}

}  // namespace

std::string Extents::str() const {
  if (dims == 1) return std::to_string(size[0]);
  std::string text = "{";
  text += joined(*this, ", ");
  text += '}';
  return text;
}

std::string Extents::short_str() const { return all_equal(size[0]) ? std::to_string(size[0]) : joined(*this, "x"); }

}  // namespace minnow::detail
