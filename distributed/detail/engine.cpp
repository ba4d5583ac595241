#include <minnow/distributed/detail/engine.h>

#include <chrono>
#include <cstdio>
#include <unistd.h>
#include <utility>
#include <minnow/tensor/backend/cuda_native.h>
#include <minnow/tensor/backend/dispatch.h>
#include <minnow/tensor/error.h>
#include <minnow/tensor/internal.h>
#include <minnow/tensor/runtime/warning.h>

namespace minnow::dist {
namespace {

using detail::message;

Engine* live = nullptr;

}  // namespace

Engine& Engine::current() {
  if (live == nullptr) throw BackendError("there is no dist::Process\nmake one at the beginning of main()");
  if (live->is_forked())
    throw BackendError(
        "this process was made by fork() from a rank, and is none\ncall collectives in the process that made the "
        "dist::Process");
  return *live;
}

Engine* Engine::current_or_null() { return live; }

Engine::Engine(const ProcessOptions& options)
    : timeout_(options.timeout),
      pid_(static_cast<int>(getpid())),
      communicator_(options.timeout),
      thread_([this] { run(); }) {
  live = this;
}

Engine::~Engine() { leave(); }

void Engine::leave() {
  Communicator::leave();
  stop();
  live = nullptr;
}

bool Engine::is_forked() const { return static_cast<int>(getpid()) != pid_; }

void Engine::stop() {
  {
    const std::lock_guard lock(mutex_);
    stops_ = true;
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
}

Work Engine::start(std::function<void(Communicator&)> job, std::function<void()> finish) {
  auto state = std::make_shared<Work::State>();
  state->finish = std::move(finish);
  state->op = CallSite::op();
  state->exceptions = std::uncaught_exceptions();
  {
    const std::lock_guard lock(mutex_);
    jobs_.push_back({std::move(job), state, CallSite::op().data(), CallSite::where()});
  }
  changed_.notify_all();
  return Work(std::move(state));
}

Work Engine::start(Nccl& nccl, const Nccl::Call& call, std::function<void(Communicator&)> before,
                   std::function<void()> finish) {
  const Device device = call.to.device();
  auto after = std::make_shared<Event>();
  const auto wait = [after, device, finish = std::move(finish)] {
    current_stream(device).wait(*after);
    if (finish) finish();
  };
  if (cuda::is_capturing()) {
    start(std::move(before)).wait();
    *after = nccl.submit_captured(call);
    return start([](Communicator&) {}, wait);
  }
  Work work = start(
      [&nccl, call, before = std::move(before), after,
       ready = current_stream(device).record(EventUse::ordering)](Communicator& c) {
        before(c);
        *after = nccl.submit(call, ready);
      },
      wait);
  work.state_->after = after;
  return work;
}

Nccl* Engine::nccl(Device device) {
  const std::lock_guard lock(nccl_mutex_);
  const auto found = nccl_.find(device.index());
  if (found != nccl_.end()) return found->second.get();
  if (cuda::is_capturing())
    throw BackendError(message("NCCL cannot start in a captured step", {},
                               "let the step run once before it is captured: CapturedStepOptions::warm_up"));
  std::unique_ptr<Nccl> started;
  std::string why_not;
  start([&](Communicator& c) {
    Signature mine;
    mine.kind = Signature::Kind::nccl;
    c.agree(mine);
    started = Nccl::start(c, device, why_not);
  }).wait();
  if (!why_not.empty() && communicator_.size() > 1 && communicator_.rank() == 0)
    warn("dist: tensors of GPUs go through the host, which is slower: NCCL cannot be used\n" + why_not);
  return (nccl_[device.index()] = std::move(started)).get();
}

Nccl* Engine::started_nccl(Device device) {
  const std::lock_guard lock(nccl_mutex_);
  const auto found = device.is_cuda() ? nccl_.find(device.index()) : nccl_.end();
  return found == nccl_.end() ? nullptr : found->second.get();
}

/// Between jobs.  What NCCL could not finish is in nobody's hands: all ranks end, before they use wrong numbers.
void Engine::watch() {
  std::string trouble;
  {
    const std::unique_lock lock(nccl_mutex_, std::try_to_lock);
    if (!lock.owns_lock()) return;
    for (const auto& [index, nccl] : nccl_)
      if (nccl && trouble.empty()) trouble = nccl->trouble(timeout_);
  }
  if (trouble.empty()) return;
  std::fprintf(stderr, "rank %d of %d: %s\n", communicator_.rank(), communicator_.size(), trouble.c_str());
  communicator_.abort();  // not ncclCommAbort, which would wait for captured steps
}

void Engine::run() {
  for (;;) {
    Job job{};
    {
      std::unique_lock lock(mutex_);
      constexpr std::chrono::milliseconds kWatch(200);
      while (!changed_.wait_for(lock, kWatch, [&] { return stops_ || !jobs_.empty(); })) {
        lock.unlock();
        watch();
        lock.lock();
      }
      if (jobs_.empty()) return;
      job = std::move(jobs_.front());
      jobs_.pop_front();
    }
    std::exception_ptr error;
    try {
      const CallSite site(job.op, job.where);
      job.run(communicator_);
    } catch (const BackendError&) {
      error = std::current_exception();
      failed_.push_back(std::move(job.run));
    } catch (...) { error = std::current_exception(); }
    job.run = nullptr;  // what it holds is free before anyone is told
    const std::lock_guard lock(job.state->mutex);
    job.state->done = true;
    job.state->error = error;
    job.state->changed.notify_all();
  }
}

void Engine::finish() {
  Signature end;
  end.kind = Signature::Kind::end;
  int sender = -1;
  start([&](Communicator& c) {
    c.agree(end);
    sender = c.unreceived();
  }).wait();
  if (sender >= 0)
    warn("dist::Process: rank " + std::to_string(sender) + " has sent a tensor that rank " +
         std::to_string(communicator_.rank()) + " has not received\ncall recv(x, " + std::to_string(sender) +
         ") for each send()");
  for (const auto& [index, nccl] : nccl_)  // while the thread watches
    if (nccl) nccl->finish();
  stop();
  communicator_.finish();
}

void add(Report& sum, const Report& more) {
  sum.backwards += more.backwards;
  sum.bytes += more.bytes;
  sum.seconds += more.seconds;
  sum.waited += more.waited;
}

void Engine::count(const Report& more) {
  const std::lock_guard lock(mutex_);
  add(report_, more);
}

Report Engine::report() const {
  const std::lock_guard lock(mutex_);
  return report_;
}

Work& Work::operator=(Work&& other) noexcept {
  if (this != &other) {
    drop();
    state_ = std::move(other.state_);
  }
  return *this;
}

Work::~Work() { drop(); }

/// Nobody waits for it any more.
void Work::drop() noexcept {
  // An exception that leaves the scope is told at once: other ranks may never come.
  if (!state_ || std::uncaught_exceptions() > state_->exceptions) return;
  const std::shared_ptr<State> state = state_;
  try {
    wait();
  } catch (const std::exception& error) {
    try {
      warn("dist: nobody has waited for " + (state->op.empty() ? "a collective" : state->op) + ", which has failed\n" +
           error.what());
    } catch (...) {  // a handler of warnings has thrown
    }
  }
}

bool Work::is_done() const {
  if (!state_) return true;
  const std::lock_guard lock(state_->mutex);
  return state_->done && (!state_->after || state_->after->is_ready());
}

void Work::wait() {
  if (!state_) return;
  const std::shared_ptr<State> state = std::move(state_);
  {
    std::unique_lock lock(state->mutex);
    state->changed.wait(lock, [&] { return state->done; });
  }
  if (state->error) std::rethrow_exception(state->error);
  if (state->finish) state->finish();
}

}  // namespace minnow::dist
