// application PLUGIN: says what it shares with a plugin that it opens, and which warnings there are.
#include <cstdio>
#include <dlfcn.h>

#include "plugin.h"

using namespace minnow;

namespace {

void say(const char* what, bool yes) { std::printf("%s: %s\n", what, yes ? "shared" : "apart"); }

bool same_random(const Plugin& plugin) {
  manual_seed(5);
  const auto here = rand({4}).to_vector<float>();
  manual_seed(5);
  return plugin.random().to_vector<float>() == here;
}

bool same_gradient(const Plugin& plugin) {
  const Tensor x = full({3}, 2.0).requires_grad_();
  sum(plugin.cube(x * 1.0) + plugin.cube(x)).backward();
  return x.grad().to_vector<float>() == std::vector<float>(3, 24.0F);
}

bool same_error(const Plugin& plugin) {
  try {
    plugin.fail();
  } catch (const ShapeError&) { return true; }
  return false;
}

}  // namespace

int main(int, char** argv) {
  void* file = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
  if (!file) return std::printf("%s\n", dlerror()), 1;
  const auto& plugin = *static_cast<const Plugin*>(dlsym(file, "plugin"));
  set_warning_handler([](const std::string& text) { std::printf("warning: %s\n", text.c_str()); });
  say("generator", same_random(plugin));
  {
    const NoGradGuard guard;
    say("grad mode", !plugin.records());
  }
  {
    const DeviceGuard guard(Device("sim:1"));
    say("device", plugin.current_sim() == "sim:1");
  }
  if (argv[2] == nullptr) say("graph", same_gradient(plugin));
  say("errors", same_error(plugin));
}
