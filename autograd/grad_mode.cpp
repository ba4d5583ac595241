#include <minnow/autograd/grad_mode.h>

#include <utility>
#include <minnow/autograd/thread_state.h>

namespace minnow {
namespace {

constinit thread_local autograd::ThreadState state;

}  // namespace

autograd::ThreadState& autograd::ThreadState::current() noexcept { return state; }

bool is_grad_enabled() { return state.records; }

AutoGradMode::AutoGradMode(bool on)
    : previous_(std::exchange(state.records, on)), outer_(std::exchange(state.innermost_mode, this)) {}

AutoGradMode::~AutoGradMode() {
  if (state.innermost_mode == this) {
    state.records = previous_;
    state.innermost_mode = outer_;
    return;
  }
  // A guard inside of it, on the heap, lives on and gets what this one would have restored.
  AutoGradMode* inner = state.innermost_mode;
  while (inner && inner->outer_ != this) inner = inner->outer_;
  if (!inner) return;
  inner->previous_ = previous_;
  inner->outer_ = outer_;
}

}  // namespace minnow
