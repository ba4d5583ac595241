#pragma once

#include <initializer_list>
#include <minnow/nn/functional.h>

namespace minnow::nn {

namespace detail {

/// What a container takes: a module, or a function of a tensor.
template <class M>
concept Layer = std::derived_from<M, Module> || TensorFunction<std::decay_t<M>>;

}  // namespace detail

/// A module of any type.  A function becomes a Functional.
class AnyModule {
 public:
  template <std::derived_from<Module> M>
  AnyModule(const M& module) : child_{"", std::make_shared<M>(module), &detail::copy_as<M>} {}
  template <class F>
  requires detail::TensorFunction<F> AnyModule(F function) : AnyModule(Functional(std::move(function))) {}

 private:
  friend class ModuleList;
  detail::Child child_;
};

/// {"conv1", nn::Conv2d(1, 32, 3)}
struct Named {
  std::string name;
  AnyModule module;
};

/// Modules in order, named "0", "1", ... or by names that are given.  It has no forward(): call its modules.
class ModuleList : public Module {
 public:
  ModuleList() { hold_children(); }
  template <class... M>
  requires(sizeof...(M) > 0 && (detail::Layer<M> && ...)) explicit ModuleList(const M&... modules) : ModuleList() {
    (push_back(modules), ...);
  }
  template <class... M>
  requires(sizeof...(M) > 0 && !(detail::Layer<M> && ...)) explicit ModuleList(const M&...) {
    static_assert(detail::kNever<M...>, "nn::ModuleList takes modules, and functions of one tensor that return one");
  }
  ModuleList(std::initializer_list<Named> modules, SourceLocation where = SourceLocation::current());

  /// Adds a module; its name is its index.
  void push_back(const AnyModule& module, SourceLocation where = SourceLocation::current());
  /// Adds a module under a name.
  void push_back(Named module, SourceLocation where = SourceLocation::current());

  std::int64_t size() const { return static_cast<std::int64_t>(children().size()); }
  bool empty() const { return children().empty(); }
  /// The argument of list[i], with the user's line.
  struct Index {
    Index(std::int64_t i, SourceLocation l = SourceLocation::current()) : value(i), where(l) {}

    std::int64_t value;
    SourceLocation where;
  };
  /// The module at an index; negative counts from the end.  IndexError.
  Module& operator[](Index i) const { return at(i.value, i.where); }
  Module& at(std::int64_t i, SourceLocation where = SourceLocation::current()) const;
  /// The same as an M.  ValueError when it is of another type.
  template <std::derived_from<Module> M>
  M& get(std::int64_t i, SourceLocation where = SourceLocation::current()) const {
    Module& module = at(i, where);
    if (auto* typed = dynamic_cast<M*>(&module)) return *typed;
    refuse_type(i, module, typeid(M), where);
  }

  class Iterator {
   public:
    explicit Iterator(std::vector<detail::Child>::const_iterator it) : it_(it) {}
    Module& operator*() const { return *it_->module; }
    Iterator& operator++() { return ++it_, *this; }
    bool operator==(const Iterator&) const = default;

   private:
    std::vector<detail::Child>::const_iterator it_;
  };
  Iterator begin() const { return Iterator(children().begin()); }
  Iterator end() const { return Iterator(children().end()); }

  std::string describe() const override { return "ModuleList"; }

 private:
  [[noreturn]] static void refuse_type(std::int64_t i, const Module& module, const std::type_info& type,
                                       SourceLocation where);
};

/// Modules and functions one after the other: y = m_n(... m_1(x)).  Each is called with one tensor.
///
///     nn::Sequential net(nn::Linear(3, 4), relu, [](const Tensor& x) { return x * 2; });
///     nn::Sequential net(nn::Flatten(), nn::Linear(784, 128), nn::ReLU(), nn::Linear(128, 10));
///     nn::Sequential net{{"hidden", nn::Linear(784, 128)}, {"act", nn::ReLU()}, {"out", nn::Linear(128, 10)}};
class Sequential : public ModuleList {
 public:
  Sequential() = default;
  template <class... M>
  requires(sizeof...(M) > 0 && (detail::Layer<M> && ...)) explicit Sequential(const M&... modules) : ModuleList() {
    (push_back(modules), ...);
  }
  template <class... M>
  requires(sizeof...(M) > 0 && !(detail::Layer<M> && ...)) explicit Sequential(const M&...) {
    static_assert(detail::kNever<M...>, "nn::Sequential takes modules, and functions of one tensor that return one");
  }
  Sequential(std::initializer_list<Named> modules, SourceLocation where = SourceLocation::current())
      : ModuleList(modules, where) {}

  Tensor forward(const Tensor& x) override;
  std::string describe() const override { return "Sequential"; }
};

}  // namespace minnow::nn
