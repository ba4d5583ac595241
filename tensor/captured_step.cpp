#include <minnow/tensor/captured_step.h>

#include <algorithm>
#include <optional>
#include <vector>
#include <minnow/tensor/backend/dispatch.h>
#include <minnow/tensor/capture_session.h>
#include <minnow/tensor/create.h>
#include <minnow/tensor/error.h>
#include <minnow/tensor/raw/copy.h>
#include <minnow/tensor/raw/transfer.h>
#include <minnow/tensor/raw/view.h>
#include <minnow/tensor/stream.h>

namespace minnow {
namespace {

bool fits(const Tensor& held, const Tensor& given) {
  return held.dtype() == given.dtype() && held.shape() == given.shape();
}

constexpr std::int64_t kWorthCapture = 10;  // replays
constexpr int kMostInVain = 4;

/// The step for one combination of shapes.
struct Captured {
  std::vector<Tensor> inputs;  // read by the capture
  Tensor output;
  std::int64_t runs = 0;     // directly, since the last capture
  std::int64_t replays = 0;  // of the last capture
  int in_vain = 0;           // captures in a row that were out of date before they had paid
  bool was_captured = false;
  std::unique_ptr<CaptureSession> numbers;
  std::unique_ptr<CapturedWork> work;

  bool serves(std::span<const Tensor> given) const {
    return std::equal(inputs.begin(), inputs.end(), given.begin(), given.end(), fits);
  }
  /// Whether the next run is one of the step itself.  After a change there is at least one, in which an optimizer lays
  /// out its state anew.
  bool runs_directly(int warm_up) const {
    return in_vain >= kMostInVain || (!work && runs < std::max(warm_up, was_captured ? 1 : 0));
  }
  void forget_capture() {
    in_vain = replays < kWorthCapture ? in_vain + 1 : 0;
    runs = 0;
    replays = 0;
    output = Tensor();
    work.reset();
    numbers.reset();
  }
};

}  // namespace

struct CapturedStep::State {
  Function step;
  std::size_t arity;
  CapturedStepOptions options;
  Device device;
  std::vector<Captured> captured = {};
  std::int64_t replays = 0;
  std::optional<Stream> last = std::nullopt;  // of the last run

  void follow_last_run();
  Tensor run_step(std::span<const Tensor> inputs);
  Tensor run_directly(std::span<const Tensor> inputs, SourceLocation where);
  Captured* find(std::span<const Tensor> inputs, SourceLocation where);
  void capture(Captured& one, SourceLocation where);
  void replay(Captured& one, SourceLocation where);
};

CapturedStep::CapturedStep(Function step, int inputs, const CapturedStepOptions& options, SourceLocation where)
    : state_(new State{std::move(step), static_cast<std::size_t>(inputs), options,
                       options.device ? *options.device : best_device()}) {
  if (options.warm_up < 0 || options.max_captures < 0)
    throw ValueError("CapturedStep: warm_up = " + std::to_string(options.warm_up) + " and max_captures = " +
                         std::to_string(options.max_captures) + " are not both 0 or more\n3 and 8 are the usual ones",
                     where);
  const CallSite site("CapturedStep", where);
  backend_of(state_->device, where);
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
      std::count_if(made.begin(), made.end(), [](const Captured& one) { return one.work != nullptr; }));
}

std::int64_t CapturedStep::replays(SourceLocation where) const { return state(where).replays; }

Tensor CapturedStep::run(std::span<const Tensor> inputs, SourceLocation where) {
  State& s = state(where);
  if (inputs.size() != s.arity)
    throw ValueError("CapturedStep: the step takes " + std::to_string(s.arity) + " tensors, it was given " +
                         std::to_string(inputs.size()) + "\ncall it with what its function takes",
                     where);
  for (std::size_t i = 0; i < inputs.size(); ++i)
    if (!inputs[i].defined())
      throw ValueError(
          "CapturedStep: an input is undefined\n  input " + std::to_string(i) +
              "  undefined tensor\nit was default-made, moved from, or is a gradient that was never computed",
          where);
  if (CaptureSession::current())
    throw BackendError(
        "CapturedStep: a step that is being captured cannot run another one\ncall the inner function itself", where);
  Captured* one = s.find(inputs, where);
  if (!one) return s.run_directly(inputs, where);
  if (one->work && !one->numbers->is_current()) one->forget_capture();
  s.follow_last_run();
  for (std::size_t i = 0; i < inputs.size(); ++i) raw::copy_to(inputs[i], one->inputs[i], where);
  if (one->runs_directly(s.options.warm_up)) {
    ++one->runs;
    return s.run_step(one->inputs);
  }
  if (!one->work) s.capture(*one, where);
  s.replay(*one, where);
  return one->output;
}

/// All runs use one memory, from the copies of the inputs on: one on another stream comes after the last.
void CapturedStep::State::follow_last_run() {
  const Stream stream = current_stream(device);
  if (last && last->state() != stream.state()) stream.wait(last->record());
  last = stream;
}

/// The result without its history, which would keep the saved values of the step alive.
Tensor CapturedStep::State::run_step(std::span<const Tensor> inputs) {
  const Tensor output = step(inputs);
  return output.defined() ? raw::detach(output) : output;
}

Tensor CapturedStep::State::run_directly(std::span<const Tensor> inputs, SourceLocation where) {
  std::vector<Tensor> moved;
  for (const Tensor& t : inputs) moved.push_back(raw::to_device(raw::detach({t, where}), device));
  return run_step(moved);
}

/// The capture for these shapes; a new one without work, or nullptr when there are too many.
Captured* CapturedStep::State::find(std::span<const Tensor> inputs, SourceLocation where) {
  for (Captured& one : captured)
    if (one.serves(inputs)) return &one;
  if (static_cast<int>(captured.size()) >= options.max_captures) return nullptr;
  Captured one;
  for (const Tensor& t : inputs)
    one.inputs.push_back(empty_strided_like(t.shape(), t.strides(), t.dtype(), device, where));
  return &captured.emplace_back(std::move(one));
}

void CapturedStep::State::capture(Captured& one, SourceLocation where) {
  auto numbers = std::make_unique<CaptureSession>(device);
  auto work = backend_of(device, where).begin_capture(device.index());
  Tensor output;
  numbers->begin();
  try {
    output = run_step(one.inputs);
    numbers->end();
    work->finish();
  } catch (...) {
    work.reset();
    numbers->take_back();
    throw;
  }
  one.output = output;
  one.was_captured = true;
  one.numbers = std::move(numbers);
  one.work = std::move(work);
}

void CapturedStep::State::replay(Captured& one, SourceLocation where) {
  one.numbers->upload(where);
  try {
    one.work->replay();
  } catch (...) {
    one.numbers->take_back();
    throw;
  }
  one.numbers->finish_replay();
  ++one.replays;
  ++replays;
}

}  // namespace minnow
