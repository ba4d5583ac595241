#include <minnow/distributed/process.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <thread>
#include <minnow/autograd/grad_mode.h>
#include <minnow/distributed/collectives.h>
#include <minnow/distributed/detail/engine.h>
#include <minnow/tensor/create.h>
#include <minnow/tensor/error.h>
#include <minnow/tensor/internal.h>
#include <minnow/tensor/runtime/call_site.h>
#include <minnow/tensor/runtime/threads.h>
#include <minnow/training/interrupt.h>

namespace minnow::dist {
namespace {

/// Ends with the program, if exit() is called while the Process lives; not in a copy of it that fork() has made.
struct Owner {
  std::unique_ptr<Engine> engine;
  ~Owner() {
    if (engine && engine->is_forked()) static_cast<void>(engine.release());
  }
} owner;
std::unique_ptr<Engine>& engine = owner.engine;
std::terminate_handler before = nullptr;

/// mpirun tells which rank has ended, but not why.
[[noreturn]] void on_terminate() {
  std::fprintf(stderr, "rank %d of %d ends by an exception:\n", rank(), size());
  if (before != nullptr) before();
  std::abort();
}

}  // namespace

Process::Process(const ProcessOptions& options, SourceLocation where) : exceptions_(std::uncaught_exceptions()) {
  const CallSite site("dist::Process", where);
  if (!(options.timeout > 0))
    throw ValueError("dist::Process: timeout must be positive, got " + std::to_string(options.timeout) +
                     "\nthe default is 300 seconds");
  if (engine) throw BackendError("dist::Process: there is one already\nmake one in main()");
  engine = std::make_unique<Engine>(options);
  before = std::set_terminate(on_terminate);
  if (std::getenv("OMP_NUM_THREADS") == nullptr)
    set_num_threads(std::max(1, static_cast<int>(std::thread::hardware_concurrency()) / local_size()));
}

Process::~Process() {
  std::set_terminate(before);
  if (engine->is_forked()) return;
  if (std::uncaught_exceptions() > exceptions_) {
    std::fprintf(stderr, "rank %d of %d leaves its Process by an exception; mpirun ends the others with it\n", rank(),
                 size());
    engine->leave();
    static_cast<void>(engine.release());  // a GPU may wait for a rank: left to the end of the program
    return;
  }
  try {
    engine->finish();
    engine.reset();
  } catch (const std::exception& error) {
    std::fprintf(stderr, "rank %d of %d: %s\n", rank(), size(), error.what());
    engine->abort();
  }
}

int Process::rank() const { return dist::rank(); }
int Process::size() const { return dist::size(); }
int Process::local_rank() const { return engine->communicator().local_rank(); }
int Process::local_size() const { return engine->communicator().local_size(); }

Device Process::device() const {
  const int gpus = device_count(DeviceType::cuda);
  return gpus > 0 ? Device(DeviceType::cuda, local_rank() % gpus) : Device();
}

int rank() {
  const Engine* e = Engine::current_or_null();
  return e == nullptr ? 0 : e->communicator().rank();
}
int size() {
  const Engine* e = Engine::current_or_null();
  return e == nullptr ? 1 : e->communicator().size();
}

int interrupted(SourceLocation where) {
  const CallSite site("dist::interrupted", where);
  const NoGradGuard guard;
  const Tensor signal = full({}, minnow::interrupted(), {.dtype = int32});
  all_reduce(signal, ReduceOp::max);
  return signal.item<std::int32_t>();
}

}  // namespace minnow::dist
