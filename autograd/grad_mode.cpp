#include <minnow/autograd/grad_mode.h>

#include <minnow/autograd/thread_state.h>

namespace minnow {
namespace {

constinit thread_local autograd::ThreadState state;

}  // namespace

autograd::ThreadState& autograd::ThreadState::current() noexcept { return state; }

bool is_grad_enabled() { return state.records; }

AutoGradMode::AutoGradMode(bool on) : previous_(state.records) { state.records = on; }
AutoGradMode::~AutoGradMode() { state.records = previous_; }

}  // namespace minnow
