#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>
#include <minnow/tensor/internal.h>
#include <minnow/tensor/random.h>
#include <minnow/tensor/tensor.h>

namespace minnow::detail {

/// BackendError: `op` is no part of a step that is captured, since it waits for the device or uses memory of the host.
[[noreturn]] void forbid_in_capture(std::string_view op, SourceLocation where = {});

/// What changes from replay to replay of a captured step (CapturedStep): numbers that its kernels read from device
/// memory, written anew before each replay.  Optimizers keep their learning rate and step count there, generators their
/// place.  Used by the thread that captures.
class CaptureSession {
 public:
  /// Writes the numbers of the next replay.  `again` is false in the first, which does the work that was captured and
  /// not done: what the host counts has been counted then.
  using Fill = std::function<void(std::span<double> numbers, bool again)>;

  explicit CaptureSession(Device device);
  ~CaptureSession();
  CaptureSession(const CaptureSession&) = delete;
  CaptureSession& operator=(const CaptureSession&) = delete;

  /// The capture under way on this thread; nullptr when there is none.
  static CaptureSession* current();
  /// Refuses an operation by which the host, or another device, reads or writes memory of `device` while this thread
  /// captures a step for it: nothing has been computed yet, and no replay would do it again.
  static void forbid_access(std::string_view op, Device device, SourceLocation where = {}) {
    if (const CaptureSession* session = current(); session && session->device() == device) forbid_in_capture(op, where);
  }
  /// Makes this the capture under way until end().
  void begin();
  void end();

  Device device() const { return numbers_.device(); }
  /// Notes that the step uses the memory of a tensor: a replay does so too, so that it must not be a tensor's that has
  /// other memory by then.
  static void note(const View& tensor) {
    if (CaptureSession* session = current()) session->use(tensor);
  }
  void use(const View& tensor);
  /// True for the first call with this address.
  bool is_first_use(const void* of) { return met_.insert(of).second; }
  /// What must hold before a replay, else the step is captured anew; it may throw what the step itself would.
  void require(std::function<bool()> holds) { conditions_.push_back(std::move(holds)); }
  /// What the host does at the end of the capture, and after each replay.
  void at_end(std::function<void()> action) { at_end_.push_back(std::move(action)); }
  void after_replay(std::function<void()> action) { after_replay_.push_back(std::move(action)); }

  /// Whether a replay does what the step would do now.
  bool is_current() {
    if (Storage::all_rebindings() != rebindings_ && !uses_are_current()) return false;
    for (const auto& holds : conditions_)
      if (!holds()) return false;
    return true;
  }
  /// To be called after each replay.
  void finish_replay() const {
    for (const auto& action : after_replay_) action();
  }

  /// Device memory for `count` numbers.  BackendError when a step needs more than there are.
  const double* dynamic(std::size_t count, Fill fill);
  /// Device memory {seed, what to add to the offset}, by which the numbers taken from `state` on differ in each replay.
  /// Called with the generator locked.
  const std::uint64_t* random(RandomGenerator& generator, const PhiloxState& state);
  /// How to undo what was counted for one run of the step: called when that is not done, or not to its end.
  void on_failure(std::function<void()> undo) { undo_.push_back(std::move(undo)); }
  /// How to undo what is done once, by the capture: called when that is given up.
  void on_abandon(std::function<void()> undo) { undo_once_.push_back(std::move(undo)); }

  /// Undoes what was counted for the last run, a capture that is given up or a replay that failed.
  void take_back() noexcept;
  /// Writes the numbers of the next replay to the device, in the order of the current stream.
  void upload(SourceLocation where);

 private:
  struct Block {
    std::size_t begin, count;
    Fill fill;
  };
  /// A generator's numbers: the offset that the captured kernels carry, and what one run of the step takes.
  struct Draws {
    RandomGenerator* generator;
    std::uint64_t base, taken;
    const std::uint64_t* place;
  };

  /// Memory that the step uses, as long as somebody has it, and its rebindings when that began.
  struct Use {
    std::weak_ptr<Storage> storage;
    std::uint32_t rebindings;
  };

  bool uses_are_current();
  void place_generator(const Draws& draws, std::span<double> numbers, bool again) const;
  void fill(std::span<double> numbers);

  static constexpr std::size_t kNumbers = 4096;
  Tensor numbers_;  // float64 [kNumbers] on the device
  std::vector<Block> blocks_;
  std::vector<std::unique_ptr<Draws>> draws_;
  std::vector<std::function<void()>> undo_, undo_once_;
  std::unordered_map<const Storage*, Use> uses_;
  std::uint64_t rebindings_;  // of all storages, when uses_ were last found unchanged
  std::unordered_set<const void*> met_;
  std::vector<std::function<bool()>> conditions_;
  std::vector<std::function<void()>> at_end_, after_replay_;
  std::size_t used_ = 0;
  bool again_ = false;  // it was replayed
  CaptureSession* outer_ = nullptr;
};

}  // namespace minnow::detail
