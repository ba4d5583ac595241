#include <minnow/tensor/io/state_dict.h>

#include <algorithm>
#include <iterator>
#include <minnow/tensor/error.h>
#include <minnow/tensor/internal.h>
#include <minnow/tensor/raw/copy.h>

namespace minnow {

const Tensor* StateDict::find(std::string_view name) const {
  const auto place = index_.find(name);
  return place == index_.end() ? nullptr : &place->second->second;
}

const Tensor& StateDict::at(std::string_view name, SourceLocation where) const {
  if (const Tensor* tensor = find(name)) return *tensor;
  constexpr std::size_t kShown = 10;
  std::string text = "StateDict: no tensor is named '" + std::string(name) + "'\n  there are";
  auto item = items_.begin();
  for (std::size_t i = 0; i < std::min(size(), kShown); ++i, ++item) text += (i ? ", '" : "  '") + item->first + "'";
  if (empty()) text += "  none";
  if (size() > kShown) text += " and " + std::to_string(size() - kShown) + " more";
  throw IndexError(text + "\nuse one of these names, or find(), which returns nullptr", where);
}

Tensor& StateDict::operator[](std::string_view name) {
  const auto place = index_.find(name);
  if (place != index_.end()) return place->second->second;
  items_.emplace_back(std::string(name), Tensor());
  try {
    index_.emplace(items_.back().first, std::prev(items_.end()));
  } catch (...) {
    items_.pop_back();
    throw;
  }
  return items_.back().second;
}

bool StateDict::erase(std::string_view name) {
  const auto place = index_.find(name);
  if (place == index_.end()) return false;
  const auto item = place->second;
  index_.erase(place);
  items_.erase(item);
  return true;
}

StateDict StateDict::clone(SourceLocation where) const {
  const detail::CallSite site("StateDict::clone", where);
  StateDict copy;
  for (const auto& [name, tensor] : items_)
    copy.set(name, tensor.defined() ? detail::raw::clone({tensor, where}) : Tensor());
  return copy;
}

}  // namespace minnow
