#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector_types.h>

/// One kernel at a time runs, on one thread of the machine: a block after another, each thread of a block until it
/// waits for others.  These functions are for what stands in for CUDA's own; all but run_grid are called in kernels.
namespace emulator {

/// Runs `thread` for each thread of the grid.  Returns what went wrong, or nothing.
std::string run_grid(dim3 blocks, dim3 threads, const std::function<void()>& thread);

/// Where in the source a thread waits.
struct Place {
  const char* file;
  int line;
};

/// What the threads of a block, or lanes of a warp, do when all have arrived: it sees each one's slot.
using Meeting = void (*)(void* const* slots, int count);

/// Waits until every thread of the block is here.  The last one to arrive calls `meeting` with the slots of all
/// threads in their order.  Threads that wait elsewhere, or have returned, are an error of the kernel.
void meet_block(Place place, void* slot, Meeting meeting);

/// The same for the lanes of this thread's warp that are in the mask; slots of other lanes are nullptr, count is 32.
void meet_warp(Place place, std::uint32_t mask, void* slot, Meeting meeting);

/// Ends the kernel: it did what a GPU does not define.
[[noreturn]] void fault(Place place, const std::string& text);

/// This thread in its block, and what tells one run of a block from all others.
int thread_index();
int block_size();
std::uint64_t block_run();
/// __syncthreads() that this block has passed, and one more.
std::uint64_t block_barriers();
void count_barrier();

}  // namespace emulator
