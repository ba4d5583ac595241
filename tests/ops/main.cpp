#include <algorithm>
#include <gtest/gtest.h>
#include <iostream>
#include <map>
#include <string_view>

#include "op_cases.h"

namespace minnow::test {
namespace {

/// What the rows of a function say together.
struct Facts {
  std::vector<DType> dtypes;
  Gradient gradient = Gradient::kNone;
  bool on_cuda = false;
};

/// A line for each function, for docs/make_reference.py: the dtypes that it is tested to take, and its derivatives.
void print_facts() {
  std::map<std::string, Facts> functions;
  for (const OpCase& row : op_cases()) {
    Facts& facts = functions[row.function];
    for (const DType dtype : row.dtypes)
      if (std::find(facts.dtypes.begin(), facts.dtypes.end(), dtype) == facts.dtypes.end())
        facts.dtypes.push_back(dtype);
    if (row.gradient == Gradient::kAny || facts.gradient == Gradient::kNone) facts.gradient = row.gradient;
    facts.on_cuda = facts.on_cuda || row.on_cuda;
  }
  for (auto& [function, facts] : functions) {
    std::sort(facts.dtypes.begin(), facts.dtypes.end());
    constexpr std::string_view kGradients[] = {"none", "first", "any", "unchecked"};
    std::cout << function << ": " << kGradients[static_cast<std::size_t>(facts.gradient)] << ' '
              << (facts.on_cuda ? "cpu,cuda" : "cpu");
    for (const DType dtype : facts.dtypes) std::cout << ' ' << dtype;
    std::cout << '\n';
  }
}

}  // namespace
}  // namespace minnow::test

int main(int argc, char** argv) {
  if (argc > 1 && std::string_view(argv[1]) == "--facts") return minnow::test::print_facts(), 0;
  ::testing::InitGoogleTest(&argc, argv);
  minnow::test::register_op_tests();
  return RUN_ALL_TESTS();
}
