#pragma once

#include <concepts>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <typeinfo>
#include <utility>
#include <vector>
#include <minnow/tensor/io/state_dict.h>

namespace minnow {

namespace nn {
class Module;
}
namespace optim {
class Optimizer;
}

struct CheckpointOptions {
  int keep = 2;                   ///< the newest files that are kept, besides the best; at least 1
  bool higher_is_better = false;  ///< of the metric that save() is given
};

struct CheckpointSaveOptions {
  /// How good the model is now, e.g. the loss of the validation.  The file with the best metric is kept.
  std::optional<double> metric{};
  /// Copies the state to the host and returns; a thread writes the file.
  bool background = false;
};

/// What Checkpoint::resume() has loaded.
struct ResumedCheckpoint {
  std::string path;
  std::int64_t number = 0;                 ///< of saves before it in this folder, and 1
  std::optional<double> metric{}, best{};  ///< of this file, and of all until then
};

/// Saves a whole training run in a folder, and continues it exactly: after resume() the steps give the same bits as
/// without the interruption.
///
///     Checkpoint checkpoint("runs/mnist");
///     checkpoint.add("model", net).add("adam", adam).add("schedule", schedule).add("train", loader);
///     checkpoint.resume();
///     while (loader.position().epoch < 10) {
///       for (auto& [x, y] : loader) {
///         ...
///         if (interrupted()) return checkpoint.save(), 128 + interrupted();
///       }
///       schedule.step();
///       checkpoint.save({.metric = loss_of_test(), .background = true});
///     }
///
/// Each save writes one safetensors file, whose tensors are named "model.fc.weight", with a checksum for the header and
/// for each tensor.  It is written atomically; then files are removed that are neither among the newest `keep` nor the
/// best ("checkpoint-00000012-best.safetensors"; the last one of these is the best).  Files of a run that was not
/// resumed stay.  The state of the default generator is part of each file, and so are gradients that the parameters of
/// modules and optimizers and added tensors have at that time, since a later backward adds to them: call zero_grad()
/// after step() and not before backward, and files have none.  Not thread-safe; one program at a time uses a folder.
class Checkpoint {
 public:
  /// Makes the folder, and those above it, if it is missing; a relative path stays the same if the program changes its
  /// working directory. IoError if it cannot be made; ValueError for options out of range.
  explicit Checkpoint(std::string folder, const CheckpointOptions& options = {},
                      SourceLocation where = SourceLocation::current());
  /// Waits for a save in the background; warns if it has failed.
  ~Checkpoint();
  Checkpoint(const Checkpoint&) = delete;
  Checkpoint& operator=(const Checkpoint&) = delete;

  /// Adds what is to be saved: a number, a Tensor, a StateDict, or what has state_dict() and load_state_dict():
  /// modules, optimizers, schedules, averages, generators, data loaders, your own.  It must outlive the checkpoint.
  /// ValueError for an empty name, one that has a '.', is not UTF-8, or was given before.
  template <class T>
  requires(!std::is_const_v<T>) Checkpoint& add(std::string name, T& part,
                                                SourceLocation where = SourceLocation::current()) {
    constexpr bool kIsNumber = std::is_arithmetic_v<T>;
    if constexpr (kIsNumber) {
      return add_number(
          std::move(name), std::floating_point<T>, [&part] { return Number(part); },
          [&part](const Number& n) {
            if constexpr (std::floating_point<T>) {
              part = static_cast<T>(n.real);
            } else {
              if (static_cast<std::int64_t>(static_cast<T>(n.whole)) != n.whole) return false;
              part = static_cast<T>(n.whole);
            }
            return true;
          },
          where);
    } else {
      static_assert(
          requires(StateDict values) {
            values = part.state_dict();
            part.load_state_dict(values);
          },
          "a part of a checkpoint is a number, a Tensor, a StateDict, or a class with `StateDict state_dict() const` "
          "and "
          "`void load_state_dict(const StateDict&)`");
      return add_part(std::move(name),
                      {.kind = kind_of(part),
                       .last = std::is_base_of_v<optim::Optimizer, T>,
                       .state = [&part] { return part.state_dict(); },
                       .leaves = [&part] { return leaves_of(part); },
                       .load = [&part](const StateDict& values) { part.load_state_dict(values); }},
                      where);
    }
  }
  Checkpoint& add(std::string name, Tensor& tensor, SourceLocation where = SourceLocation::current());
  Checkpoint& add(std::string name, StateDict& values, SourceLocation where = SourceLocation::current());

  /// Writes the state of all parts, and returns the path.  In the background: the file has the state at the call, and
  /// the next save() waits for it.  IoError if it cannot be written; the files before are unchanged then, and what
  /// failed in the background is thrown by the next save(), which saves nothing then, or by wait().  ValueError for an
  /// undefined tensor or a name that is not UTF-8; OutOfMemoryError.
  std::string save(const CheckpointSaveOptions& options = {}, SourceLocation where = SourceLocation::current());
  /// Loads the newest file of the folder; nothing if there is none.  A damaged file is left as it is, with a warning,
  /// and the one before is used; FormatError or IoError if there is no other, IoError if the folder cannot be read.
  /// ValueError if the file does not fit: other parts, another kind of optimizer, other shapes.  Whatever is thrown,
  /// all parts are as they were; one that refuses its own state, or finds no memory even then, is named by a warning.
  std::optional<ResumedCheckpoint> resume(SourceLocation where = SourceLocation::current());
  /// Waits for a save in the background, and throws what it has thrown.
  void wait(SourceLocation where = SourceLocation::current());
  /// The file with the best metric of this run; empty if there is none.
  std::string best_path() const;
  /// The best file that the folder has, of any run, or else the newest one; empty if there is none.  IoError.
  std::string found_path(SourceLocation where = SourceLocation::current()) const;

 private:
  struct Number {
    template <class T>
    explicit Number(T value)
        : whole(std::is_integral_v<T> ? static_cast<std::int64_t>(value) : 0), real(static_cast<double>(value)) {}
    std::int64_t whole;
    double real;
  };
  using Leaves = std::vector<std::pair<std::string, Tensor>>;
  struct Part {
    std::string kind{};  // the class, which must be the same when it is loaded; empty: any
    bool last = false;   // loaded after the others: schedules set the rates of optimizers
    std::function<StateDict()> state;
    std::function<Leaves()> leaves{};  // whose gradients are saved
    std::function<void(const StateDict&)> load;
  };
  class State;

  /// A module's class may be renamed: its values say whether it fits.
  template <class T> static std::string kind_of(const T& part) {
    if constexpr (std::is_base_of_v<optim::Optimizer, T>) return part.name();
    else return std::is_base_of_v<nn::Module, T> ? "" : name_without_arguments(typeid(part));
  }
  template <class T> static Leaves leaves_of(T& part) {
    Leaves leaves;
    if constexpr (requires { part.named_parameters(); }) {
      for (const auto& [name, tensor] : part.named_parameters()) leaves.emplace_back(name, tensor);
    } else if constexpr (requires { part.parameters(); }) {
      for (const Tensor& tensor : part.parameters()) leaves.emplace_back(std::to_string(leaves.size()), tensor);
    }
    return leaves;
  }
  static std::string name_without_arguments(const std::type_info& type);
  Checkpoint& add_part(std::string name, Part part, SourceLocation where);
  Checkpoint& add_number(std::string name, bool real, std::function<Number()> get,
                         std::function<bool(const Number&)> set, SourceLocation where);

  std::unique_ptr<State> state_;
};

}  // namespace minnow
