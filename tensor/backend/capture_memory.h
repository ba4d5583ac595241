#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <unordered_map>
#include <utility>
#include <vector>
#include <minnow/tensor/backend/capture_pool.h>
#include <minnow/tensor/internal.h>
#include <minnow/tensor/view.h>

namespace minnow::detail {

/// The calls that use a tensor of a step, from the first to the last, and where it lies in the step's memory.
struct Lifetime {
  std::size_t bytes = 0;
  std::size_t first = 0, last = 0;
  std::size_t offset = 0;
};

/// Sets the offsets, multiples of 64, so that lifetimes with a call in common have no byte in common.  Returns the number of
/// bytes that all need.  The largest come first, each in the smallest gap that takes it.
std::size_t lay_out(std::vector<Lifetime*> lifetimes);

/// The memory of a captured step as its calls refer to it.  A call keeps views of it that do not own it, so that use counts,
/// and what the step decides by them, are those of a direct run.  There are four kinds:
/// - of the step alone: laid out when the capture ends, by the calls that use it, in one block;
/// - that outlives the step (results, gradients): the block that its tensor has;
/// - of inputs: where the next replay finds them;
/// - from outside: kept alive, and counted like a saved value, because it is not visible to the user and so does not
///   prevent writing in place.
class CaptureMemory {
 public:
  explicit CaptureMemory(Allocator& device_memory) : device_(device_memory), pool_(CapturePool::open(device_memory)) {}
  ~CaptureMemory();
  CaptureMemory(const CaptureMemory&) = delete;
  CaptureMemory& operator=(const CaptureMemory&) = delete;

  /// Tensors that the step allocates while it is captured.
  Allocator& pool() { return pool_; }
  /// Call `i` begins: it uses the views that are kept now.
  void begin_call(std::size_t i) { call_ = i; }
  /// From now on the memory of this tensor is an input, with the next number from 0 on.
  void add_input(const View& tensor);
  /// The same elements for a captured call.
  View kept(const View& view);
  /// Whether kept(view) owns the memory.
  bool is_outside(const View& view) const { return view.defined() && !own(view) && input_of(view) < 0; }

  enum class Kind : std::uint8_t { step, input, outside };
  /// Whose memory a kept view has; tensors of the step are numbered in the order in which calls use them.
  struct Place {
    Kind kind;
    std::size_t number = 0;
  };
  Place place_of(const View& kept) const;

  // When the capture has ended: end_capture(), what is known of calls that are made together, and lay_out().
  void end_capture() { outlives_ = pool_.finish(); }
  /// Whether calls before `begin`, from `end` on, and others than the step's, use the memory of a kept view.
  bool is_used_within(const View& kept, std::size_t begin, std::size_t end) const;
  /// No block is needed for the memory of a kept view.
  void needs_no_memory(const View& kept);
  /// Calls [begin, end) are made at once: the memory of no tensor of one is free for another.  In ascending order.
  void join_calls(std::size_t begin, std::size_t end) { joined_.emplace_back(begin, end); }
  /// OutOfMemoryError.
  void lay_out();

  /// Calls read input `i` from here on at this address.
  void set_input(std::size_t i, void* data) { inputs_[i].kept.place(data); }
  /// Whether calls use some of this memory, other than as an input.
  bool uses(const void* begin, std::size_t bytes) const;
  /// Of the block that finish() has laid out, and of all tensors in it.
  std::size_t planned_bytes() const { return planned_bytes_; }
  std::size_t sum_of_bytes() const { return sum_of_bytes_; }

 private:
  /// Memory that several views share, whose address is set later.
  class Placed {
   public:
    explicit Placed(const Storage& like);
    void place(void* data);
    const std::shared_ptr<Storage>& storage() const { return storage_; }

   private:
    std::shared_ptr<Storage> storage_;
  };
  struct Intermediate {
    Placed kept;
    Lifetime lifetime;
    std::size_t number;  // in the order of the first use
    bool needs_memory = true;
  };
  struct Input {
    std::weak_ptr<Storage> storage;
    Placed kept;
  };

  bool own(const View& view) const { return view.storage()->allocator() == &pool_; }
  int input_of(const View& view) const;
  std::shared_ptr<Storage> kept_storage(const View& view);
  Lifetime& joined_lifetime(Intermediate& intermediate) const;

  Allocator& device_;
  CapturePool& pool_;
  std::size_t call_ = 0;
  std::vector<bool> outlives_;  // by number in the pool
  std::vector<std::pair<std::size_t, std::size_t>> joined_;
  std::vector<std::unique_ptr<Intermediate>> intermediates_;  // by number in the pool; nullptr: not used
  std::unordered_map<const Storage*, std::size_t> by_kept_storage_;
  std::vector<Input> inputs_;
  std::vector<std::pair<const char*, const char*>> used_;  // begin and end; after finish() in order, and disjoint
  void* block_ = nullptr;
  std::size_t planned_bytes_ = 0, sum_of_bytes_ = 0;
};

}  // namespace minnow::detail
