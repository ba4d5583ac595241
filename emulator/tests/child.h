#pragma once

#include <cstdlib>
#include <gtest/gtest.h>

namespace emulator::test {

/// In a process of its own with an environment variable, which is read once: a test does this first.
inline void expect_with(const char* variable, const char* value, bool (*good)()) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const auto child = [&] {
    setenv(variable, value, 1);
    std::_Exit(good() ? 0 : 1);
  };
  EXPECT_EXIT(child(), ::testing::ExitedWithCode(0), "") << variable;
}

}  // namespace emulator::test
