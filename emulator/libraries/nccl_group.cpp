#include "nccl_group.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <fcntl.h>
#include <limits>
#include <new>
#include <sys/mman.h>
#include <type_traits>
#include <unistd.h>

namespace emulator {
namespace {

constexpr std::size_t kChunk = std::size_t{64} << 10;
constexpr int kRemoteError = 6, kInvalidUsage = 5;

template <class T> float to_float(T x) { return static_cast<float>(x); }
template <> float to_float(__half x) { return __half2float(x); }
template <> float to_float(__nv_bfloat16 x) { return __bfloat162float(x); }
template <class T> T from_float(float x) { return static_cast<T>(x); }
template <> __half from_float(float x) { return __float2half(x); }
template <> __nv_bfloat16 from_float(float x) { return __float2bfloat16(x); }

template <class T> constexpr bool is_half = std::is_same_v<T, __half> || std::is_same_v<T, __nv_bfloat16>;

/// One step of a ring, whose result has the type of the elements.
template <class T> T combined(int op, T a, T b) {
  if constexpr (is_half<T>) {
    return from_float<T>(combined<float>(op, to_float(a), to_float(b)));
  } else if constexpr (std::is_floating_point_v<T>) {
    switch (op) {
      case 1: return a * b;
      case 2: return std::max(a, b) == a || b != b ? a : b;  // a NaN is left out
      case 3: return std::min(a, b) == a || b != b ? a : b;
      default: return a + b;
    }
  } else {
    using U = std::make_unsigned_t<T>;
    switch (op) {
      case 1: return static_cast<T>(static_cast<std::uint64_t>(a) * static_cast<std::uint64_t>(b));
      case 2: return std::max(a, b);
      case 3: return std::min(a, b);
      default: return static_cast<T>(static_cast<U>(static_cast<U>(a) + static_cast<U>(b)));
    }
  }
}

/// A mean is a sum of products with 1 / ranks, of which each has the type of the elements.
template <class T> T scaled(int op, T x, int ranks) {
  if (op != 4) return x;
  if constexpr (is_half<T>)
    return from_float<T>(to_float(x) * to_float(from_float<T>(1.0f / static_cast<float>(ranks))));
  else if constexpr (std::is_floating_point_v<T>) return x * (T{1} / static_cast<T>(ranks));
  else return x;
}

template <class F> void with_type(int dtype, F&& body) {
  switch (dtype) {
    case 0: return body(std::int8_t{});
    case 1: return body(std::uint8_t{});
    case 2: return body(std::int32_t{});
    case 3: return body(std::uint32_t{});
    case 4: return body(std::int64_t{});
    case 5: return body(std::uint64_t{});
    case 6: return body(__half{});
    case 7: return body(float{});
    case 8: return body(double{});
    default: return body(__nv_bfloat16{});
  }
}

}  // namespace

std::size_t nccl_size_of(int dtype) {
  constexpr std::size_t kSizes[] = {1, 1, 4, 4, 8, 8, 2, 4, 8, 2};
  return dtype >= 0 && dtype < 10 ? kSizes[dtype] : 0;
}

std::string NcclWork::str() const {
  constexpr const char* kNames[] = {"ncclAllReduce",     "ncclBroadcast", "ncclAllGather",
                                    "ncclReduceScatter", "ncclSend",      "ncclRecv"};
  return std::string(kNames[static_cast<int>(call)]) + " of " + std::to_string(count) + " elements of type " +
         std::to_string(dtype) + ", operation " + std::to_string(op) + ", root " + std::to_string(root);
}

struct NcclGroup::Shared {
  struct Slot {
    std::atomic<std::uint64_t> posted, taken;
    NcclWork work;
    std::byte data[kChunk];
  };
  std::atomic<int> joined;
  std::atomic<int> ranks;
  std::atomic<int> pids[kMostRanks];
  Slot slots[kMostRanks];
  Slot pairs[kMostRanks][kMostRanks];  // from a rank to another
};

bool NcclGroup::make(const std::string& name) {
  const int file = shm_open(name.c_str(), O_CREAT | O_EXCL | O_RDWR, 0600);
  if (file < 0) return false;
  const bool made = ftruncate(file, sizeof(Shared)) == 0;  // zeros
  close(file);
  return made;
}

NcclGroup::NcclGroup(const std::string& name, int rank, int ranks, std::string& error) : rank_(rank), ranks_(ranks) {
  const int file = shm_open(name.c_str(), O_RDWR, 0600);
  void* memory = file < 0 ? MAP_FAILED : mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  if (file >= 0) close(file);
  if (memory == MAP_FAILED) {
    error = "there is no group of this id";
    return;
  }
  shared_ = static_cast<Shared*>(memory);
  int none = 0;
  shared_->ranks.compare_exchange_strong(none, ranks);
  if (shared_->ranks != ranks) error = "the ranks give another number of ranks";
  none = 0;
  if (error.empty() && !shared_->pids[rank].compare_exchange_strong(none, static_cast<int>(getpid())))
    error = "two processes have the same rank";
  if (!error.empty()) return;
  ++shared_->joined;
  for (int r = 0; r < ranks && error.empty(); ++r)
    if (!wait(r, [&] { return shared_->pids[r] != 0; })) error = error_;
  if (rank == 0) shm_unlink(name.c_str());
}

NcclGroup::~NcclGroup() {
  if (shared_ != nullptr) munmap(shared_, sizeof(Shared));
}

bool NcclGroup::fail(int status, const std::string& text) {
  std::snprintf(error_, sizeof error_, "%s", text.c_str());
  status_ = status;
  return false;
}

/// Waits for another rank, as a kernel does; unlike that, not for ever.
template <class Condition> bool NcclGroup::wait(int other, Condition holds) {
  using Clock = std::chrono::steady_clock;
  const auto start = Clock::now();
  for (int tries = 0; !holds(); ++tries) {
    if (aborted_) return false;
    if (tries < 100) continue;
    usleep(tries < 1000 ? 10 : 200);
    if (tries % 64 != 0) continue;
    const int pid = shared_->pids[other];
    if (pid != 0 && kill(pid, 0) != 0 && errno == ESRCH)
      return fail(kRemoteError, "rank " + std::to_string(other) + " is gone");
    if (Clock::now() - start > std::chrono::seconds(60))
      return fail(kRemoteError, "rank " + std::to_string(other) + " does not come: a GPU would hang here");
  }
  return true;
}

/// Puts bytes into this rank's slot; afterwards all slots can be read until done().
bool NcclGroup::exchange(const NcclWork& work, const std::byte* mine, std::size_t bytes) {
  for (int r = 0; r < ranks_; ++r)
    if (!wait(r, [&] { return shared_->slots[r].taken >= turn_; })) return false;
  Shared::Slot& own = shared_->slots[rank_];
  if (bytes > 0) std::memcpy(own.data, mine, bytes);
  own.work = work;
  own.posted = ++turn_;
  for (int r = 0; r < ranks_; ++r) {
    if (!wait(r, [&] { return shared_->slots[r].posted >= turn_; })) return false;
    if (shared_->slots[r].work == work) continue;
    own.taken = turn_;
    return fail(kInvalidUsage, "the ranks differ, at which a GPU hangs: rank " + std::to_string(rank_) + " calls " +
                                   work.str() + "; rank " + std::to_string(r) + " calls " +
                                   shared_->slots[r].work.str());
  }
  return true;
}

void NcclGroup::done() { shared_->slots[rank_].taken = turn_; }

/// Ends when the other rank has taken everything, as a kernel may.
bool NcclGroup::send(const NcclWork& work, const std::byte* from) {
  Shared::Slot& pair = shared_->pairs[rank_][work.root];
  const std::size_t bytes = work.count * nccl_size_of(work.dtype);
  for (std::size_t at = 0; at < bytes; at += kChunk) {
    const std::uint64_t number = pair.posted;
    pair.work = work;
    std::memcpy(pair.data, from + at, std::min(kChunk, bytes - at));
    pair.posted = number + 1;
    if (!wait(work.root, [&] { return pair.taken > number; })) return false;
  }
  return true;
}

bool NcclGroup::receive(const NcclWork& work, std::byte* to) {
  Shared::Slot& pair = shared_->pairs[work.root][rank_];
  const std::size_t bytes = work.count * nccl_size_of(work.dtype);
  for (std::size_t at = 0; at < bytes; at += kChunk) {
    const std::uint64_t number = pair.taken;
    if (!wait(work.root, [&] { return pair.posted > number; })) return false;
    const bool fits = pair.work.dtype == work.dtype && pair.work.count == work.count;
    if (fits) std::memcpy(to + at, pair.data, std::min(kChunk, bytes - at));
    const std::string theirs = pair.work.str();
    pair.taken = number + 1;
    if (!fits)
      return fail(kInvalidUsage, "the ranks differ, at which a GPU hangs: rank " + std::to_string(rank_) + " calls " +
                                     work.str() + "; rank " + std::to_string(work.root) + " calls " + theirs);
  }
  return true;
}

bool NcclGroup::run(const NcclWork& work, const void* from_void, void* to_void) {
  if (status_ != 0) return false;
  static const char* const fails = std::getenv("MINNOW_EMULATOR_NCCL_FAILS");
  if (fails != nullptr && ++calls_ >= std::atoi(fails)) {
    aborted_ = true;  // nothing is written, as where a kernel waits for a network that is gone
    return fail(kRemoteError, "the network is gone");
  }
  const auto* const from = static_cast<const std::byte*>(from_void);
  auto* const to = static_cast<std::byte*>(to_void);
  if (work.call == NcclCall::send) return send(work, from);
  if (work.call == NcclCall::recv) return receive(work, to);
  const std::size_t size = nccl_size_of(work.dtype), bytes = work.count * size;
  const int rows = work.call == NcclCall::reduce_scatter ? ranks_ : 1;
  for (int row = 0; row < rows; ++row)
    for (std::size_t at = 0; at < bytes; at += kChunk) {
      const std::size_t some = std::min(kChunk, bytes - at), row_at = static_cast<std::size_t>(row) * bytes;
      const bool gives = work.call != NcclCall::broadcast || work.root == rank_;
      if (!exchange(work, from + row_at + at, gives ? some : 0)) return false;
      const auto data_of = [&](int r) { return static_cast<const std::byte*>(shared_->slots[r].data); };
      if (work.call == NcclCall::broadcast) {
        std::memcpy(to + at, data_of(work.root), some);
      } else if (work.call == NcclCall::all_gather) {
        for (int r = 0; r < ranks_; ++r) std::memcpy(to + static_cast<std::size_t>(r) * bytes + at, data_of(r), some);
      } else if (work.call == NcclCall::all_reduce || row == rank_) {
        with_type(work.dtype, [&]<class T>(T) {
          auto* const out = reinterpret_cast<T*>(to + at);
          for (std::size_t i = 0; i < some / size; ++i) {
            // A ring starts elsewhere for each part of the data.
            const int first = static_cast<int>((at / size + i) / 16 % static_cast<std::size_t>(ranks_));
            const auto value = [&](int k) {
              return scaled(work.op, reinterpret_cast<const T*>(data_of((first + k) % ranks_))[i], ranks_);
            };
            T sum = value(0);
            for (int k = 1; k < ranks_; ++k) sum = combined(work.op, sum, value(k));
            out[i] = sum;
          }
        });
      }
      done();
    }
  return true;
}

}  // namespace emulator
