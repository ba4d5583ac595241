#pragma once

#include <cstdint>
#include <initializer_list>
#include <span>
#include <string_view>
#include <variant>
#include <vector>
#include <minnow/tensor/backend/dispatch.h>
#include <minnow/tensor/runtime/calling_thread.h>

namespace minnow::detail {

/// An argument of a function that is not a tensor.
struct Argument {
  const char* name;
  std::variant<bool, std::int64_t, double, std::string_view, std::vector<std::int64_t>, std::vector<double>> value;
};

/// What a function has computed: that of a name without a `_` at its end from operands, into results; with one, its
/// first operand was overwritten, which is the result.  It refers to what it was told.
struct Told {
  const char* function;
  std::span<const Tensor> results;
  Operands operands;
  std::span<const Argument> arguments;
};

/// Whether an observer listens: tell() is called only then, so that nothing is built for nobody.
inline bool is_heard() noexcept { return calling_thread.observer != nullptr; }

/// Tells the thread's CallObserver.  A public function that computes, or that returns a view, ends with it:
///
///     if (is_heard()) [[unlikely]]
///       tell("softmax", {y}, {{"x", x}}, {{"dim", dim}});
///
/// A function that is made of others, which tell, need not.
[[gnu::cold]] void tell(const char* function, std::initializer_list<Tensor> results, Operands operands,
                        std::initializer_list<Argument> arguments = {});
/// The same with any number of operands.
[[gnu::cold]] void tell(const char* function, const Tensor& result, const char* each, std::span<const Tensor> operands,
                        std::initializer_list<Argument> arguments);

/// A shape as an argument.
inline std::vector<std::int64_t> list_of(const Shape& shape) { return {shape.begin(), shape.end()}; }

}  // namespace minnow::detail
