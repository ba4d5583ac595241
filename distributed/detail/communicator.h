#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace minnow::dist {

/// What a rank calls, compared with what the others call.
struct Signature {
  enum class Kind : std::int32_t {
    all_reduce,
    broadcast,
    all_gather,
    reduce_scatter,
    barrier,
    parameter,  ///< of a DataParallel that is made
    bucket,     ///< of gradients
    buffers,
    end,
    nccl
  };

  Kind kind = Kind::barrier;
  std::int32_t dtype = -1;
  std::int32_t op = -1;
  std::int32_t root = -1;
  std::int32_t on_gpu = 0;  ///< by NCCL
  std::int32_t sends = 0;   ///< 1 of send(): its partner's differs, and it is not compared
  std::int32_t model = 0;   ///< the number of a DataParallel, from 1
  std::int64_t turn = 0;    ///< its backward, from 1
  std::int32_t rank = 0;    ///< of the shape
  std::int64_t sizes[8] = {};
  char name[64] = "";           ///< of a parameter: its end
  std::uint64_t name_hash = 0;  ///< of all of it
  std::uint64_t detail = 0;     ///< may differ, as agree() says
  std::int64_t call = 0;        ///< how many came before: set by agree()

  bool operator==(const Signature& other) const;
  void set_name(const std::string& whole);
  const char* name_of_kind() const;
  std::string str() const;
};

/// Of some bytes (FNV-1a).
std::uint64_t hash_of(const void* data, std::size_t bytes);

/// MPI, for one thread at a time.  Messages are polled, so that all waits end at the timeout.
class Communicator {
 public:
  /// Starts MPI.
  explicit Communicator(double timeout);

  int rank() const { return rank_; }
  int size() const { return size_; }
  int local_rank() const { return local_rank_; }
  int local_size() const { return local_size_; }

  /// Throws on all ranks, unless all call it with the same signature: ValueError; BackendError after the timeout, and
  /// from then on where ranks have lost each other.  Whether all have the same detail.
  bool agree(Signature mine);
  /// Part i of `from` to rank i; what rank i sends to part i of `to`.  Parts have `bytes`.
  void exchange(const std::byte* from, std::byte* to, std::size_t bytes);
  /// Part `rank` of `parts`, of `bytes` each, to all ranks.
  void gather(std::byte* parts, std::size_t bytes);
  void broadcast(std::byte* data, std::size_t bytes, int root);
  void send(const std::byte* data, std::size_t bytes, int to);
  void receive(std::byte* data, std::size_t bytes, int from);
  /// A rank whose message nobody has received, or -1.
  int unreceived() const;

  void finish();
  /// From any thread: all waits end by an exception.
  static void leave();
  /// Ends all ranks.
  [[noreturn]] void abort();

 private:
  struct Verdict {
    std::int32_t kind = 0;  // 0: agreed, 1: ValueError, 2: BackendError
    std::int32_t same_detail = 1;
    char text[2040] = "";
  };
  Verdict judge(const Signature& mine) const;
  Verdict ask(const Signature& mine) const;
  void require_whole() const;
  template <class F> void together(F call);

  double timeout_;
  int rank_ = 0, size_ = 1, local_rank_ = 0, local_size_ = 1;
  std::int64_t calls_ = 0;
  std::string broken_;  // why the ranks have lost each other
};

}  // namespace minnow::dist
