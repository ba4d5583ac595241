#include <gtest/gtest.h>
#include <minnow/distributed/process.h>

/// Run by mpirun: each rank runs all tests.  A rank that fails ends the others, through its exit code.
int main(int argc, char** argv) {
  ::testing::InitGoogleTest(&argc, argv);
  const minnow::dist::Process process({.timeout = 20});
  return RUN_ALL_TESTS();
}
