#include <minnow/autograd/grad_mode.h>

namespace minnow {
namespace {

thread_local bool enabled = true;

}  // namespace

bool is_grad_enabled() { return enabled; }

GradMode::GradMode(bool on) : previous_(enabled) { enabled = on; }
GradMode::~GradMode() { enabled = previous_; }

}  // namespace minnow
