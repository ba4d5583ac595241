#include <minnow/tensor/io/state_dict.h>

#include <algorithm>
#include <minnow/tensor/error.h>
#include <minnow/tensor/internal.h>
#include <minnow/tensor/raw/copy.h>

namespace minnow {

const Tensor* StateDict::find(std::string_view name) const {
  const auto place = index_.find(name);
  return place == index_.end() ? nullptr : &items_[place->second].second;
}

const Tensor& StateDict::at(std::string_view name, SourceLocation where) const {
  if (const Tensor* tensor = find(name)) return *tensor;
  constexpr std::size_t kShown = 10;
  std::string text = "StateDict: no tensor is named '" + std::string(name) + "'\n  there are";
  for (std::size_t i = 0; i < std::min(size(), kShown); ++i) text += (i ? ", '" : "  '") + items_[i].first + "'";
  if (empty()) text += "  none";
  if (size() > kShown) text += " and " + std::to_string(size() - kShown) + " more";
  throw IndexError(text + "\nuse one of these names, or find(), which returns nullptr", where);
}

Tensor& StateDict::operator[](std::string_view name) {
  const auto place = index_.find(name);
  if (place != index_.end()) return items_[place->second].second;
  items_.emplace_back(std::string(name), Tensor());
  try {
    index_.emplace(std::string(name), items_.size() - 1);
  } catch (...) {
    items_.pop_back();
    throw;
  }
  return items_.back().second;
}

bool StateDict::erase(std::string_view name) {
  const auto place = index_.find(name);
  if (place == index_.end()) return false;
  const std::size_t gone = place->second;
  index_.erase(place);
  items_.erase(items_.begin() + static_cast<std::ptrdiff_t>(gone));
  for (auto& [key, index] : index_)
    if (index > gone) --index;
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
