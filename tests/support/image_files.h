#pragma once

#include <gtest/gtest.h>

namespace minnow::test {

// Whether minnow was built with libpng and libjpeg, by the build's own search.
bool reads_png();
bool reads_jpeg();

}  // namespace minnow::test

// For the beginning of a test.
#define MINNOW_NEEDS_PNG() \
  if (!minnow::test::reads_png()) GTEST_SKIP() << "minnow was built without libpng"
#define MINNOW_NEEDS_JPEG() \
  if (!minnow::test::reads_jpeg()) GTEST_SKIP() << "minnow was built without libjpeg"
