#include <minnow/tensor/captured_step.h>

#include <algorithm>
#include <optional>
#include <vector>
#include <minnow/tensor/backend/captured_calls.h>
#include <minnow/tensor/backend/dispatch.h>
#include <minnow/tensor/calling_thread.h>
#include <minnow/tensor/capture_session.h>
#include <minnow/tensor/create.h>
#include <minnow/tensor/error.h>
#include <minnow/tensor/raw/copy.h>
#include <minnow/tensor/raw/transfer.h>
#include <minnow/tensor/raw/view.h>
#include <minnow/tensor/stream.h>

namespace minnow {
namespace {

/// An input of a step.  A list of calls reads it where the caller has it, if nothing but the calls could see the
/// difference; a CUDA graph, and other steps, read a copy in memory that the step owns.
struct Input {
  DType dtype;
  Shape shape;
  Strides strides;
  Tensor own;             // undefined where replays read in place and none had to copy yet
  bool in_place = false;  // the step does not write it, and keeps no tensor of it

  bool accepts(const Tensor& given) const { return dtype == given.dtype() && shape == given.shape(); }
  const Tensor& memory(Device device, SourceLocation where) {
    if (!own.defined()) own = empty_strided_like(shape, strides, dtype, device, where);
    return own;
  }
};

constexpr std::int64_t kWorthwhileReplays = 10;  // a capture dropped after fewer was wasted
constexpr int kMaxWastedCaptures = 4;

/// The step for one combination of shapes.
struct Captured {
  std::vector<Input> inputs;
  Tensor output;
  std::int64_t runs = 0;     // direct runs since the last capture
  std::int64_t replays = 0;  // of the last capture, and of those that it was found equal to
  int wasted_captures = 0;   // captures in a row that were dropped before kWorthwhileReplays
  bool was_captured = false;
  std::unique_ptr<CaptureSession> session;
  std::unique_ptr<CapturedWork> work;
  CapturedList* list = nullptr;  // the work, if it is a list of calls

  bool accepts(std::span<const Tensor> given) const {
    return std::equal(inputs.begin(), inputs.end(), given.begin(), given.end(),
                      [](const Input& input, const Tensor& t) { return input.accepts(t); });
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
    output = Tensor();
    list = nullptr;
    work.reset();
    session.reset();
  }
};

/// BackendError if a later capture of a step has other calls.
void require_same_calls(const CapturedList& captured, const CapturedList& now, SourceLocation where) {
  if (const std::string difference = captured.difference(now); !difference.empty())
    throw BackendError("CapturedStep: the function does not make the calls that were captured" + difference +
                           "\nreplays do not see what it does on the host: give what changes as an input, or do not "
                           "capture this part of the step",
                       where);
}

}  // namespace

struct CapturedStep::State {
  Function step;
  std::size_t arity;
  CapturedStepOptions options;
  Device device;
  std::vector<Captured> captured = {};
  std::int64_t replays = 0;
  std::optional<Stream> last = std::nullopt;  // stream of the last run

  void wait_for_last_run();
  Tensor run_step(std::span<const Tensor> inputs);
  Tensor run_directly(std::span<const Tensor> inputs, SourceLocation where);
  Captured* find(std::span<const Tensor> inputs);
  std::vector<Tensor> own_inputs(Captured& entry, SourceLocation where) const;
  void read(Captured& entry, std::span<const Tensor> given, SourceLocation where) const;
  void capture(Captured& entry, SourceLocation where);
  void replay(Captured& entry, SourceLocation where);
};

CapturedStep::CapturedStep(Function step, int inputs, const CapturedStepOptions& options, SourceLocation where)
    : state_(new State{std::move(step), static_cast<std::size_t>(inputs), options,
                       options.device ? *options.device : best_device()}) {
  if (options.warm_up < 0 || options.max_captures < 0 || options.check_every < 0)
    throw ValueError("CapturedStep: warm_up = " + std::to_string(options.warm_up) +
                         ", max_captures = " + std::to_string(options.max_captures) + " and check_every = " +
                         std::to_string(options.check_every) + " must be 0 or more\nthe defaults are 3, 8 and 0",
                     where);
  const CallSite site("CapturedStep", where);
  const bool on_host = backend_of(state_->device, where).computes_on_host();  // DeviceError if it cannot be used
  if (options.check_every > 0 && !on_host)
    throw ValueError("CapturedStep: check_every compares lists of calls, which a step on " + state_->device.str() +
                         " does not have\ncheck the step on the cpu: {.device = \"cpu\"}",
                     where);
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
  if (CaptureSession::current())
    throw BackendError(
        "CapturedStep: a step that is being captured cannot run another one\ncall the inner function itself", where);
  Captured* entry = calling_thread.detects_anomaly ? nullptr : s.find(inputs);
  if (!entry) return s.run_directly(inputs, where);
  if (entry->work && !entry->session->is_current()) entry->drop_capture();
  s.wait_for_last_run();
  if (entry->runs_directly(s.options.warm_up)) {
    ++entry->runs;
    const std::vector<Tensor> own = s.own_inputs(*entry, where);
    for (std::size_t i = 0; i < inputs.size(); ++i) raw::copy_to(inputs[i], own[i], where);
    return s.run_step(own);
  }
  const bool checks = s.options.check_every > 0 && entry->work && (entry->replays + 1) % s.options.check_every == 0;
  if (!entry->work || checks) s.capture(*entry, where);
  s.read(*entry, inputs, where);
  s.replay(*entry, where);
  return entry->output;
}

/// All runs use the same memory, so a run on another stream waits for the last one.
void CapturedStep::State::wait_for_last_run() {
  const Stream stream = current_stream(device);
  if (last && last->state() != stream.state()) stream.wait(last->record(EventUse::ordering));
  last = stream;
}

/// The result without its history, which would keep the saved values of the step alive.
Tensor CapturedStep::State::run_step(std::span<const Tensor> inputs) {
  const Tensor output = step(inputs);
  return output.defined() ? raw::detach(output) : output;
}

Tensor CapturedStep::State::run_directly(std::span<const Tensor> inputs, SourceLocation where) {
  std::vector<Tensor> on_device;
  for (const Tensor& t : inputs) on_device.push_back(raw::to_device(raw::detach({t, where}), device));
  return run_step(on_device);
}

/// The entry for inputs of these shapes, made if there is none; nullptr if there are max_captures others.
Captured* CapturedStep::State::find(std::span<const Tensor> inputs) {
  for (Captured& entry : captured)
    if (entry.accepts(inputs)) return &entry;
  if (static_cast<int>(captured.size()) >= options.max_captures) return nullptr;
  Captured entry;
  for (const Tensor& t : inputs)
    entry.inputs.push_back({t.dtype(), t.shape(), strides_like(t.shape(), t.strides()), {}});
  return &captured.emplace_back(std::move(entry));
}

/// The memory that the step has for its inputs.
std::vector<Tensor> CapturedStep::State::own_inputs(Captured& entry, SourceLocation where) const {
  std::vector<Tensor> own;
  for (Input& input : entry.inputs) own.push_back(input.memory(device, where));
  return own;
}

/// Makes the next replay read the inputs: where they are, or copies.
void CapturedStep::State::read(Captured& entry, std::span<const Tensor> given, SourceLocation where) const {
  for (std::size_t i = 0; i < given.size(); ++i) {
    Input& input = entry.inputs[i];
    const View& view = given[i].layout();
    const bool in_place = input.in_place && view.device() == device && view.strides() == input.strides &&
                          !entry.list->uses(view.raw_data(), static_cast<std::size_t>(view.nbytes()));
    if (in_place) view.storage()->wait_ready();
    else raw::copy_to(given[i], input.memory(device, where), where);
    if (entry.list) entry.list->set_input(i, in_place ? view.raw_data() : input.own.raw_data());
  }
}

void CapturedStep::State::capture(Captured& entry, SourceLocation where) {
  auto session = std::make_unique<CaptureSession>(device);
  std::vector<Tensor> inputs = own_inputs(entry, where);
  const auto versions_of = [&] {
    std::vector<std::uint32_t> versions;
    versions.reserve(inputs.size());
    for (const Tensor& t : inputs) versions.push_back(t.storage()->version());
    return versions;
  };
  const std::vector<std::uint32_t> before = versions_of();
  auto work = backend_of(device, where).begin_capture(device.index());
  auto* const list = dynamic_cast<CapturedList*>(work.get());
  Tensor output;
  session->begin();
  try {
    if (list)
      for (const Tensor& t : inputs) list->add_input(t);
    output = run_step(inputs);
    session->end();
    session->note_writes(output);
    if (entry.list) require_same_calls(*entry.list, *list, where);
    entry.work.reset();
    entry.list = nullptr;
    work->finish();
  } catch (...) {
    work.reset();
    session->undo_run();
    throw;
  }
  const std::vector<std::uint32_t> after = versions_of();
  inputs.clear();
  for (std::size_t i = 0; i < entry.inputs.size(); ++i) {
    Input& input = entry.inputs[i];
    input.in_place = list && before[i] == after[i] && input.own.is_unique();
    if (input.in_place) input.own = Tensor();
  }
  entry.output = output;
  entry.was_captured = true;
  entry.session = std::move(session);
  entry.work = std::move(work);
  entry.list = list;
}

void CapturedStep::State::replay(Captured& entry, SourceLocation where) {
  entry.session->upload(where);
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
