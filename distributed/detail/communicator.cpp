#include <minnow/distributed/detail/communicator.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mpi.h>
#include <mutex>
#include <thread>
#include <vector>
#include <minnow/tensor/dtype.h>
#include <minnow/tensor/error.h>
#include <minnow/tensor/shape.h>

namespace minnow::dist {
namespace {

constexpr int kSignatureTag = 1, kVerdictTag = 2, kDataTag = 3;
constexpr std::size_t kMostBytes = std::size_t{1} << 30;  // of one message: MPI counts in int
constexpr double kLongest = 1e9;                          // what a clock can add

std::atomic<bool> leaves = false;

void check(int status, const char* call) {
  if (status == MPI_SUCCESS) return;
  char text[MPI_MAX_ERROR_STRING] = "";
  int length = 0;
  MPI_Error_string(status, text, &length);
  throw BackendError(std::string(call) + " has failed\n  MPI says: " + text + "\na rank or the network is gone");
}

/// Waits by testing, since a wait of MPI has no end if a rank is gone.
class Deadline {
 public:
  explicit Deadline(double seconds)
      : end_(Clock::now() + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds))) {}
  bool passed() {
    // Spins for as long as a message to a neighbour takes, then leaves the processor to others.
    constexpr int kSpins = 200, kYields = 2000;
    if (++tries_ > kYields) std::this_thread::sleep_for(std::chrono::microseconds(50));
    else if (tries_ > kSpins) std::this_thread::yield();
    return tries_ % 64 == 0 && Clock::now() > end_;
  }

 private:
  using Clock = std::chrono::steady_clock;
  Clock::time_point end_;
  int tries_ = 0;
};

bool is_complete(MPI_Request& request) {
  int done = 0;
  check(MPI_Test(&request, &done, MPI_STATUS_IGNORE), "MPI_Test");
  return done != 0;
}

/// False at the timeout.
bool wait_for(MPI_Request& request, double timeout) {
  Deadline deadline(timeout);
  while (!is_complete(request)) {
    if (leaves) throw BackendError("the process ends\nwait for a collective before the end of the dist::Process");
    if (deadline.passed()) return false;
  }
  return true;
}

/// Of a receive, so that nothing is written to its memory any more.
void cancel(MPI_Request& request) {
  MPI_Cancel(&request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
}

std::string in_seconds(double time) {
  char text[32];
  std::snprintf(text, sizeof text, "%g s", time);
  return text;
}

void require_done(bool done, const char* what, double timeout) {
  if (!done)
    throw BackendError(std::string("the data of ") + what + " have not arrived within " + in_seconds(timeout) +
                       "\na rank has ended or hangs: look at the output of the others");
}

/// Ends the process if MPI does not start: it waits without end for a rank that has no Process.
class StartWatch {
 public:
  explicit StartWatch(double timeout) : thread_([this, timeout] { run(timeout); }) {}
  ~StartWatch() {
    {
      const std::lock_guard lock(mutex_);
      started_ = true;
    }
    changed_.notify_all();
    thread_.join();
  }
  StartWatch(const StartWatch&) = delete;
  StartWatch& operator=(const StartWatch&) = delete;

 private:
  void run(double timeout) {
    constexpr double kGrace = 15;  // what mpirun itself may take
    std::unique_lock lock(mutex_);
    if (changed_.wait_for(lock, std::chrono::duration<double>(timeout + kGrace), [&] { return started_; })) return;
    std::fprintf(
        stderr,
        "BackendError: dist::Process: MPI has not started within %g s\nall ranks make a dist::Process; one has "
        "not, has ended, or cannot be reached\n",
        timeout + kGrace);
    std::_Exit(EXIT_FAILURE);
  }
  std::mutex mutex_;
  std::condition_variable changed_;
  bool started_ = false;
  std::thread thread_;
};

int count_of(std::size_t bytes) { return static_cast<int>(bytes); }

}  // namespace

std::uint64_t hash_of(const void* data, std::size_t bytes) {
  std::uint64_t hash = 14695981039346656037u;
  for (std::size_t i = 0; i < bytes; ++i) {
    hash ^= static_cast<const unsigned char*>(data)[i];
    hash *= 1099511628211u;
  }
  return hash;
}

bool Signature::operator==(const Signature& other) const {
  return kind == other.kind && dtype == other.dtype && op == other.op && root == other.root && on_gpu == other.on_gpu &&
         model == other.model && turn == other.turn && rank == other.rank &&
         std::equal(sizes, sizes + rank, other.sizes) && name_hash == other.name_hash;
}

void Signature::set_name(const std::string& whole) {
  name_hash = hash_of(whole.data(), whole.size());
  const std::size_t most = sizeof name - 1;
  const std::string end = whole.size() <= most ? whole : "..." + whole.substr(whole.size() - (most - 3));
  std::memcpy(name, end.c_str(), end.size() + 1);
}

const char* Signature::name_of_kind() const {
  constexpr const char* kKinds[] = {"all_reduce",
                                    "broadcast",
                                    "all_gather",
                                    "reduce_scatter",
                                    "barrier",
                                    "DataParallel",
                                    "backward of DataParallel",
                                    "forward of DataParallel: its buffers",
                                    "the end of its Process",
                                    "the start of NCCL"};
  return kKinds[static_cast<int>(kind)];
}

std::string Signature::str() const {
  constexpr const char* kOps[] = {"sum", "mean", "max", "min"};
  std::string text = name_of_kind();
  if (model > 0) text += "  model " + std::to_string(model);
  if (turn > 0) text += "  backward " + std::to_string(turn);
  if (dtype >= 0) {
    Shape shape;
    for (int d = 0; d < rank; ++d) shape.push_back(sizes[d]);
    text += std::string("  ") + std::string(name_of(static_cast<DType>(dtype))) + shape.str();
  }
  if (on_gpu != 0) text += " on a GPU";
  if (op >= 0) text += std::string("  ") + kOps[op];
  if (root >= 0) text += "  from rank " + std::to_string(root);
  if (name[0] != '\0') text += std::string("  '") + name + "'";
  return text;
}

Communicator::Communicator(double timeout) : timeout_(std::min(timeout, kLongest)) {
  int started = 0, provided = 0;
  check(MPI_Initialized(&started), "MPI_Initialized");
  if (started != 0) throw BackendError("dist::Process: MPI was started before\nmake one dist::Process in a program");
  {
    const StartWatch watch(timeout_);
    check(MPI_Init_thread(nullptr, nullptr, MPI_THREAD_SERIALIZED, &provided), "MPI_Init_thread");
  }
  if (provided < MPI_THREAD_SERIALIZED)
    throw BackendError("dist::Process: this MPI cannot be called by threads in turn\nbuild it with thread support");
  check(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler");
  check(MPI_Comm_rank(MPI_COMM_WORLD, &rank_), "MPI_Comm_rank");
  check(MPI_Comm_size(MPI_COMM_WORLD, &size_), "MPI_Comm_size");
  MPI_Comm local = MPI_COMM_NULL;
  check(MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &local), "MPI_Comm_split_type");
  check(MPI_Comm_rank(local, &local_rank_), "MPI_Comm_rank");
  check(MPI_Comm_size(local, &local_size_), "MPI_Comm_size");
  check(MPI_Comm_free(&local), "MPI_Comm_free");
}

void Communicator::leave() { leaves = true; }

void Communicator::require_whole() const {
  if (!broken_.empty())
    throw BackendError("a collective before has failed, and the ranks have lost each other\n" + broken_ +
                       "\nstart the program again");
}

/// What fails between ranks that have agreed cannot be done again: some may have ended it.
template <class F> void Communicator::together(F call) {
  require_whole();
  try {
    call();
  } catch (const BackendError& error) {
    broken_ = error.what();
    throw;
  }
}

bool Communicator::agree(Signature mine) {
  require_whole();
  if (size_ == 1) return true;
  mine.call = ++calls_;
  Verdict verdict;
  together([&] { verdict = rank_ == 0 ? judge(mine) : ask(mine); });
  if (verdict.kind == 1) throw ValueError(verdict.text);
  if (verdict.kind == 2) throw BackendError(verdict.text);
  return verdict.same_detail != 0;
}

/// On the other ranks.
Communicator::Verdict Communicator::ask(const Signature& mine) const {
  Verdict verdict;
  MPI_Request sent = MPI_REQUEST_NULL, answer = MPI_REQUEST_NULL;
  check(MPI_Irecv(&verdict, count_of(sizeof verdict), MPI_BYTE, 0, kVerdictTag, MPI_COMM_WORLD, &answer), "MPI_Irecv");
  check(MPI_Isend(&mine, count_of(sizeof mine), MPI_BYTE, 0, kSignatureTag, MPI_COMM_WORLD, &sent), "MPI_Isend");
  constexpr double kGrace = 5;  // rank 0 answers at the timeout
  if (!wait_for(answer, timeout_ + kGrace)) {
    cancel(answer);
    throw BackendError(std::string(mine.name_of_kind()) + ": rank 0 has not called it within " + in_seconds(timeout_) +
                       "\n  rank " + std::to_string(rank_) + "  " + mine.str() +
                       "\nall ranks call the same collectives; rank 0 has ended, hangs, or waits for another one");
  }
  require_done(wait_for(sent, timeout_), "a signature", timeout_);
  return verdict;
}

/// On rank 0: compares what all call, and tells them.
Communicator::Verdict Communicator::judge(const Signature& mine) const {
  std::vector<Signature> all(static_cast<std::size_t>(size_), mine);
  std::vector<MPI_Request> requests(all.size(), MPI_REQUEST_NULL);
  for (int r = 1; r < size_; ++r) {
    const auto i = static_cast<std::size_t>(r);
    check(MPI_Irecv(&all[i], count_of(sizeof(Signature)), MPI_BYTE, r, kSignatureTag, MPI_COMM_WORLD, &requests[i]),
          "MPI_Irecv");
  }
  Deadline deadline(timeout_);
  int done = 0;
  while (done == 0) {
    check(MPI_Testall(size_, requests.data(), &done, MPI_STATUSES_IGNORE), "MPI_Testall");
    if (done == 0 && deadline.passed()) break;
  }
  Verdict verdict;
  std::vector<bool> here(all.size(), true);
  if (done == 0) {
    std::string missing;
    for (std::size_t r = 1; r < all.size(); ++r)
      if (requests[r] != MPI_REQUEST_NULL && !is_complete(requests[r])) {
        here[r] = false;
        missing += (missing.empty() ? "" : ", ") + std::to_string(r);
        cancel(requests[r]);
      }
    verdict.kind = missing.empty() ? 0 : 2;
    std::snprintf(
        verdict.text, sizeof verdict.text,
        "%s: ranks that have not called it within %g s: %s\n  rank 0  %s\nall ranks call the same collectives; "
        "these have ended, hang, or are slow: see ProcessOptions::timeout",
        mine.name_of_kind(), timeout_, missing.substr(0, 500).c_str(), mine.str().c_str());
  }
  for (std::size_t r = 1; r < all.size() && verdict.kind == 0; ++r) {
    if (all[r].detail != mine.detail) verdict.same_detail = 0;
    if (all[r].call != mine.call) {
      verdict.kind = 2;
      std::snprintf(
          verdict.text, sizeof verdict.text,
          "%s: the ranks have lost each other\n  rank 0  at its call %lld: %s\n  rank %zu  at its call %lld: "
          "%s\na call before has failed on some of them, for instance at the timeout: start the program again",
          mine.name_of_kind(), static_cast<long long>(mine.call), mine.str().c_str(), r,
          static_cast<long long>(all[r].call), all[r].str().c_str());
    } else if (!(all[r] == mine)) {
      verdict.kind = 1;
      std::snprintf(verdict.text, sizeof verdict.text,
                    "%s: the ranks do not call the same\n  rank 0  %s\n  rank %zu  %s\nall ranks call the same "
                    "collectives in the same order, with the same shapes and dtypes",
                    mine.name_of_kind(), mine.str().c_str(), r, all[r].str().c_str());
    }
  }
  std::vector<MPI_Request> sent(all.size(), MPI_REQUEST_NULL);
  const std::size_t bytes = verdict.kind == 0 ? offsetof(Verdict, text) : sizeof verdict;
  for (int r = 1; r < size_; ++r)
    if (here[static_cast<std::size_t>(r)])
      check(MPI_Isend(&verdict, count_of(bytes), MPI_BYTE, r, kVerdictTag, MPI_COMM_WORLD,
                      &sent[static_cast<std::size_t>(r)]),
            "MPI_Isend");
  for (MPI_Request& request : sent) require_done(wait_for(request, timeout_), "a verdict", timeout_);
  return verdict;
}

void Communicator::exchange(const std::byte* from, std::byte* to, std::size_t bytes) {
  together([&] {
    MPI_Request request = MPI_REQUEST_NULL;
    check(MPI_Ialltoall(from, count_of(bytes), MPI_BYTE, to, count_of(bytes), MPI_BYTE, MPI_COMM_WORLD, &request),
          "MPI_Ialltoall");
    require_done(wait_for(request, timeout_), "an exchange", timeout_);
  });
}

void Communicator::gather(std::byte* parts, std::size_t bytes) {
  together([&] {
    MPI_Request request = MPI_REQUEST_NULL;
    check(
        MPI_Iallgather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, parts, count_of(bytes), MPI_BYTE, MPI_COMM_WORLD, &request),
        "MPI_Iallgather");
    require_done(wait_for(request, timeout_), "all_gather", timeout_);
  });
}

void Communicator::broadcast(std::byte* data, std::size_t bytes, int root) {
  together([&] {
    for (std::size_t at = 0; at < bytes; at += kMostBytes) {
      MPI_Request request = MPI_REQUEST_NULL;
      check(MPI_Ibcast(data + at, count_of(std::min(kMostBytes, bytes - at)), MPI_BYTE, root, MPI_COMM_WORLD, &request),
            "MPI_Ibcast");
      require_done(wait_for(request, timeout_), "broadcast", timeout_);
    }
  });
}

void Communicator::send(const std::byte* data, std::size_t bytes, int to) {
  require_whole();
  for (std::size_t at = 0; at < bytes; at += kMostBytes) {
    MPI_Request request = MPI_REQUEST_NULL;
    check(MPI_Isend(data + at, count_of(std::min(kMostBytes, bytes - at)), MPI_BYTE, to, kDataTag, MPI_COMM_WORLD,
                    &request),
          "MPI_Isend");
    if (!wait_for(request, timeout_))
      throw BackendError("send: rank " + std::to_string(to) + " has not received it within " + in_seconds(timeout_) +
                         "\nit calls recv(x, " + std::to_string(rank_) +
                         "); it has ended, hangs, or waits for another call");
  }
}

void Communicator::receive(std::byte* data, std::size_t bytes, int from) {
  require_whole();
  for (std::size_t at = 0; at < bytes; at += kMostBytes) {
    MPI_Request request = MPI_REQUEST_NULL;
    check(MPI_Irecv(data + at, count_of(std::min(kMostBytes, bytes - at)), MPI_BYTE, from, kDataTag, MPI_COMM_WORLD,
                    &request),
          "MPI_Irecv");
    if (!wait_for(request, timeout_)) {
      cancel(request);
      throw BackendError("recv: rank " + std::to_string(from) + " has sent nothing within " + in_seconds(timeout_) +
                         "\nit calls send(x, " + std::to_string(rank_) +
                         "); it has ended, hangs, or waits for another call");
    }
  }
}

int Communicator::unreceived() const {
  int found = 0;
  MPI_Status status;
  check(MPI_Iprobe(MPI_ANY_SOURCE, kDataTag, MPI_COMM_WORLD, &found, &status), "MPI_Iprobe");
  return found != 0 ? status.MPI_SOURCE : -1;
}

void Communicator::finish() { check(MPI_Finalize(), "MPI_Finalize"); }

void Communicator::abort() {
  MPI_Abort(MPI_COMM_WORLD, 1);
  std::abort();
}

}  // namespace minnow::dist
