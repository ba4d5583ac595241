// expect: nodiscard
// A guard without a name is destroyed at the end of its line.
#include <minnow/autograd/grad_mode.h>
#include <minnow/tensor/profile/module_table.h>
#include <minnow/tensor/profile/profile.h>
#include <minnow/tensor/profile/trace.h>
#include <minnow/tensor/runtime/stream.h>
#include <minnow/tensor/runtime/threads.h>

void compute(const minnow::Stream& stream) {
  minnow::NoGradGuard();              // must not compile
  minnow::NoGradGuard{};              // must not compile
  minnow::AutoGradMode(false);        // must not compile
  minnow::SerialRegion{};             // must not compile
  minnow::StreamGuard{stream};        // must not compile
  minnow::DeviceGuard("sim:1");       // must not compile
  minnow::profile::Range("forward");  // must not compile
  minnow::profile::Trace("t.json");   // must not compile
  minnow::profile::Table();           // must not compile
  const minnow::NoGradGuard guard;
  static_cast<void>(stream);
}
