// glibc's checked longjmp would refuse to jump between stacks.
#undef _FORTIFY_SOURCE

#include <algorithm>
#include <csetjmp>
#include <cstdlib>
#include <cstring>
#include <emulator/block.h>
#include <emulator/device.h>
#include <emulator/perturb.h>
#include <memory>
#include <numeric>
#include <string_view>
#include <sys/mman.h>
#include <ucontext.h>
#include <utility>
#include <vector>

uint3 threadIdx, blockIdx;
dim3 blockDim, gridDim;

namespace emulator {

thread_local bool perturbs = false;

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

/// A block that has begun.  Used by one thread of the machine at a time: the caller of run_grid holds a lock.
struct Block {
  uint3 index{};
  std::vector<int> order;  // of the threads' beginnings, if it is random
  std::vector<char> kept;  // __shared__ memory, while another block runs
  bool has_waited = false;
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
};

/// The running grid.
struct Grid {
  const std::function<void()>* thread = nullptr;
  Shared shared{};
  int size = 0;  // threads of a block
  bool backwards = false;
  bool random = false;
  bool running = false;
  std::string fault;
};

/// So many blocks of a grid run at the same time if their order is random.
constexpr std::size_t kTogether = 3;
/// Larger grids run in order: a list of their blocks would be too long.
constexpr std::uint64_t kMostAtRandom = std::uint64_t{1} << 20;
/// The content of __shared__ memory when a block begins: NaN in every floating-point type, -1 in integers.
constexpr int kPoison = 0xff;

Grid grid;
std::vector<Block> blocks_of_grid(kTogether);
Block* block = &blocks_of_grid[0];
std::uint64_t runs = 0;
std::uint64_t random_state = 0;
jmp_buf scheduler;
Fiber* running = nullptr;
std::vector<Fiber*> idle;
std::vector<std::unique_ptr<Fiber>> fibers;

/// A number below `count`, of the sequence that the seed determines.
std::size_t random_below(std::size_t count) {
  std::uint64_t x = random_state += 0x9e3779b97f4a7c15u;
  x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
  x = (x ^ x >> 27) * 0x94d049bb133111ebu;
  return static_cast<std::size_t>((x ^ x >> 31) % count);
}

void become(int thread) {
  block->current = thread;
  const auto t = static_cast<unsigned>(thread);
  threadIdx.x = t % blockDim.x;
  threadIdx.y = t / blockDim.x % blockDim.y;
  threadIdx.z = t / (blockDim.x * blockDim.y);
}

/// Starts the threads of the block that have not begun, in ascending or descending order; one thread if the order is
/// random.
void take_threads() {
  while (block->begun < grid.size) {
    const int turn = block->begun++;
    become(grid.random ? block->order[static_cast<std::size_t>(turn)] : grid.backwards ? grid.size - 1 - turn : turn);
    (*grid.thread)();
    ++block->ended;
    if (grid.random) return;
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
  const int self = block->current;
  block->waiting[static_cast<std::size_t>(self)] = {running, place, mask, slot};
  block->waits[static_cast<std::size_t>(self)] = 1;
  block->has_waited = true;
  if (!_setjmp(running->state)) _longjmp(scheduler, 1);
  become(self);
}

void make_ready(int thread) {
  block->waits[static_cast<std::size_t>(thread)] = 0;
  block->ready.push_back(thread);
}

bool same(const Place& a, const Place& b) {
  return a.line == b.line && (a.file == b.file || std::string_view(a.file) == b.file);
}

std::string where(const Place& place) { return std::string(place.file) + ":" + std::to_string(place.line); }

/// A text that says why no thread of the block can continue.
std::string stuck() {
  std::string text = "a barrier that not all threads reach: ";
  if (block->ended) text += std::to_string(block->ended) + " have returned; ";
  for (int i = 0, told = 0; i < grid.size && told < 3; ++i) {
    if (!block->waits[static_cast<std::size_t>(i)]) continue;
    const Waiting& at = block->waiting[static_cast<std::size_t>(i)];
    text += "thread " + std::to_string(i) + " waits for its " + (at.mask ? "warp" : "block") + " at " +
            where(at.place) + "; ";
    ++told;
  }
  return text;
}

void begin(uint3 index) {
  block->index = index;
  block->begun = block->ended = block->waits_for_block = 0;
  block->waiting.resize(static_cast<std::size_t>(grid.size));
  block->waits.assign(static_cast<std::size_t>(grid.size), 0);
  block->ready.clear();
  block->kept.clear();
  block->has_waited = false;
  block->run = ++runs;
  block->barriers = 0;
  if (!grid.random) return;
  block->order.resize(static_cast<std::size_t>(grid.size));
  std::iota(block->order.begin(), block->order.end(), 0);
  for (std::size_t i = block->order.size(); i > 1; --i) std::swap(block->order[i - 1], block->order[random_below(i)]);
}

bool has_ended(const Block& b) { return b.ended == grid.size; }

/// The thread that continues next.
int take_ready() {
  if (grid.random) std::swap(block->ready.back(), block->ready[random_below(block->ready.size())]);
  const int next = block->ready.back();
  block->ready.pop_back();
  return next;
}

/// Runs threads of the block until so many have stopped or ended, at most.  The fibers in use are abandoned if one
/// fails, with the content of their stacks.
void run_some(std::size_t most) {
  blockIdx = block->index;
  for (; most > 0 && grid.fault.empty() && !has_ended(*block); --most) {
    const bool can_begin = block->begun < grid.size;
    const bool begins = grid.random && can_begin && random_below(block->ready.size() + 2) < 2;
    if (!block->ready.empty() && !begins) {
      const int next = take_ready();
      Fiber* fiber = block->waiting[static_cast<std::size_t>(next)].fiber;
      block->current = next;
      go_on_with(fiber);
    } else if (can_begin) {
      go_on_with(a_fiber());
    } else {
      grid.fault = stuck();
    }
  }
}

std::size_t shared_bytes() { return static_cast<std::size_t>(grid.shared.end - grid.shared.begin); }

/// Fills the __shared__ memory, which on a GPU holds anything when a block begins.  A block that never waited has not
/// used it: its threads could not have exchanged anything.
void poison_after(const Block& b) {
  if (b.has_waited && grid.shared.begin) std::memset(grid.shared.begin, kPoison, shared_bytes());
}

std::string told(std::string fault) {
  return std::move(fault) + " (block " + std::to_string(block->index.x) + ", " + std::to_string(block->index.y) + ", " +
         std::to_string(block->index.z) + ")";
}

/// One block after the other.
void run_in_order(dim3 blocks) {
  for (unsigned z = 0; z < blocks.z; ++z)
    for (unsigned y = 0; y < blocks.y; ++y)
      for (unsigned x = 0; x < blocks.x; ++x) {
        begin({x, y, z});
        run_some(SIZE_MAX);
        if (!grid.fault.empty()) return;
        poison_after(*block);
      }
}

/// Makes `next` the running block, with its own __shared__ memory.
void switch_to(Block* next) {
  if (next == block) return;
  if (grid.shared.begin) {
    const auto keep = [](Block& b) {
      if (b.has_waited && !has_ended(b)) b.kept.assign(grid.shared.begin, grid.shared.end);
    };
    keep(*block);
    poison_after(*block);
    if (!next->kept.empty()) std::memcpy(grid.shared.begin, next->kept.data(), next->kept.size());
  }
  block = next;
}

/// The blocks in random order, some of them at the same time.
void run_at_random(dim3 blocks) {
  std::vector<std::uint64_t> left(std::uint64_t{blocks.x} * blocks.y * blocks.z);
  std::iota(left.begin(), left.end(), 0);
  std::vector<Block*> live;
  for (;;) {
    for (Block& b : blocks_of_grid) {
      if (left.empty() || std::find(live.begin(), live.end(), &b) != live.end()) continue;
      std::swap(left.back(), left[random_below(left.size())]);
      const std::uint64_t at = left.back();
      left.pop_back();
      switch_to(&b);
      begin({static_cast<unsigned>(at % blocks.x), static_cast<unsigned>(at / blocks.x % blocks.y),
             static_cast<unsigned>(at / blocks.x / blocks.y)});
      live.push_back(&b);
    }
    if (live.empty()) return;
    switch_to(live[random_below(live.size())]);
    run_some(1 + random_below(static_cast<std::size_t>(grid.size)));
    if (!grid.fault.empty()) return;
    if (has_ended(*block)) {
      std::erase(live, block);
      poison_after(*block);
      block->has_waited = false;
    }
  }
}

std::uint64_t seed_of_shuffle() {
  const char* text = std::getenv("MINNOW_EMULATOR_SHUFFLE");
  return text ? std::strtoull(text, nullptr, 10) : 0;
}

}  // namespace

std::string run_grid(dim3 blocks, dim3 threads, const std::function<void()>& thread, Shared shared) {
  static const bool backwards = std::getenv("MINNOW_EMULATOR_BACKWARDS") != nullptr;
  static const bool perturbed = std::getenv("MINNOW_EMULATOR_PERTURB") != nullptr;
  static const std::uint64_t seed = random_state = seed_of_shuffle();
  grid.thread = &thread;
  grid.shared = shared;
  grid.size = static_cast<int>(threads.x * threads.y * threads.z);
  grid.backwards = backwards;
  grid.random = seed != 0 && std::uint64_t{blocks.x} * blocks.y * blocks.z <= kMostAtRandom;
  grid.fault.clear();
  grid.running = true;
  perturbs = perturbed;
  blockDim = threads;
  gridDim = blocks;
  static const char* filled = nullptr;  // before the first block
  if (shared.begin && std::exchange(filled, shared.begin) != shared.begin)
    std::memset(shared.begin, kPoison, shared_bytes());
  if (grid.random) run_at_random(blocks);
  else run_in_order(blocks);
  perturbs = false;
  grid.running = false;
  if (grid.fault.empty()) return {};
  block->has_waited = true;
  poison_after(*block);
  return told(grid.fault);
}

void pause_thread() {
  if (!grid.random || random_below(4) != 0) return;
  const int self = block->current;
  block->waiting[static_cast<std::size_t>(self)].fiber = running;
  block->has_waited = true;
  block->ready.push_back(self);
  if (!_setjmp(running->state)) _longjmp(scheduler, 1);
  become(self);
}

bool in_kernel() { return grid.running; }

void meet_block(Place place, void* slot, Meeting meeting) {
  const auto size = static_cast<std::size_t>(grid.size);
  if (block->waits_for_block) {
    std::size_t other = 0;
    while (!block->waits[other] || block->waiting[other].mask) ++other;
    if (!same(block->waiting[other].place, place))
      fault(place, "thread " + std::to_string(block->current) + " is at this barrier while thread " +
                       std::to_string(other) + " waits at " + where(block->waiting[other].place));
  }
  if (block->waits_for_block + 1 < grid.size) {
    ++block->waits_for_block;
    stop(place, 0, slot);
    return;
  }
  std::vector<void*>& slots = block->slots;
  slots.resize(size);
  for (std::size_t i = 0; i < size; ++i) slots[i] = block->waiting[i].slot;
  slots[static_cast<std::size_t>(block->current)] = slot;
  meeting(slots.data(), grid.size);
  block->waits_for_block = 0;
  for (int turn = grid.size; turn-- > 0;) {
    const int i = grid.backwards ? grid.size - 1 - turn : turn;
    if (i != block->current) make_ready(i);
  }
}

void meet_warp(Place place, std::uint32_t mask, void* slot, Meeting meeting) {
  const int self = block->current, first = self / 32 * 32, lanes = std::min(32, grid.size - first);
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
    const Waiting& other = block->waiting[i];
    if (!block->waits[i] || other.mask != mask || !same(other.place, place)) {
      stop(place, mask, slot);
      return;
    }
    slots[lane] = other.slot;
  }
  meeting(slots, 32);
  for (int turn = lanes; turn-- > 0;) {
    const int lane = grid.backwards ? lanes - 1 - turn : turn;
    if ((mask >> lane & 1u) && first + lane != self) make_ready(first + lane);
  }
}

void fault(Place place, const std::string& text) {
  grid.fault = where(place) + ": " + text;
  _longjmp(scheduler, 1);
}

int thread_index() { return block->current; }
int block_size() { return grid.size; }
std::uint64_t block_run() { return block->run; }
std::uint64_t block_barriers() { return block->barriers; }
void count_barrier() { ++block->barriers; }

}  // namespace emulator
