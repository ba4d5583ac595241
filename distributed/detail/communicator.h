#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

namespace minnow::dist {

/// What a rank calls, compared with what the others call.
struct Signature {
  enum class Kind : std::int32_t { all_reduce, broadcast, all_gather, reduce_scatter, barrier, buckets, end, nccl };

  Kind kind = Kind::barrier;
  std::int32_t dtype = -1;
  std::int32_t op = -1;
  std::int32_t root = -1;
  std::int32_t on_gpu = 0;  ///< by NCCL
  std::int32_t rank = 0;    ///< of the shape
  std::int64_t sizes[8] = {};
  char name[64] = "";  ///< of a parameter

  bool operator==(const Signature& other) const;
  const char* name_of_kind() const;
  std::string str() const;
};

/// MPI, for one thread at a time.  Messages are polled, so that all waits end at the timeout.
class Communicator {
 public:
  /// Starts MPI.
  explicit Communicator(double timeout);

  int rank() const { return rank_; }
  int size() const { return size_; }
  int local_rank() const { return local_rank_; }
  int local_size() const { return local_size_; }

  /// Throws on all ranks, unless all call it with the same signature: ValueError; BackendError after the timeout.
  void agree(const Signature& mine);
  /// Part i of `from` to rank i; what rank i sends to part i of `to`.  Parts have `bytes`.
  void exchange(const std::byte* from, std::byte* to, std::size_t bytes);
  /// Part `rank` of `parts`, of `bytes` each, to all ranks.
  void gather(std::byte* parts, std::size_t bytes);
  void broadcast(std::byte* data, std::size_t bytes, int root);
  void send(const std::byte* data, std::size_t bytes, int to);
  void receive(std::byte* data, std::size_t bytes, int from);

  void finish();
  /// Ends all ranks.
  [[noreturn]] void abort();

 private:
  struct Verdict {
    std::int32_t kind = 0;  // 0: agreed, 1: ValueError, 2: BackendError
    char text[2044] = "";
  };
  Verdict judge(const Signature& mine);
  static void act_on(const Verdict& verdict);

  double timeout_;
  int rank_ = 0, size_ = 1, local_rank_ = 0, local_size_ = 1;
};

}  // namespace minnow::dist
