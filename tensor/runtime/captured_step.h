#pragma once

#include <algorithm>
#include <array>
#include <concepts>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>
#include <minnow/tensor/in.h>

namespace minnow {

namespace detail {
template <class T> inline constexpr bool kIsTupleOfTensors = false;
template <class... T>
inline constexpr bool kIsTupleOfTensors<std::tuple<T...>> = (std::is_convertible_v<T, Tensor> && ...);
template <class T, class U>
inline constexpr bool kIsTupleOfTensors<std::pair<T, U>> = kIsTupleOfTensors<std::tuple<T, U>>;
template <std::size_t N> inline constexpr bool kIsTupleOfTensors<std::array<Tensor, N>> = true;
}  // namespace detail

struct CapturedStepOptions {
  /// The device that the step computes on; best_device() by default.
  std::optional<Device> device = std::nullopt;
  /// Direct runs for each new combination of input shapes before one is captured: they choose algorithms, make the
  /// optimizer's state and fill the memory caches.
  int warm_up = 3;
  /// The number of combinations of input shapes that are captured; others run directly.
  int max_captures = 8;
};

/// A training step that is captured once and then replayed as one unit on a GPU, a CUDA graph: a small network is bound
/// by the launches of its kernels there.  On the CPU and on sim each call calls the function, and refuses what cannot
/// be captured on a GPU, so that a step that runs there runs on a GPU.
///
///     CapturedStep step([&](const Tensor& images, const Tensor& labels) {
///       const Tensor loss = nn::cross_entropy(net(images), labels);
///       adam.zero_grad();
///       loss.backward();
///       adam.step();
///       return loss;
///     }, {.device = device});
///     for (auto& [images, labels] : loader) Tensor loss = step(images, labels);
///
/// Each call runs the step once: on a GPU the first `warm_up` calls run directly, the next is captured and replayed,
/// later ones are replayed.  The results are those of the same calls without capture.  Inputs (up to four, on any
/// device) are copied to memory of the step's device, which the step may write, and have no gradients: parameters are
/// trained.  Each combination of shapes and dtypes has its own capture.  The result is the tensor that the function
/// returned (undefined for void), or, of a tuple, pair, array or vector of tensors, its first one; results() gives all:
///
///     auto [loss, logits] = step.results<2>(images, labels);
///
/// This is the only way out.  What the function assigns to a variable outside is that of the last capture: replays for
/// batches of another size write to other memory and leave the variable as it is.  On a GPU the next run overwrites
/// results, as it does gradients, and backward of what was computed with a result or a gradient before is an
/// AutogradError then; elsewhere each run makes others.  Rely on neither: clone() keeps a result, item() its number.
///
/// A replay does not run the function: what it does on the host (branches, printing, counters) happens only in the
/// runs before, and every tensor that it reads must be an input or stay the same tensor.  Learning rates, step counts
/// of optimizers and random numbers advance in replays; optimizers and generators must outlive the step.  Schedulers,
/// averages of weights (EMA) and a GradScaler take their step outside.
///
/// The step runs directly and is captured again after a change that concerns it: parameters that were moved,
/// converted or given other data (Module::to, set_data), gradients that were dropped or replaced if the step adds to
/// them, train() and eval(), requires_grad_(), and state or options of an optimizer that change its kernels.  If
/// such changes keep coming after few replays, the step stays uncaptured and runs directly.
///
/// A call that waits for the device or reads values (item, data, printing), copies to another device, computes
/// there, or reads host memory (tensor, a loader) cannot be captured: BackendError with the user's line.  On a GPU it
/// is thrown by the capture: nothing was computed, and the program can go on; elsewhere by each run, from the first on.
/// Data that a kernel refuses, such as an index out of range, is an error in a replay too, with the operation and line
/// of the capture, at the next synchronization.  A capture keeps its memory until the step is destroyed.  Not
/// thread-safe.
class CapturedStep {
 public:
  using Function = std::function<std::vector<Tensor>(std::span<const Tensor>)>;

  /// From a function of up to four tensors that returns a tensor, several, or nothing.  DeviceError for a device that
  /// does not exist, ValueError for negative options.
  template <class F>
  requires(!std::same_as<std::remove_cvref_t<F>, CapturedStep>) explicit CapturedStep(
      F step, CapturedStepOptions options = {}, SourceLocation where = SourceLocation::current())
      : CapturedStep(Function(over_span(std::move(step))), arity<F>(), options, where) {
    static_assert(kReturns<F>,
                  "a step returns a tensor or nothing, or several tensors as a tuple: return the loss, and call item() "
                  "on what step() gives");
  }
  ~CapturedStep();
  /// A moved-from step can only be assigned to or destroyed; using it is a ValueError.
  CapturedStep(CapturedStep&&) noexcept;
  CapturedStep& operator=(CapturedStep&&) noexcept;

  /// Runs the step once.  ValueError for another number of inputs or an undefined one; otherwise what the function
  /// throws.
  Tensor operator()(SourceLocation where = SourceLocation::current()) { return run({}, where); }
  Tensor operator()(const In& a) { return run(std::array{*a}, a.where); }
  Tensor operator()(const In& a, const In& b) { return run(std::array{*a, *b}, a.where); }
  Tensor operator()(const In& a, const In& b, const In& c) { return run(std::array{*a, *b, *c}, a.where); }
  Tensor operator()(const In& a, const In& b, const In& c, const In& d) {
    return run(std::array{*a, *b, *c, *d}, a.where);
  }
  Tensor run(std::span<const Tensor> inputs, SourceLocation where = SourceLocation::current());
  /// Runs the step once, and gives all tensors that the function returned.  ValueError if these are not N.
  template <std::size_t N> std::array<Tensor, N> results(SourceLocation where = SourceLocation::current()) {
    return array<N>(run_all({}, N, where));
  }
  template <std::size_t N> std::array<Tensor, N> results(const In& a) {
    return array<N>(run_all(std::array{*a}, N, a.where));
  }
  template <std::size_t N> std::array<Tensor, N> results(const In& a, const In& b) {
    return array<N>(run_all(std::array{*a, *b}, N, a.where));
  }
  template <std::size_t N> std::array<Tensor, N> results(const In& a, const In& b, const In& c) {
    return array<N>(run_all(std::array{*a, *b, *c}, N, a.where));
  }
  template <std::size_t N> std::array<Tensor, N> results(const In& a, const In& b, const In& c, const In& d) {
    return array<N>(run_all(std::array{*a, *b, *c, *d}, N, a.where));
  }

  /// The number of combinations of input shapes that are captured now: 0 unless the device is a GPU.
  int captures(SourceLocation where = SourceLocation::current()) const;
  /// The number of runs that were replays.
  std::int64_t replays(SourceLocation where = SourceLocation::current()) const;

 private:
  struct State;

  CapturedStep(Function step, int inputs, const CapturedStepOptions& options, SourceLocation where);

  State& state(SourceLocation where) const;
  std::vector<Tensor> run_once(std::span<const Tensor> inputs, SourceLocation where);
  /// ValueError for another number of results than `wanted`.
  std::vector<Tensor> run_all(std::span<const Tensor> inputs, std::size_t wanted, SourceLocation where);

  template <class F, std::size_t... I> static constexpr bool takes(std::index_sequence<I...>) {
    return std::is_invocable_v<F&, decltype((void(I), std::declval<const Tensor&>()))...>;
  }
  template <class F, int N = 0> static constexpr int arity() {
    static_assert(N <= 4, "a step is a function of up to four tensors");
    if constexpr (N > 4 || takes<F>(std::make_index_sequence<static_cast<std::size_t>(N)>())) return N;
    else return arity<F, N + 1>();
  }
  template <std::size_t N> static std::array<Tensor, N> array(const std::vector<Tensor>& tensors) {
    std::array<Tensor, N> list;
    std::copy(tensors.begin(), tensors.end(), list.begin());
    return list;
  }
  template <class R> static std::vector<Tensor> listed(const R& result) {
    if constexpr (std::is_convertible_v<R, Tensor>) return {Tensor(result)};
    else if constexpr (detail::kIsTupleOfTensors<R>)
      return std::apply([](const auto&... t) { return std::vector<Tensor>{Tensor(t)...}; }, result);
    else return result;
  }
  template <class F, std::size_t... I> static constexpr bool returns(std::index_sequence<I...>) {
    using Result = std::remove_cvref_t<std::invoke_result_t<F&, decltype((void(I), std::declval<const Tensor&>()))...>>;
    return std::is_void_v<Result> || std::is_convertible_v<Result, Tensor> ||
           std::is_same_v<Result, std::vector<Tensor>> || detail::kIsTupleOfTensors<Result>;
  }
  template <class F>
  static constexpr bool kReturns = returns<F>(std::make_index_sequence<static_cast<std::size_t>(arity<F>())>());

  template <class F> static auto over_span(F step) {
    return [step = std::move(step)](std::span<const Tensor> inputs) mutable {
      return [&]<std::size_t... I>(std::index_sequence<I...>) {
        if constexpr (std::is_void_v<decltype(step(inputs[I]...))>) {
          step(inputs[I]...);
          return std::vector<Tensor>();
        } else {
          if constexpr (kReturns<F>) return listed(step(inputs[I]...));
          else return std::vector<Tensor>();
        }
      }
      (std::make_index_sequence<static_cast<std::size_t>(arity<F>())>());
    };
  }

  std::unique_ptr<State> state_;
};

}  // namespace minnow
