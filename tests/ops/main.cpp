#include <gtest/gtest.h>

#include "op_cases.h"

int main(int argc, char** argv) {
  ::testing::InitGoogleTest(&argc, argv);
  minnow::test::register_op_tests();
  return RUN_ALL_TESTS();
}
