#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <unordered_map>
#include <minnow/distributed/collectives.h>
#include <minnow/distributed/data_parallel.h>
#include <minnow/distributed/detail/communicator.h>
#include <minnow/distributed/detail/nccl.h>
#include <minnow/distributed/process.h>

namespace minnow::dist {

struct Work::State {
  std::mutex mutex;
  std::condition_variable changed;
  bool done = false;
  std::exception_ptr error;
  std::function<void()> finish;  ///< on the thread that waits: copies back to the device
  std::shared_ptr<Event> after;  ///< of what a GPU still has to do
  std::string op;                ///< of the call, for a warning
  int exceptions = 0;            ///< that were under way at the call
};

void add(Report& sum, const Report& more);

/// The thread that talks to the other ranks: collectives run on it, in the order in which they are called, while the
/// program goes on.
class Engine {
 public:
  /// Of the Process that lives.  BackendError if there is none.
  static Engine& current();
  static Engine* current_or_null();

  explicit Engine(const ProcessOptions& options);
  ~Engine();
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  /// Runs `job` on the thread, after all that came before; then `finish` on the thread that waits for it.
  Work start(std::function<void(Communicator&)> job, std::function<void()> finish = {});
  /// Submits the call to NCCL on that thread, after the current stream's work, and after `before`, which may check what
  /// the others call.  Whoever waits makes the current stream wait for it, not the host; then runs `finish`.  In a
  /// capture the call is a part of the captured work.
  Work start(Nccl& nccl, const Nccl::Call& call, std::function<void(Communicator&)> before,
             std::function<void()> finish = {});
  /// NCCL for a GPU, started at the first call, which all ranks make together; nullptr where they cannot use it: a
  /// warning has said why.
  Nccl* nccl(Device device);
  /// The same if a call of all ranks has started it; otherwise nullptr.
  Nccl* started_nccl(Device device);
  const Communicator& communicator() const { return communicator_; }
  /// All that was started has ended.  Throws if the other ranks do not end too.
  void finish();
  /// Ends the thread without waiting for other ranks.  There is no Process any more.
  void leave();
  /// This process is a copy of a rank's, made by fork(): it has none of the threads.
  bool is_forked() const;
  /// Adds to what dist::report() says.
  void count(const Report& more);
  Report report() const;
  [[noreturn]] void abort() { communicator_.abort(); }

 private:
  struct Job {
    std::function<void(Communicator&)> run;
    std::shared_ptr<Work::State> state;
    const char* op;  // of the user's call, for errors
    SourceLocation where;
  };
  void run();
  void watch();
  void stop();

  const double timeout_;
  const int pid_;
  Communicator communicator_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  Report report_{};
  std::deque<Job> jobs_;
  bool stops_ = false;
  std::mutex nccl_mutex_;
  std::unordered_map<int, std::unique_ptr<Nccl>> nccl_;    // of each GPU; empty where it cannot be used
  std::deque<std::function<void(Communicator&)>> failed_;  // MPI may still read and write what they hold
  std::thread thread_;
};

}  // namespace minnow::dist
