#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>
#include <minnow/minnow.h>

/// What the sources that sweep.py writes from its table share with the program that answers it.
namespace sweep {

using minnow::DType;
using minnow::Shape;
using minnow::Tensor;
using Tensors = std::vector<Tensor>;
using Numbers = std::vector<std::int64_t>;

/// The inputs of a function, in the order of the table, its numbers, and the dtype of the row.
struct Inputs {
  Tensors tensors;
  Numbers numbers;
  DType dtype = DType::float32;
};

/// A function with its inputs: `step` is timed.  `layer`: its module, if it has one.
struct Prepared {
  std::function<Tensors()> step;
  std::shared_ptr<minnow::nn::Module> layer{};
};

struct Function {
  const char* name;
  Prepared (*prepare)(const Inputs&);
};

/// The functions of a source that is written.
std::vector<std::span<const Function>> all_functions();

template <class T>
concept Three = requires {
  T{Tensor(), Tensor(), Tensor()};
};

inline void append(Tensors& out, const Tensor& x) {
  if (x.defined()) out.push_back(x);
}
inline void append(Tensors& out, const Tensors& list) { out.insert(out.end(), list.begin(), list.end()); }
inline void append(Tensors& out, bool value) { out.push_back(minnow::full({}, value)); }
inline void append(Tensors& out, const minnow::nn::PackedSequence& x) { out.push_back(x.padded); }
template <class... T> void append(Tensors& out, const std::tuple<T...>& values) {
  std::apply([&](const auto&... value) { (append(out, value), ...); }, values);
}
template <class T>
requires std::is_aggregate_v<T>
void append(Tensors& out, const T& values) {
  if constexpr (Three<T>) {
    const auto& [a, b, c] = values;
    for (const Tensor& x : {a, b, c}) append(out, x);
  } else {
    const auto& [a, b] = values;
    for (const Tensor& x : {a, b}) append(out, x);
  }
}

/// All tensors of a result.
template <class T> Tensors outputs(const T& result) {
  Tensors out;
  if constexpr (std::is_convertible_v<const T&, Tensor>) append(out, Tensor(result));
  else append(out, result);
  return out;
}

}  // namespace sweep
