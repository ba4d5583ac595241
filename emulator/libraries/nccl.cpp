// NCCL's functions as NVIDIA documents them, between processes of one machine, as work of an emulated stream.

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <emulator/launch.h>
#include <emulator/processes.h>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <unistd.h>

#include "nccl_group.h"

using namespace emulator;

extern "C" {
using ncclResult_t = int;
using ncclComm_t = void*;
struct ncclUniqueId {
  char internal[128];
};
}

namespace {

enum : int { kSuccess = 0, kSystemError = 2, kInvalidArgument = 4, kInvalidUsage = 5 };

std::mutex mutex;
std::map<void*, std::shared_ptr<NcclGroup>> groups;
thread_local std::string last_error;

int refuse(int status, const std::string& text) {
  last_error = text;
  return status;
}

std::shared_ptr<NcclGroup> group_of(void* comm) {
  const std::lock_guard lock(mutex);
  const auto found = groups.find(comm);
  return found == groups.end() ? nullptr : found->second;
}

/// A GPU works without being waited for, which other processes rely on.
void keep_going() {
  static std::once_flag once;
  std::call_once(once, [] {
    std::thread([] {
      for (;;) {
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
        advance();
      }
    }).detach();
  });
}

/// Whether all work of a communicator is done, and all graphs that captured some are destroyed, before the limit: NCCL
/// waits for that at the end of a communicator without one.
bool is_let_go(const std::shared_ptr<NcclGroup>& group) {
  constexpr std::chrono::seconds kLimit(5);
  const auto began = std::chrono::steady_clock::now();
  while (group.use_count() > 2) {  // this one and that of the map
    if (std::chrono::steady_clock::now() - began > kLimit) {
      std::fprintf(stderr, "emulated NCCL: a graph that captured a call lives while its communicator ends\n");
      return false;
    }
    advance();
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return true;
}

int submit_call(const NcclWork& work, const void* from, void* to, void* comm, cudaStream_t stream) {
  const std::shared_ptr<NcclGroup> group = group_of(comm);
  if (!group) return refuse(kInvalidArgument, "this is no communicator, or one that has ended");
  if (group->status() != kSuccess) return refuse(group->status(), group->error());
  const auto ranks = static_cast<std::size_t>(group->ranks());
  const std::size_t size = nccl_size_of(work.dtype), bytes = work.count * size;
  if (size == 0) return refuse(kInvalidArgument, "there is no type " + std::to_string(work.dtype));
  if (work.op < 0 || work.op > 4) return refuse(kInvalidArgument, "there is no operation " + std::to_string(work.op));
  if (work.root < 0 || work.root >= group->ranks())
    return refuse(kInvalidArgument, "there is no rank " + std::to_string(work.root));
  if (work.count == 0) return kSuccess;
  const bool of_two = work.call == NcclCall::send || work.call == NcclCall::recv;
  if (of_two && work.root == group->rank())
    return refuse(kInvalidUsage, "a rank sends to itself only inside a group of calls");
  const bool reads = work.call != NcclCall::recv && (work.call != NcclCall::broadcast || work.root == group->rank());
  if (reads && !is_device_memory(from, bytes * (work.call == NcclCall::reduce_scatter ? ranks : 1)))
    return refuse(kInvalidArgument, "the buffer to send is not in the memory of the GPU");
  if (work.call != NcclCall::send && !is_device_memory(to, bytes * (work.call == NcclCall::all_gather ? ranks : 1)))
    return refuse(kInvalidArgument, "the buffer to receive is not in the memory of the GPU");
  if (leaves_capture(stream)) return refuse(kInvalidUsage, "the stream is not a part of this thread's capture");
  // Ranks are connected at the first call of a kind.
  if (first_use("nccl", reinterpret_cast<std::uintptr_t>(comm) * 8 + static_cast<std::uint64_t>(work.call)) !=
      cudaSuccess)
    return refuse(1, "the first call of a kind is not allowed in a capture that is not relaxed");
  static_cast<void>(library_status(work.str().substr(0, work.str().find(' ')), 0));
  const cudaError_t status = submit(stream, [group, work, from, to] {
    return group->run(work, from, to) || group->is_aborted() ? std::string() : std::string("NCCL: ") + group->error();
  });
  return status == cudaSuccess ? kSuccess : refuse(1, cudaGetErrorString(status));
}

}  // namespace

extern "C" {

ncclResult_t ncclGetVersion(int* version) {
  *version = 22800;
  return kSuccess;
}

ncclResult_t ncclGetUniqueId(ncclUniqueId* id) {
  static std::atomic<int> made = 0;
  std::memset(id, 0, sizeof *id);
  std::snprintf(id->internal, sizeof id->internal, "/emulated-nccl-%d-%d", static_cast<int>(getpid()), ++made);
  return NcclGroup::make(id->internal) ? kSuccess : refuse(kSystemError, "no shared memory");
}

ncclResult_t ncclCommInitRank(ncclComm_t* comm, int ranks, ncclUniqueId id, int rank) {
  *comm = nullptr;
  if (ranks < 1 || ranks > NcclGroup::kMostRanks || rank < 0 || rank >= ranks)
    return refuse(kInvalidArgument, "there is no rank " + std::to_string(rank) + " of " + std::to_string(ranks));
  std::string error;
  id.internal[sizeof id.internal - 1] = '\0';
  auto group = std::make_shared<NcclGroup>(id.internal, rank, ranks, error);
  if (!error.empty()) return refuse(kInvalidUsage, error);
  if (ranks > 1) keep_going();
  *comm = group.get();
  const std::lock_guard lock(mutex);
  groups[*comm] = std::move(group);
  return kSuccess;
}

ncclResult_t ncclCommDestroy(ncclComm_t comm) {
  const std::shared_ptr<NcclGroup> group = group_of(comm);
  if (!group) return refuse(kInvalidArgument, "this is no communicator, or one that has ended");
  if (!is_let_go(group)) return refuse(kSystemError, "it would wait for ever for a graph that captured its calls");
  const std::lock_guard lock(mutex);
  groups.erase(comm);
  return kSuccess;
}

ncclResult_t ncclCommAbort(ncclComm_t comm) {
  if (const std::shared_ptr<NcclGroup> group = group_of(comm)) group->abort();
  return ncclCommDestroy(comm);
}

ncclResult_t ncclCommGetAsyncError(ncclComm_t comm, ncclResult_t* status) {
  const std::shared_ptr<NcclGroup> group = group_of(comm);
  if (!group) return refuse(kInvalidArgument, "this is no communicator, or one that has ended");
  *status = group->status();
  if (*status != kSuccess) last_error = group->error();
  return kSuccess;
}

const char* ncclGetErrorString(ncclResult_t status) {
  constexpr const char* kTexts[] = {"no error",
                                    "unhandled cuda error",
                                    "unhandled system error",
                                    "internal error",
                                    "invalid argument",
                                    "invalid usage",
                                    "remote process exited or there was a network error",
                                    "NCCL operation in progress"};
  return status >= 0 && status < 8 ? kTexts[status] : "unknown result code";
}

const char* ncclGetLastError(ncclComm_t) { return last_error.c_str(); }

ncclResult_t ncclAllReduce(const void* from, void* to, std::size_t count, int dtype, int op, ncclComm_t comm,
                           cudaStream_t stream) {
  return submit_call({NcclCall::all_reduce, dtype, op, 0, count}, from, to, comm, stream);
}

ncclResult_t ncclBroadcast(const void* from, void* to, std::size_t count, int dtype, int root, ncclComm_t comm,
                           cudaStream_t stream) {
  return submit_call({NcclCall::broadcast, dtype, 0, root, count}, from, to, comm, stream);
}

ncclResult_t ncclAllGather(const void* from, void* to, std::size_t count, int dtype, ncclComm_t comm,
                           cudaStream_t stream) {
  return submit_call({NcclCall::all_gather, dtype, 0, 0, count}, from, to, comm, stream);
}

ncclResult_t ncclReduceScatter(const void* from, void* to, std::size_t count, int dtype, int op, ncclComm_t comm,
                               cudaStream_t stream) {
  return submit_call({NcclCall::reduce_scatter, dtype, op, 0, count}, from, to, comm, stream);
}

ncclResult_t ncclSend(const void* from, std::size_t count, int dtype, int peer, ncclComm_t comm, cudaStream_t stream) {
  return submit_call({NcclCall::send, dtype, 0, peer, count}, from, nullptr, comm, stream);
}

ncclResult_t ncclRecv(void* to, std::size_t count, int dtype, int peer, ncclComm_t comm, cudaStream_t stream) {
  return submit_call({NcclCall::recv, dtype, 0, peer, count}, nullptr, to, comm, stream);
}

}  // extern "C"
