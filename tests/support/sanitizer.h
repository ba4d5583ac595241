#pragma once

// MINNOW_TEST_ASAN, MINNOW_TEST_TSAN: built with the address or the thread sanitizer, by g++ or clang.
#if defined(__SANITIZE_ADDRESS__)
#define MINNOW_TEST_ASAN
#elif defined(__SANITIZE_THREAD__)
#define MINNOW_TEST_TSAN
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define MINNOW_TEST_ASAN
#elif __has_feature(thread_sanitizer)
#define MINNOW_TEST_TSAN
#endif
#endif

namespace minnow::test {

/// Whether timings of this build are meaningful: sanitizers slow code down unevenly.
#if defined(MINNOW_TEST_ASAN) || defined(MINNOW_TEST_TSAN)
inline constexpr bool kSpeedCounts = false;
#else
inline constexpr bool kSpeedCounts = true;
#endif

}  // namespace minnow::test
