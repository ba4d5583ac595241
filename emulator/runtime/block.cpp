// glibc's checked longjmp would refuse to jump between stacks.
#undef _FORTIFY_SOURCE

#include <algorithm>
#include <csetjmp>
#include <cstdlib>
#include <emulator/block.h>
#include <emulator/device.h>
#include <memory>
#include <string_view>
#include <sys/mman.h>
#include <ucontext.h>
#include <vector>

uint3 threadIdx, blockIdx;
dim3 blockDim, gridDim;

namespace emulator {
namespace {

constexpr std::size_t kStack = std::size_t{256} << 10;

/// A stack on which threads of the block run in sequence, until one of them waits.
struct Fiber {
  jmp_buf state;
  ucontext_t first;
  bool started = false;
};

/// A thread of the block that waits.
struct Waiting {
  Fiber* fiber = nullptr;
  Place place{};
  std::uint32_t mask = 0;  // of the warp that it waits for; 0: it waits for the block
  void* slot = nullptr;
};

/// The running block.  Used by one thread of the machine at a time: the caller of run_grid holds a lock.
struct Block {
  const std::function<void()>* thread = nullptr;
  int size = 0;
  int begun = 0;
  int ended = 0;
  int current = 0;
  std::vector<Waiting> waiting;
  std::vector<char> waits;
  std::vector<void*> slots;
  int waits_for_block = 0;
  std::vector<int> ready;  // threads that can continue; the last one is next
  std::uint64_t run = 0;
  std::uint64_t barriers = 0;
  std::string fault;
  bool backwards = false;
};

Block block;
jmp_buf scheduler;
Fiber* running = nullptr;
std::vector<Fiber*> idle;
std::vector<std::unique_ptr<Fiber>> fibers;

void become(int thread) {
  block.current = thread;
  const auto t = static_cast<unsigned>(thread);
  threadIdx.x = t % blockDim.x;
  threadIdx.y = t / blockDim.x % blockDim.y;
  threadIdx.z = t / (blockDim.x * blockDim.y);
}

/// Starts the threads of the block that have not begun, in ascending or descending order.
void take_threads() {
  while (block.begun < block.size) {
    const int turn = block.begun++;
    become(block.backwards ? block.size - 1 - turn : turn);
    (*block.thread)();
    ++block.ended;
  }
}

void fiber_main() {
  for (;;) {
    take_threads();
    idle.push_back(running);
    if (!_setjmp(running->state)) _longjmp(scheduler, 1);
  }
}

Fiber* a_fiber() {
  if (idle.empty()) {
    fibers.push_back(std::make_unique<Fiber>());
    idle.push_back(fibers.back().get());
  }
  Fiber* fiber = idle.back();
  idle.pop_back();
  return fiber;
}

void go_on_with(Fiber* fiber) {
  running = fiber;
  if (_setjmp(scheduler)) return;
  if (fiber->started) _longjmp(fiber->state, 1);
  void* stack = mmap(nullptr, kStack, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (stack == MAP_FAILED) std::abort();
  mprotect(stack, 4096, PROT_NONE);
  getcontext(&fiber->first);
  fiber->first.uc_stack.ss_sp = stack;
  fiber->first.uc_stack.ss_size = kStack;
  makecontext(&fiber->first, fiber_main, 0);
  fiber->started = true;
  setcontext(&fiber->first);
}

/// Suspends the calling thread until it is made ready.
void stop(Place place, std::uint32_t mask, void* slot) {
  const int self = block.current;
  block.waiting[static_cast<std::size_t>(self)] = {running, place, mask, slot};
  block.waits[static_cast<std::size_t>(self)] = 1;
  if (!_setjmp(running->state)) _longjmp(scheduler, 1);
  become(self);
}

void make_ready(int thread) {
  block.waits[static_cast<std::size_t>(thread)] = 0;
  block.ready.push_back(thread);
}

bool same(const Place& a, const Place& b) {
  return a.line == b.line && (a.file == b.file || std::string_view(a.file) == b.file);
}

std::string where(const Place& place) { return std::string(place.file) + ":" + std::to_string(place.line); }

/// A text that says why no thread of the block can continue.
std::string stuck() {
  std::string text = "a barrier that not all threads reach: ";
  if (block.ended) text += std::to_string(block.ended) + " have returned; ";
  for (int i = 0, told = 0; i < block.size && told < 3; ++i) {
    if (!block.waits[static_cast<std::size_t>(i)]) continue;
    const Waiting& at = block.waiting[static_cast<std::size_t>(i)];
    text += "thread " + std::to_string(i) + " waits for its " + (at.mask ? "warp" : "block") + " at " +
            where(at.place) + "; ";
    ++told;
  }
  return text;
}

/// Runs one block.  Returns false if it failed; the fibers in use are abandoned, with the content of their stacks.
bool run_block() {
  block.begun = block.ended = block.waits_for_block = 0;
  block.ready.clear();
  ++block.run;
  block.barriers = 0;
  while (block.fault.empty()) {
    if (!block.ready.empty()) {
      const int next = block.ready.back();
      block.ready.pop_back();
      Fiber* fiber = block.waiting[static_cast<std::size_t>(next)].fiber;
      block.current = next;
      go_on_with(fiber);
    } else if (block.begun < block.size) {
      go_on_with(a_fiber());
    } else if (block.ended == block.size) {
      return true;
    } else {
      block.fault = stuck();
    }
  }
  return false;
}

}  // namespace

std::string run_grid(dim3 blocks, dim3 threads, const std::function<void()>& thread) {
  static const bool backwards = std::getenv("MINNOW_EMULATOR_BACKWARDS") != nullptr;
  block.backwards = backwards;
  block.thread = &thread;
  block.size = static_cast<int>(threads.x * threads.y * threads.z);
  block.waiting.resize(static_cast<std::size_t>(block.size));
  block.waits.assign(static_cast<std::size_t>(block.size), 0);
  block.fault.clear();
  blockDim = threads;
  gridDim = blocks;
  for (unsigned z = 0; z < blocks.z; ++z)
    for (unsigned y = 0; y < blocks.y; ++y)
      for (unsigned x = 0; x < blocks.x; ++x) {
        blockIdx = {x, y, z};
        if (!run_block())
          return block.fault + " (block " + std::to_string(x) + ", " + std::to_string(y) + ", " + std::to_string(z) +
                 ")";
      }
  return {};
}

void meet_block(Place place, void* slot, Meeting meeting) {
  const auto size = static_cast<std::size_t>(block.size);
  if (block.waits_for_block) {
    std::size_t other = 0;
    while (!block.waits[other] || block.waiting[other].mask) ++other;
    if (!same(block.waiting[other].place, place))
      fault(place, "thread " + std::to_string(block.current) + " is at this barrier while thread " +
                       std::to_string(other) + " waits at " + where(block.waiting[other].place));
  }
  if (block.waits_for_block + 1 < block.size) {
    ++block.waits_for_block;
    stop(place, 0, slot);
    return;
  }
  std::vector<void*>& slots = block.slots;
  slots.resize(size);
  for (std::size_t i = 0; i < size; ++i) slots[i] = block.waiting[i].slot;
  slots[static_cast<std::size_t>(block.current)] = slot;
  meeting(slots.data(), block.size);
  block.waits_for_block = 0;
  for (int turn = block.size; turn-- > 0;) {
    const int i = block.backwards ? block.size - 1 - turn : turn;
    if (i != block.current) make_ready(i);
  }
}

void meet_warp(Place place, std::uint32_t mask, void* slot, Meeting meeting) {
  const int self = block.current, first = self / 32 * 32, lanes = std::min(32, block.size - first);
  if (!(mask >> (self - first) & 1u)) fault(place, "the mask does not include the calling lane");
  if (lanes < 32) mask &= (1u << lanes) - 1;
  void* slots[32] = {};
  for (int lane = 0; lane < lanes; ++lane) {
    const auto i = static_cast<std::size_t>(first + lane);
    if (!(mask >> lane & 1u)) continue;
    if (first + lane == self) {
      slots[lane] = slot;
      continue;
    }
    const Waiting& other = block.waiting[i];
    if (!block.waits[i] || other.mask != mask || !same(other.place, place)) {
      stop(place, mask, slot);
      return;
    }
    slots[lane] = other.slot;
  }
  meeting(slots, 32);
  for (int turn = lanes; turn-- > 0;) {
    const int lane = block.backwards ? lanes - 1 - turn : turn;
    if ((mask >> lane & 1u) && first + lane != self) make_ready(first + lane);
  }
}

void fault(Place place, const std::string& text) {
  block.fault = where(place) + ": " + text;
  _longjmp(scheduler, 1);
}

int thread_index() { return block.current; }
int block_size() { return block.size; }
std::uint64_t block_run() { return block.run; }
std::uint64_t block_barriers() { return block.barriers; }
void count_barrier() { ++block.barriers; }

}  // namespace emulator
