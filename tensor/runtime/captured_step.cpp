#include <minnow/tensor/runtime/captured_step.h>

#include <algorithm>
#include <optional>
#include <vector>
#include <minnow/tensor/backend/backend.h>
#include <minnow/tensor/backend/dispatch.h>
#include <minnow/tensor/create.h>
#include <minnow/tensor/error.h>
#include <minnow/tensor/profile/observers.h>
#include <minnow/tensor/raw/copy.h>
#include <minnow/tensor/raw/transfer.h>
#include <minnow/tensor/raw/view.h>
#include <minnow/tensor/runtime/calling_thread.h>
#include <minnow/tensor/runtime/capture_session.h>
#include <minnow/tensor/runtime/stream.h>

namespace minnow {
namespace {

constexpr std::int64_t kWorthwhileReplays = 10;  // a capture dropped after fewer was wasted
constexpr int kMaxWastedCaptures = 4;

/// The step for one combination of shapes, on a GPU.
struct Captured {
  std::vector<Tensor> inputs;  // copies of the caller's
  std::vector<Tensor> outputs;
  std::int64_t runs = 0;     // direct runs since the last capture
  std::int64_t replays = 0;  // of the last capture, and of those that it was found equal to
  int wasted_captures = 0;   // captures in a row that were dropped before kWorthwhileReplays
  bool was_captured = false;
  std::unique_ptr<CaptureSession> session;
  std::unique_ptr<CapturedWork> work;

  bool accepts(std::span<const Tensor> given) const {
    return std::equal(inputs.begin(), inputs.end(), given.begin(), given.end(), [](const Tensor& own, const Tensor& t) {
      return own.dtype() == t.dtype() && own.shape() == t.shape();
    });
  }
  /// Whether the next run calls the function.  After a change at least one does, in which an optimizer can change the
  /// layout of its state.
  bool runs_directly(int warm_up) const {
    return wasted_captures >= kMaxWastedCaptures || (!work && runs < std::max(warm_up, was_captured ? 1 : 0));
  }
  void drop_capture() {
    wasted_captures = replays < kWorthwhileReplays ? wasted_captures + 1 : 0;
    runs = 0;
    replays = 0;
    outputs.clear();
    work.reset();
    session.reset();
  }
};

/// Before each replay: counts its writes, and writes its numbers to the device, on the current stream.
void upload(CaptureSession& session, SourceLocation where) {
  session.count_writes();
  const View numbers = session.numbers();
  if (numbers.numel() == 0) return;
  const Tensor host = empty(numbers.shape(), {.dtype = DType::float64, .pinned = true}, where);
  session.fill({static_cast<double*>(host.raw_data()), static_cast<std::size_t>(numbers.numel())});
  backend_of(session.device(), where).transfer(host, numbers, true);
}

}  // namespace

struct CapturedStep::State {
  Function step;
  std::size_t arity;
  CapturedStepOptions options;
  Device device;
  bool on_host = false;        // nothing is captured
  std::int64_t host_runs = 0;  // a GPU captures the one after warm_up
  std::vector<Captured> captured = {};
  std::int64_t replays = 0;
  std::optional<Stream> last = std::nullopt;  // stream of the last run

  void wait_for_last_run();
  std::vector<Tensor> run_step(std::span<const Tensor> inputs);
  std::vector<Tensor> copies(std::span<const Tensor> inputs, SourceLocation where) const;
  std::vector<Tensor> run_on_host(std::span<const Tensor> inputs);
  Captured* find(std::span<const Tensor> inputs, SourceLocation where);
  void capture(Captured& entry, SourceLocation where);
  void replay(Captured& entry, SourceLocation where);
};

CapturedStep::CapturedStep(Function step, int inputs, const CapturedStepOptions& options, SourceLocation where)
    : state_(new State{std::move(step), static_cast<std::size_t>(inputs), options,
                       options.device ? *options.device : best_device()}) {
  if (options.warm_up < 0 || options.max_captures < 0)
    throw ValueError("CapturedStep: warm_up = " + std::to_string(options.warm_up) + " and max_captures = " +
                         std::to_string(options.max_captures) + " must be 0 or more\nthe defaults are 3 and 8",
                     where);
  const CallSite site("CapturedStep", where);
  state_->on_host = backend_of(state_->device, where).computes_on_host();  // DeviceError if it cannot be used
}

CapturedStep::~CapturedStep() = default;
CapturedStep::CapturedStep(CapturedStep&&) noexcept = default;
CapturedStep& CapturedStep::operator=(CapturedStep&&) noexcept = default;

CapturedStep::State& CapturedStep::state(SourceLocation where) const {
  if (!state_) throw ValueError("CapturedStep: the step was moved from\nuse the one that it was moved to", where);
  return *state_;
}

int CapturedStep::captures(SourceLocation where) const {
  const auto& made = state(where).captured;
  return static_cast<int>(
      std::count_if(made.begin(), made.end(), [](const Captured& entry) { return entry.work != nullptr; }));
}

std::int64_t CapturedStep::replays(SourceLocation where) const { return state(where).replays; }

Tensor CapturedStep::run(std::span<const Tensor> inputs, SourceLocation where) {
  const std::vector<Tensor> results = run_once(inputs, where);
  return results.empty() ? Tensor() : results[0];
}

std::vector<Tensor> CapturedStep::run_all(std::span<const Tensor> inputs, std::size_t wanted, SourceLocation where) {
  std::vector<Tensor> results = run_once(inputs, where);
  if (wanted != results.size())
    throw ValueError("CapturedStep: its function returns " + std::to_string(results.size()) + " tensors, not " +
                         std::to_string(wanted) + "\ncall results<" + std::to_string(results.size()) + ">()",
                     where);
  return results;
}

std::vector<Tensor> CapturedStep::run_once(std::span<const Tensor> inputs, SourceLocation where) {
  const OpenScope scope(ScopeKind::range, "CapturedStep");
  State& s = state(where);
  if (inputs.size() != s.arity)
    throw ValueError("CapturedStep: the step takes " + std::to_string(s.arity) + " tensors, got " +
                         std::to_string(inputs.size()) + "\npass the tensors that its function takes",
                     where);
  for (std::size_t i = 0; i < inputs.size(); ++i)
    if (!inputs[i].defined())
      throw ValueError(
          "CapturedStep: an input is undefined\n  input " + std::to_string(i) +
              "  undefined tensor\nit was default-constructed, moved from, or is a gradient that was never computed",
          where);
  if (CaptureRules::current())
    throw BackendError(
        "CapturedStep: a step that is being captured cannot run another one\ncall the inner function itself", where);
  if (calling_thread.detects_anomaly) return s.run_step(s.copies(inputs, where));
  if (s.on_host) return s.run_on_host(s.copies(inputs, where));
  Captured* entry = s.find(inputs, where);
  if (!entry) return s.run_step(s.copies(inputs, where));
  if (entry->work && !entry->session->is_current()) entry->drop_capture();
  s.wait_for_last_run();
  const bool directly = entry->runs_directly(s.options.warm_up);
  if (!directly && !entry->work) s.capture(*entry, where);
  for (std::size_t i = 0; i < inputs.size(); ++i) raw::copy_to(inputs[i], entry->inputs[i], where);
  if (directly) {
    ++entry->runs;
    return s.run_step(entry->inputs);
  }
  s.replay(*entry, where);
  return entry->outputs;
}

/// All runs use the same memory, so a run on another stream waits for the last one.
void CapturedStep::State::wait_for_last_run() {
  const Stream stream = current_stream(device);
  if (last && last->state() != stream.state()) stream.wait(last->record(EventUse::ordering));
  last = stream;
}

/// The results without their history, which would keep the saved values of the step alive.
std::vector<Tensor> CapturedStep::State::run_step(std::span<const Tensor> inputs) {
  std::vector<Tensor> outputs = step(inputs);
  for (Tensor& output : outputs)
    if (output.defined()) output = raw::detach(output);
  return outputs;
}

/// Copies on the device, without history, which the step may write.
std::vector<Tensor> CapturedStep::State::copies(std::span<const Tensor> inputs, SourceLocation where) const {
  std::vector<Tensor> own;
  for (const Tensor& t : inputs)
    own.push_back(t.device() == device ? raw::clone({t, where}) : raw::to_device(raw::detach({t, where}), device));
  return own;
}

std::vector<Tensor> CapturedStep::State::run_on_host(std::span<const Tensor> inputs) {
  wait_for_last_run();
  const CaptureRules rules{device, host_runs != options.warm_up};
  const CaptureRulesScope scope(&rules);
  std::vector<Tensor> outputs = run_step(inputs);
  ++host_runs;
  return outputs;
}

/// The entry for inputs of these shapes, made if there is none; nullptr if there are max_captures others.
Captured* CapturedStep::State::find(std::span<const Tensor> inputs, SourceLocation where) {
  for (Captured& entry : captured)
    if (entry.accepts(inputs)) return &entry;
  if (static_cast<int>(captured.size()) >= options.max_captures) return nullptr;
  Captured entry;
  for (const Tensor& t : inputs)
    entry.inputs.push_back(empty_strided_like(t.shape(), t.strides(), t.dtype(), device, where));
  return &captured.emplace_back(std::move(entry));
}

void CapturedStep::State::capture(Captured& entry, SourceLocation where) {
  auto session = std::make_unique<CaptureSession>(
      empty({static_cast<std::int64_t>(CaptureSession::kNumbers)}, {.dtype = DType::float64, .device = device}));
  auto work = backend_of(device, where).begin_capture(device.index());
  session->begin();
  try {
    entry.outputs = run_step(entry.inputs);
    session->end();
    session->note_writes(entry.outputs);
    work->finish();
  } catch (...) {
    entry.outputs.clear();
    work.reset();
    session->undo_run();
    throw;
  }
  entry.was_captured = true;
  entry.session = std::move(session);
  entry.work = std::move(work);
}

void CapturedStep::State::replay(Captured& entry, SourceLocation where) {
  upload(*entry.session, where);
  try {
    entry.work->replay();
  } catch (...) {
    entry.session->undo_run();
    throw;
  }
  entry.session->finish_replay();
  ++entry.replays;
  ++replays;
}

}  // namespace minnow
