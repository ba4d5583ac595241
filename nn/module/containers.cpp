#include <minnow/nn/module/containers.h>

#include <algorithm>
#include <minnow/nn/detail/access.h>
#include <minnow/tensor/error.h>
#include <minnow/tensor/internal.h>

namespace minnow::nn {

ModuleList::ModuleList(std::initializer_list<Named> modules, SourceLocation where) : ModuleList() {
  for (const Named& named : modules) push_back(named, where);
}

void ModuleList::push_back(const AnyModule& module, SourceLocation where) {
  push_back(Named{std::to_string(size()), module}, where);
}

void ModuleList::push_back(Named module, SourceLocation where) {
  register_child(module.module.named(std::move(module.name)), where);
}

Module& ModuleList::at(std::int64_t i, SourceLocation where) const { return *child_at(i, where).module; }

const detail::Child& ModuleList::child_at(std::int64_t i, SourceLocation where) const {
  const std::int64_t n = size();
  if (i < -n || i >= n)
    throw IndexError(describe() + ": index " + std::to_string(i) + " is out of range, it holds " + std::to_string(n) +
                         " modules" +
                         (n ? "\nindices go from " + std::to_string(-n) + " to " + std::to_string(n - 1)
                            : "\nadd modules by push_back()"),
                     where);
  return children()[static_cast<std::size_t>(i < 0 ? i + n : i)];
}

void ModuleList::replace(std::int64_t i, const AnyModule& module, SourceLocation where) {
  replace_child(module.named(child_at(i, where).name), where);
}

namespace {

/// The item of a name.  IndexError, which lists the names.
template <class Item>
const Item& find(const Module& module, const std::vector<Item>& items, std::string_view name, const std::string& owner,
                 SourceLocation where) {
  if (const Item* item = detail::Access::state(module).find(items, std::string(name))) return *item;
  std::string names;
  for (const Item& item : items) names += (names.empty() ? "'" : ", '") + item.name + "'";
  throw IndexError(owner + ": there is no '" + std::string(name) + "'\n  names  " + (names.empty() ? "none" : names) +
                       "\nuse one of them, or add one",
                   where);
}

template <class Item> bool has(const Module& module, const std::vector<Item>& items, std::string_view name) {
  return detail::Access::state(module).find(items, std::string(name)) != nullptr;
}
template <class Item> std::vector<std::string> names_of(const std::vector<Item>& items) {
  std::vector<std::string> names;
  names.reserve(items.size());
  for (const Item& item : items) names.push_back(item.name);
  return names;
}

std::string list_text(const char* name, const std::vector<detail::Entry>& parameters) {
  std::string text;
  for (const detail::Entry& p : parameters) text += (text.empty() ? "" : ", ") + p.name + ": " + p.tensor.shape().str();
  return std::string(name) + "(" + text + ")";
}

}  // namespace

Module& ModuleList::at(std::string_view name, SourceLocation where) const {
  return *find(*this, children(), name, describe(), where).module;
}

void ModuleList::replace(std::string_view name, const AnyModule& module, SourceLocation where) {
  (void)at(name, where);  // IndexError
  replace_child(module.named(std::string(name)), where);
}

ModuleDict::ModuleDict(std::initializer_list<Named> modules, SourceLocation where) : ModuleDict() {
  for (const Named& named : modules) insert(named.name, named.module, where);
}
void ModuleDict::insert(std::string name, const AnyModule& module, SourceLocation where) {
  register_child(module.named(std::move(name)), where);
}
void ModuleDict::replace(std::string_view name, const AnyModule& module, SourceLocation where) {
  (void)at(name, where);  // IndexError
  replace_child(module.named(std::string(name)), where);
}
bool ModuleDict::contains(std::string_view name) const { return has(*this, children(), name); }
std::vector<std::string> ModuleDict::keys() const { return names_of(children()); }
Module& ModuleDict::at(std::string_view name, SourceLocation where) const {
  return *find(*this, children(), name, "ModuleDict", where).module;
}

ParameterList::ParameterList(const std::vector<Tensor>& values, SourceLocation where) : ParameterList() {
  for (const Tensor& value : values) push_back(value, where);
}
void ParameterList::push_back(const Tensor& value, SourceLocation where) {
  parameter(std::to_string(size()), value, where);
}
std::int64_t ParameterList::size() const { return std::ssize(detail::Access::state(*this).parameters); }
Tensor ParameterList::at(std::int64_t i, SourceLocation where) const {
  const auto& all = detail::Access::state(*this).parameters;
  const std::int64_t n = size();
  if (i < -n || i >= n)
    throw IndexError("ParameterList: index " + std::to_string(i) + " is out of range, it holds " + std::to_string(n) +
                         " parameters" +
                         (n ? "\nindices go from " + std::to_string(-n) + " to " + std::to_string(n - 1)
                            : "\nadd parameters by push_back()"),
                     where);
  return all[static_cast<std::size_t>(i < 0 ? i + n : i)].tensor;
}
std::string ParameterList::describe() const {
  return list_text("ParameterList", detail::Access::state(*this).parameters);
}

ParameterDict::ParameterDict(const std::vector<NamedTensor>& values, SourceLocation where) : ParameterDict() {
  for (const auto& [name, value] : values) insert(name, value, where);
}
void ParameterDict::insert(std::string name, const Tensor& value, SourceLocation where) {
  parameter(std::move(name), value, where);
}
std::int64_t ParameterDict::size() const { return std::ssize(detail::Access::state(*this).parameters); }
bool ParameterDict::contains(std::string_view name) const {
  return has(*this, detail::Access::state(*this).parameters, name);
}
std::vector<std::string> ParameterDict::keys() const { return names_of(detail::Access::state(*this).parameters); }
Tensor ParameterDict::at(std::string_view name, SourceLocation where) const {
  return find(*this, detail::Access::state(*this).parameters, name, "ParameterDict", where).tensor;
}
std::string ParameterDict::describe() const {
  return list_text("ParameterDict", detail::Access::state(*this).parameters);
}

Tensor Sequential::forward(const Tensor& x) {
  const CallSite site = called();
  Tensor y = x;
  for (const detail::Child& child : children()) y = (*child.module)(y);
  return y;
}

}  // namespace minnow::nn
