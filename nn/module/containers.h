#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>
#include <minnow/nn/module/functional.h>

namespace minnow::nn {

namespace detail {

/// What a container takes: a module, or a function of a tensor.
template <class M>
concept Layer = std::derived_from<M, Module> || TensorFunction<std::decay_t<M>>;

/// The argument of dict["name"], with the user's line.  (A template, which does not take the 0 of list[0].)
struct Key {
  template <std::convertible_to<std::string_view> S>
  Key(const S& n, SourceLocation l = SourceLocation::current()) : name(std::string_view(n)), where(l) {}

  std::string name;
  SourceLocation where;
};

}  // namespace detail

/// A module of any type.  A function becomes a Functional.
class AnyModule {
 public:
  template <std::derived_from<Module> M>
  AnyModule(const M& module) : child_{"", std::make_shared<M>(module), &detail::copy_as<M>} {}
  template <class F>
  requires detail::TensorFunction<F> AnyModule(F function) : AnyModule(Functional(std::move(function))) {}

 private:
  friend class ModuleDict;
  friend class ModuleList;
  /// As a child of this name.
  detail::Child named(std::string name) const { return {std::move(name), child_.module, child_.copy}; }

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

  /// Puts a module of any type in the place of the one at an index, or of a name, which it keeps.  Handles of the
  /// former module stay theirs; references to it end.  IndexError; ValueError if the module contains this.
  void replace(std::int64_t i, const AnyModule& module, SourceLocation where = SourceLocation::current());
  void replace(std::string_view name, const AnyModule& module, SourceLocation where = SourceLocation::current());

  std::int64_t size() const { return static_cast<std::int64_t>(children().size()); }
  bool empty() const { return children().empty(); }
  /// The argument of list[i], with the user's line.
  struct Index {
    Index(std::int64_t i, SourceLocation l = SourceLocation::current()) : value(i), where(l) {}

    std::int64_t value;
    SourceLocation where;
  };
  using Key = detail::Key;
  /// The module at an index; negative counts from the end.  IndexError.
  Module& operator[](Index i) const { return at(i.value, i.where); }
  Module& at(std::int64_t i, SourceLocation where = SourceLocation::current()) const;
  /// The module of a name: net["conv1"].  IndexError, which lists the names.
  Module& operator[](const Key& key) const { return at(key.name, key.where); }
  Module& at(std::string_view name, SourceLocation where = SourceLocation::current()) const;
  /// The same as an M: net.get<nn::Linear>(0), net.get<nn::Linear>("fc").  ValueError when it is of another type.
  template <std::derived_from<Module> M>
  M& get(std::int64_t i, SourceLocation where = SourceLocation::current()) const {
    return detail::module_as<M>(at(i, where), "get", std::to_string(i), where);
  }
  template <std::derived_from<Module> M>
  M& get(std::string_view name, SourceLocation where = SourceLocation::current()) const {
    return detail::module_as<M>(at(name, where), "get", name, where);
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
  const detail::Child& child_at(std::int64_t i, SourceLocation where) const;
};

/// Modules by name.  It has no forward(): call its modules.
///
///     nn::ModuleDict heads{{"mean", nn::Linear(8, 2)}, {"variance", nn::Linear(8, 2)}};
///     Tensor y = heads["mean"](x);
class ModuleDict : public Module {
 public:
  ModuleDict() { hold_children(); }
  ModuleDict(std::initializer_list<Named> modules, SourceLocation where = SourceLocation::current());

  /// ValueError for a name that is empty, has a dot or is in use.
  void insert(std::string name, const AnyModule& module, SourceLocation where = SourceLocation::current());
  /// Puts a module of any type in the place of the one of a name, as ModuleList::replace().
  void replace(std::string_view name, const AnyModule& module, SourceLocation where = SourceLocation::current());
  std::int64_t size() const { return static_cast<std::int64_t>(children().size()); }
  bool empty() const { return children().empty(); }
  bool contains(std::string_view name) const;
  /// In the order of insertion; children of all names are named_children().
  std::vector<std::string> keys() const;
  using Key = detail::Key;
  /// IndexError, which lists the names.
  Module& operator[](const Key& key) const { return at(key.name, key.where); }
  Module& at(std::string_view name, SourceLocation where = SourceLocation::current()) const;
  /// The same as an M.  ValueError when it is of another type.
  template <std::derived_from<Module> M>
  M& get(std::string_view name, SourceLocation where = SourceLocation::current()) const {
    return detail::module_as<M>(at(name, where), "get", name, where);
  }

  std::string describe() const override { return "ModuleDict"; }
};

/// Parameters in order, named "0", "1", ...: nn::ParameterList weights({zeros({2}), ones({3})}).
class ParameterList : public Module {
 public:
  ParameterList() { hold_children(); }
  explicit ParameterList(const std::vector<Tensor>& values, SourceLocation where = SourceLocation::current());

  /// Errors as for Module::parameter().
  void push_back(const Tensor& value, SourceLocation where = SourceLocation::current());
  std::int64_t size() const;
  bool empty() const { return size() == 0; }
  /// The parameter at an index; negative counts from the end.  IndexError.
  Tensor operator[](ModuleList::Index i) const { return at(i.value, i.where); }
  Tensor at(std::int64_t i, SourceLocation where = SourceLocation::current()) const;
  /// All of them, to iterate over.
  std::vector<Tensor> values() const { return parameters(); }

  std::string describe() const override;
};

/// Parameters by name: nn::ParameterDict p({{"scale", ones({3})}}).
class ParameterDict : public Module {
 public:
  ParameterDict() { hold_children(); }
  explicit ParameterDict(const std::vector<NamedTensor>& values, SourceLocation where = SourceLocation::current());

  /// Errors as for Module::parameter().
  void insert(std::string name, const Tensor& value, SourceLocation where = SourceLocation::current());
  std::int64_t size() const;
  bool empty() const { return size() == 0; }
  bool contains(std::string_view name) const;
  std::vector<std::string> keys() const;
  /// IndexError, which lists the names.
  Tensor operator[](const ModuleDict::Key& key) const { return at(key.name, key.where); }
  Tensor at(std::string_view name, SourceLocation where = SourceLocation::current()) const;

  std::string describe() const override;
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
