#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <unordered_map>
#include <unordered_set>
#include <vector>
#include <minnow/tensor/internal.h>
#include <minnow/tensor/random.h>
#include <minnow/tensor/runtime/calling_thread.h>
#include <minnow/tensor/runtime/capture_rules.h>
#include <minnow/tensor/tensor.h>

namespace minnow::detail {

/// What of a captured CUDA graph changes between replays: numbers in device memory, which the host writes before each
/// replay and the captured kernels read (learning rates, step counts, random offsets); and the conditions under which a
/// replay is still right.  Only the capturing thread uses it.
class CaptureSession {
 public:
  /// Writes the numbers of the next replay.  `again` is false for the first one, which runs what the capture only
  /// noted: the host's counters were advanced while capturing.
  using Fill = std::function<void(std::span<double> numbers, bool again)>;

  /// How many numbers a capture may have.
  static constexpr std::size_t kNumbers = 4096;
  /// `numbers`: float64 [kNumbers] on the device.
  explicit CaptureSession(Tensor numbers);
  ~CaptureSession();
  CaptureSession(const CaptureSession&) = delete;
  CaptureSession& operator=(const CaptureSession&) = delete;

  /// The capture that is running on this thread, or nullptr.
  static CaptureSession* current();
  /// Makes this the running capture of the thread until end(), with its rules.
  void begin();
  void end();

  Device device() const { return numbers_.device(); }
  /// Notes that the step uses the memory of a tensor.  A replay uses the same memory, so the step is captured again if
  /// the tensor is given other memory.
  static void note(const View& tensor) {
    if (CaptureSession* session = current()) session->use(tensor);
  }
  void use(const View& tensor);
  /// Called after end(): notes the memory that each replay writes, which is what the step wrote while it was captured,
  /// and its results.  Replays count these writes, so that backward refuses values that were saved before.
  void note_writes(std::span<const Tensor> results);
  /// Whether this is the first call with this address.
  bool is_first_use(const void* of) { return seen_.insert(of).second; }
  /// A condition for a replay; if it is false the step is captured again.  It may throw what the step itself would
  /// throw.
  void require(std::function<bool()> holds) { conditions_.push_back(std::move(holds)); }
  /// Actions of the host at the end of the capture, and after each replay.
  void at_end(std::function<void()> action) { at_end_.push_back(std::move(action)); }
  void after_replay(std::function<void()> action) { after_replay_.push_back(std::move(action)); }

  /// Whether a replay does what the step would do now: all conditions hold.
  bool is_current() {
    if (!has_same_autocast()) return false;
    if (Storage::all_rebindings() != rebindings_ && !uses_are_current()) return false;
    for (const auto& holds : conditions_)
      if (!holds()) return false;
    return true;
  }
  /// To be called after each replay.
  void finish_replay() const {
    for (const auto& action : after_replay_) action();
  }

  /// Device memory for `count` numbers, which `fill` writes before each replay.  BackendError if there are too many.
  const double* dynamic(std::size_t count, Fill fill);
  /// Device memory {seed, increment of the offset}, so that each replay draws other random numbers than those from
  /// `state` on.  Called with the generator locked.
  const std::uint64_t* random(RandomGenerator& generator, const PhiloxState& state);
  /// Undoes what the host counted for one run; called if that run fails.
  void on_failure(std::function<void()> undo) { undo_.push_back(std::move(undo)); }
  /// Undoes what only the capture did; called if it is abandoned.
  void on_abandon(std::function<void()> undo) { undo_once_.push_back(std::move(undo)); }

  /// Undoes the last run: a capture that is abandoned, or a replay that failed.
  void undo_run() noexcept;
  /// Before each replay: counts its writes.
  void count_writes();
  /// The device memory of the numbers that are in use.
  View numbers() const { return {numbers_.storage(), DType::float64, {static_cast<std::int64_t>(used_)}, {1}}; }
  /// Writes what they are in the next replay.
  void fill(std::span<double> numbers);

 private:
  struct Numbers {
    std::size_t begin, count;
    Fill fill;
  };
  /// A generator that the step uses: the offset in the captured kernels, and how many numbers one run takes.
  struct GeneratorUse {
    RandomGenerator* generator;
    std::uint64_t base, taken;
    const std::uint64_t* device_state;
  };

  /// Memory that the step uses, and the rebindings and the version of its storage at the first use.
  struct Use {
    std::weak_ptr<Storage> storage;
    std::uint32_t rebindings, version;
  };

  bool has_same_autocast() const { return autocast_ == calling_thread.autocast; }
  bool uses_are_current();
  void write_generator(const GeneratorUse& generator_use, std::span<double> numbers, bool again) const;

  Tensor numbers_;
  std::vector<Numbers> blocks_;
  std::vector<std::unique_ptr<GeneratorUse>> generators_;
  std::vector<std::function<void()>> undo_, undo_once_;
  std::unordered_map<const Storage*, Use> uses_;
  std::vector<std::weak_ptr<Storage>> overwritten_;
  std::uint64_t rebindings_;  // of all storages, when uses_ was last found unchanged
  std::unordered_set<const void*> seen_;
  std::vector<std::function<bool()>> conditions_;
  std::vector<std::function<void()>> at_end_, after_replay_;
  std::size_t used_ = 0;
  bool again_ = false;  // whether it was replayed before
  const AutocastMode autocast_ = calling_thread.autocast;
  const CaptureRules rules_;
  std::optional<CaptureRulesScope> scope_;  // until end()
};

}  // namespace minnow::detail
