#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <minnow/ops/products/linalg.h>
#include <minnow/tensor/create.h>
#include <minnow/tensor/error.h>

namespace minnow {
namespace {

TEST(LapackDeathTest, AFileThatIsNotThereIsNamed) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");  // a new process, which has not loaded it yet
  ::setenv("MINNOW_LAPACK", "/nowhere/liblapack.so", 1);
  EXPECT_EXIT(
      {
        try {
          (void)linalg::cholesky(eye(40));
        } catch (const BackendError& error) {
          std::fputs(error.what(), stderr);
          std::exit(0);
        }
      },
      ::testing::ExitedWithCode(0), "cholesky needs LAPACK, which could not be loaded.*\n  /nowhere/liblapack.so: ");
  ::unsetenv("MINNOW_LAPACK");
}

}  // namespace
}  // namespace minnow
