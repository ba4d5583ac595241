#pragma once

#include <exception>
#include <gtest/gtest.h>
#include <string>

namespace minnow::test {

/// The text of the E that f throws; a test failure if it throws none.
template <class E, class F> std::string error_of(F&& f) {
  std::string instead = "nothing was thrown";
  try {
    f();
  } catch (const E& error) { return error.what(); } catch (const std::exception& other) {
    instead = std::string("another exception: ") + other.what();
  }
  ADD_FAILURE() << instead;
  return instead;
}

inline bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

inline void expect_contains(const std::string& text, const std::string& part) { EXPECT_TRUE(has(text, part)) << text; }

}  // namespace minnow::test
