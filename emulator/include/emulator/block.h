#pragma once

#include <cstdint>
#include <emulator/launch.h>
#include <functional>
#include <string>
#include <vector_types.h>

/// Kernels run one at a time, on one thread of the machine: one block after the other (or some of them in turns), and
/// each thread of a block until it waits for others.  These functions are for the replacements of CUDA's; all except
/// run_grid are called in kernels.
namespace emulator {

/// Runs `thread` for each thread of the grid.  Returns an error text, or an empty one.
std::string run_grid(dim3 blocks, dim3 threads, const std::function<void()>& thread, Shared shared);

/// Where the order of threads is random, others may run now.
void pause_thread();

/// Whether a kernel is running.
bool in_kernel();

/// The source line at which a thread waits.
struct Place {
  const char* file;
  int line;
};

/// What is done when all threads of a block, or lanes of a warp, have arrived, with the slot of each.
using Meeting = void (*)(void* const* slots, int count);

/// Waits until every thread of the block is here.  The last one to arrive calls `meeting` with the slots of all
/// threads, in order.  It is an error if a thread waits elsewhere or has returned.
void meet_block(Place place, void* slot, Meeting meeting);

/// The same for the lanes of this thread's warp that are in the mask; slots of other lanes are nullptr, count is 32.
void meet_warp(Place place, std::uint32_t mask, void* slot, Meeting meeting);

/// Ends the kernel with an error: its behavior would be undefined on a GPU.
[[noreturn]] void fault(Place place, const std::string& text);

/// The index of this thread in its block, and a number that identifies this run of a block.
int thread_index();
int block_size();
std::uint64_t block_run();
/// One more than the number of __syncthreads() that this block has passed.
std::uint64_t block_barriers();
void count_barrier();

}  // namespace emulator
