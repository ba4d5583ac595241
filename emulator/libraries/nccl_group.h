#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>

/// What the processes of a communicator share: memory in which each puts what the others read.
namespace emulator {

enum class NcclCall : std::int32_t { all_reduce, broadcast, all_gather, reduce_scatter, send, recv };

/// One call, compared between the ranks.  Enumerations are NCCL's.  `root` of send and recv is the other rank.
struct NcclWork {
  NcclCall call = NcclCall::all_reduce;
  std::int32_t dtype = 0, op = 0, root = 0;
  std::uint64_t count = 0;

  bool operator==(const NcclWork&) const = default;
  std::string str() const;
};

/// 0 for a dtype that is not supported.
std::size_t nccl_size_of(int dtype);

class NcclGroup {
 public:
  static constexpr int kMostRanks = 8;

  /// Makes the shared memory: the first rank does, before the others join.  False if the system refuses.
  static bool make(const std::string& name);
  /// Joins and waits for the others.  `error` says what is wrong, if anything is.
  NcclGroup(const std::string& name, int rank, int ranks, std::string& error);
  ~NcclGroup();
  NcclGroup(const NcclGroup&) = delete;
  NcclGroup& operator=(const NcclGroup&) = delete;

  /// Runs as work of a stream.  False if the ranks differ, or one is gone: see error().
  bool run(const NcclWork& work, const void* from, void* to);
  void abort() { aborted_ = true; }
  bool is_aborted() const { return aborted_; }
  int rank() const { return rank_; }
  int ranks() const { return ranks_; }
  /// The status of NCCL, and a text.
  int status() const { return status_; }
  const char* error() const { return error_; }

 private:
  struct Shared;
  bool send(const NcclWork& work, const std::byte* from);
  bool receive(const NcclWork& work, std::byte* to);
  bool exchange(const NcclWork& work, const std::byte* mine, std::size_t bytes);
  void done();
  bool fail(int status, const std::string& text);
  template <class Condition> bool wait(int other, Condition holds);

  Shared* shared_ = nullptr;
  int rank_, ranks_;
  std::uint64_t turn_ = 0;
  int calls_ = 0;
  std::atomic<bool> aborted_ = false;
  std::atomic<int> status_ = 0;
  char error_[512] = "";
};

}  // namespace emulator
