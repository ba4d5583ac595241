#include <minnow/tensor/cpu/runtime/team.h>

#include <algorithm>
#include <atomic>
#include <exception>
#include <limits>
#include <memory>
#include <mutex>
#ifdef _OPENMP
#include <omp.h>
#endif
#include <thread>
#include <utility>
#include <vector>
#include <minnow/tensor/cpu/runtime/spin_wait.h>
#include <minnow/tensor/runtime/system.h>

namespace minnow::cpu {
namespace {

/// The state of a thread in a loop.
struct LoopState {
  int number = 0;
  bool inside = false;
  int limit = std::numeric_limits<int>::max();
};
thread_local LoopState loop_state;

/// The number of forks so far.  A forked child has no helpers, and must not wait for those of its parent.
std::atomic<int>& forks() {
  static auto* count = [] {
    minnow::detail::at_fork_in_child([] { forks().fetch_add(1, std::memory_order_relaxed); });
    return new std::atomic<int>(0);
  }();
  return *count;
}

constexpr std::int64_t kCacheLine = 64;
constexpr std::int64_t kPiecesPerShare = 8;  // a thread takes one of them at a time

struct alignas(kCacheLine) Share {
  std::atomic<std::int64_t> next{0};
  std::int64_t end = 0, step = 1;
};

/// The helpers of one thread.  A loop is open while there may be work left; a helper that wakes too late finds it
/// closed, and the thread that began it waits only for helpers that are in it.
class Team {
 public:
  Team() : forks_(forks().load(std::memory_order_relaxed)), shares_(1) {}
  ~Team() {
    for (auto& helper : helpers_) {
      helper->go.store(kEnd);  // not a mere release: wake() then reads whether it sleeps, and it is joined below
      minnow::detail::wake(helper->go);
    }
    for (auto& helper : helpers_) helper->thread.join();
  }
  Team(const Team&) = delete;
  Team& operator=(const Team&) = delete;

  bool from_before_a_fork() const { return forks_ != forks().load(std::memory_order_relaxed); }

  void run(std::int64_t n, int threads, LoopBody body, const void* object) {
    grow(threads);
    threads_ = std::min(threads, static_cast<int>(helpers_.size()) + 1);
    body_ = body;
    object_ = object;
    for (std::int64_t i = 0; i < threads_; ++i) {
      Share& share = shares_[static_cast<std::size_t>(i)];
      const std::int64_t begin = n / threads_ * i + std::min(i, n % threads_);
      share.end = begin + n / threads_ + (i < n % threads_ ? 1 : 0);
      share.step = (share.end - begin + kPiecesPerShare - 1) / kPiecesPerShare;
      share.next.store(begin, std::memory_order_relaxed);
    }
    inside_.store(kOpen, std::memory_order_release);
    if (++loop_ == kEnd) loop_ = 1;
    for (std::size_t i = 0; i + 1 < static_cast<std::size_t>(threads_); ++i) {
      helpers_[i]->go.store(loop_, std::memory_order_release);
      minnow::detail::wake(helpers_[i]->go);
    }
    work(0);
    inside_.fetch_and(~kOpen, std::memory_order_acq_rel);
    patience_.wait([&] { return inside_.load(std::memory_order_acquire) == 0; },
                   [&] {
                     const std::uint32_t others = inside_.load(std::memory_order_acquire);
                     if (others != 0) minnow::detail::sleep_while(inside_, others);
                   });
    if (failed_.load(std::memory_order_relaxed)) {
      failed_.store(false, std::memory_order_relaxed);
      std::rethrow_exception(std::exchange(failure_, nullptr));
    }
  }

 private:
  struct alignas(kCacheLine) Helper {
    std::atomic<std::uint32_t> go{0};  // the last loop that it was woken for
    std::thread thread;
  };
  static constexpr std::uint32_t kOpen = 1u << 31, kEnd = std::numeric_limits<std::uint32_t>::max();

  /// Starts as many helpers as the system allows; after a failure it does not try again for a while.
  void grow(int threads) {
    const auto want = static_cast<std::size_t>(threads) - 1;
    if (helpers_.size() >= want) return;
    if (refused_ > 0) {
      --refused_;
      return;
    }
    constexpr int kLoopsToWait = 1000;
    try {
      if (shares_.size() < want + 1) shares_ = std::vector<Share>(want + 1);
      helpers_.reserve(want);
      while (helpers_.size() < want) {
        auto helper = std::make_unique<Helper>();
        helper->thread =
            std::thread([this, own = helper.get(), i = static_cast<int>(helpers_.size()) + 1] { help(*own, i); });
        helpers_.push_back(std::move(helper));
      }
    } catch (const std::exception&) { refused_ = kLoopsToWait; }  // no more threads, or no memory for one
  }

  void help(Helper& own, int number) {
#ifdef _OPENMP
    omp_set_num_threads(1);  // this thread's setting, which oneDNN obeys
#endif
    loop_state.number = number;
    std::uint32_t seen = 0;
    SpinWait patience;
    for (;;) {
      patience.wait([&] { return own.go.load(std::memory_order_acquire) != seen; },
                    [&] { minnow::detail::sleep_while(own.go, seen); });
      seen = own.go.load(std::memory_order_acquire);
      if (seen == kEnd) return;
      if (!enter()) continue;
      if (number < threads_) work(number);  // otherwise this is a later loop, with fewer threads
      if (inside_.fetch_sub(1, std::memory_order_acq_rel) == 1) minnow::detail::wake(inside_);
    }
  }

  bool enter() {
    std::uint32_t now = inside_.load(std::memory_order_relaxed);
    while ((now & kOpen) != 0)
      if (inside_.compare_exchange_weak(now, now + 1, std::memory_order_acq_rel, std::memory_order_relaxed))
        return true;
    return false;
  }

  void work(int number) noexcept {
    loop_state.inside = true;
    try {
      for (int k = 0; k < threads_; ++k) finish(shares_[static_cast<std::size_t>((number + k) % threads_)]);
    } catch (...) {
      if (!failed_.exchange(true, std::memory_order_acq_rel)) failure_ = std::current_exception();
    }
    loop_state.inside = false;
  }

  void finish(Share& share) {
    while (share.next.load(std::memory_order_relaxed) < share.end) {
      if (failed_.load(std::memory_order_relaxed)) return;
      const std::int64_t begin = share.next.fetch_add(share.step, std::memory_order_relaxed);
      if (begin < share.end) body_(object_, begin, std::min(share.end, begin + share.step));
    }
  }

  const int forks_;
  std::vector<std::unique_ptr<Helper>> helpers_;
  std::vector<Share> shares_;
  int refused_ = 0;
  std::uint32_t loop_ = 0;
  SpinWait patience_;

  // The loop.  Written by the thread that begins it, while no helper is in it.
  LoopBody body_ = nullptr;
  const void* object_ = nullptr;
  int threads_ = 1;
  std::exception_ptr failure_;
  std::atomic<bool> failed_{false};
  alignas(kCacheLine) std::atomic<std::uint32_t> inside_{0};  // helpers in the loop, and kOpen
};

/// Teams of threads that have ended, where they may not wait for the helpers: the next threads take them.
class LeftTeams {
 public:
  static LeftTeams& instance() {
    static auto* teams = new LeftTeams;
    return *teams;
  }
  void put(std::unique_ptr<Team> team) noexcept try {
    const std::lock_guard lock(mutex_);
    teams_.push_back(std::move(team));
  } catch (const std::exception&) { (void)team.release(); }  // no memory: it stays asleep
  std::unique_ptr<Team> take() {
    const std::lock_guard lock(mutex_);
    if (teams_.empty()) return nullptr;
    auto team = std::move(teams_.back());
    teams_.pop_back();
    return team;
  }

 private:
  std::mutex mutex_;
  std::vector<std::unique_ptr<Team>> teams_;
};

constinit thread_local bool thread_is_ending = false;
constinit thread_local Team* own = nullptr;
Team* lost = nullptr;  // of a thread before a fork: still reachable, for leak checkers

void end_team(void* of_this_thread) {
  thread_is_ending = true;
  own = nullptr;
  std::unique_ptr<Team> team(static_cast<Team*>(of_this_thread));
  if (team->from_before_a_fork())
    lost = team.release();  // its helpers do not exist, so they can be neither woken nor joined
  else if (!minnow::detail::kMayJoinAtThreadEnd) LeftTeams::instance().put(std::move(team));
}

/// nullptr if there is no memory for it.
Team* own_team() noexcept {
  if (thread_is_ending) return nullptr;
  if (own && own->from_before_a_fork()) lost = std::exchange(own, nullptr);
  if (own) return own;
  try {
    std::unique_ptr<Team> team;
    if (!minnow::detail::kMayJoinAtThreadEnd) team = LeftTeams::instance().take();
    if (!team) team = std::make_unique<Team>();
    minnow::detail::at_thread_end(&end_team, team.get());
    own = team.release();
  } catch (const std::exception&) {}
  return own;
}

}  // namespace

int thread_number() { return loop_state.number; }

bool in_parallel() {
#ifdef _OPENMP
  if (omp_in_parallel() != 0) return true;
#endif
  return loop_state.inside;
}

void run_on_team(std::int64_t n, int threads, LoopBody body, const void* object) {
  threads = static_cast<int>(std::min<std::int64_t>(n, std::min(threads, loop_state.limit)));
  Team* team = threads <= 1 || in_parallel() ? nullptr : own_team();
  if (team == nullptr) {
    if (n > 0) body(object, 0, n);
    return;
  }
  team->run(n, threads, body, object);
}

ThreadLimit::ThreadLimit(int threads) : before_(loop_state.limit) { loop_state.limit = std::min(before_, threads); }
ThreadLimit::~ThreadLimit() { loop_state.limit = before_; }

}  // namespace minnow::cpu
