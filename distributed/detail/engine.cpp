#include <minnow/distributed/detail/engine.h>

#include <utility>
#include <minnow/tensor/error.h>
#include <minnow/tensor/internal.h>

namespace minnow::dist {
namespace {

Engine* live = nullptr;

}  // namespace

Engine& Engine::current() {
  if (live == nullptr) throw BackendError("there is no dist::Process\nmake one at the beginning of main()");
  return *live;
}

Engine* Engine::current_or_null() { return live; }

Engine::Engine(const ProcessOptions& options) : communicator_(options.timeout), thread_([this] { run(); }) {
  live = this;
}

Engine::~Engine() {
  stop();
  live = nullptr;
}

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
  {
    const std::lock_guard lock(mutex_);
    jobs_.push_back({std::move(job), state, CallSite::op().data(), CallSite::where()});
  }
  changed_.notify_all();
  return Work(std::move(state));
}

void Engine::run() {
  for (;;) {
    Job job{};
    {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [&] { return stops_ || !jobs_.empty(); });
      if (jobs_.empty()) return;
      job = std::move(jobs_.front());
      jobs_.pop_front();
    }
    std::exception_ptr error;
    try {
      const CallSite site(job.op, job.where);
      job.run(communicator_);
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
  start([end](Communicator& c) { c.agree(end); }).wait();
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

Work::~Work() {
  if (!state_) return;
  try {
    wait();
  } catch (...) {  // said by whoever waits
  }
}

bool Work::is_done() const {
  if (!state_) return true;
  const std::lock_guard lock(state_->mutex);
  return state_->done;
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
