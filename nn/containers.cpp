#include <minnow/nn/containers.h>

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
  detail::Child child = module.module.child_;
  child.name = std::move(module.name);
  register_child(std::move(child), where);
}

Module& ModuleList::at(std::int64_t i, SourceLocation where) const {
  const std::int64_t n = size();
  if (i < -n || i >= n)
    throw IndexError(describe() + ": index " + std::to_string(i) + " is out of range, it holds " + std::to_string(n) +
                         " modules" +
                         (n ? "\nindices go from " + std::to_string(-n) + " to " + std::to_string(n - 1)
                            : "\nadd modules by push_back()"),
                     where);
  return *children()[static_cast<std::size_t>(i < 0 ? i + n : i)].module;
}

void ModuleList::refuse_type(std::int64_t i, const Module& module, const std::type_info& type, SourceLocation where) {
  throw ValueError("get: module " + std::to_string(i) + " is " + module.describe() + ", not a " +
                       detail::class_name(type) + "\ncall get() with the type of the module",
                   where);
}

Tensor Sequential::forward(const Tensor& x) {
  const CallSite site = called();
  Tensor y = x;
  for (Module& module : *this) y = module(y);
  return y;
}

}  // namespace minnow::nn
