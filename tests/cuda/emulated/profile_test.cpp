#include <cstdint>
#include <gtest/gtest.h>
#include <string>
#include <vector>
#include <minnow/tensor/profile/profile.h>
#include <minnow/tensor/raw/transfer.h>
#include <minnow/tensor/runtime/memory.h>

#include "support/host_tensor.h"

namespace {

std::vector<std::string> seen;  // names of ranges as they begin, "" for an end

int push(const char* name) {
  seen.emplace_back(name);
  return 0;
}

int pop() {
  seen.emplace_back();
  return 0;
}

// The part of NVTX's interface for tools that this tool needs (nvtxDetail/nvtxTypes.h).
using Function = void (*)();
struct Callbacks {
  std::size_t size;
  int (*functions)(int module, Function*** table, unsigned* count);
};
using ExportTable = const void* (*)(std::uint32_t id);

int attach(ExportTable table) {
  constexpr std::uint32_t kCallbacks = 1;
  constexpr int kCore = 1, kPush = 9, kPop = 11;
  Function** functions = nullptr;
  unsigned count = 0;
  if (!static_cast<const Callbacks*>(table(kCallbacks))->functions(kCore, &functions, &count)) return 0;
  *functions[kPush] = reinterpret_cast<Function>(push);
  *functions[kPop] = reinterpret_cast<Function>(pop);
  return 1;
}

}  // namespace

// Where NVTX looks for a tool that is linked to the program.
extern "C" {
int (*InitializeInjectionNvtx2_fnptr)(ExportTable) = attach;
}

namespace minnow {
namespace {

TEST(Profile, ShowsRangesAndOperationsWhileItIsOn) {
  const auto move = [] {
    const profile::Range range("forward");
    raw::to_device(raw::to_device(test::counting(3), "cuda"), "cpu");
  };
  seen.clear();
  move();
  EXPECT_TRUE(seen.empty());
  profile::set_enabled(true);
  EXPECT_TRUE(profile::is_enabled());
  move();
  profile::set_enabled(false);
  EXPECT_EQ(seen, (std::vector<std::string>{"forward", "to", "", "to", "", ""}));
  empty_cache("cuda");
}

TEST(Profile, RangesEndAfterProfilingWasTurnedOff) {
  seen.clear();
  {
    profile::set_enabled(true);
    const profile::Range range("forward");
    profile::set_enabled(false);
    const profile::Range none("none");
  }
  EXPECT_EQ(seen, (std::vector<std::string>{"forward", ""}));
}

}  // namespace
}  // namespace minnow
