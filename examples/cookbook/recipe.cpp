#include "recipe.h"

#include <cstdio>
#include <exception>
#include <string>
#include <utility>
#include <vector>

namespace {

struct Entry {
  const char* name;
  std::function<void()> run;
};

std::vector<Entry>& entries() {
  static std::vector<Entry> list;
  return list;
}

}  // namespace

Recipe::Recipe(const char* name, std::function<void()> run) {
  entries().push_back({name, std::move(run)});
}

void expect(bool holds, minnow::SourceLocation where) {
  if (!holds) throw minnow::ValueError("the recipe did not give what it says", where);
}

Points::Points(std::int64_t n)
    : x(minnow::rand({n, 2})), y((x(minnow::all, 0) > x(minnow::all, 1)).to(minnow::int64)) {}

/// Runs all recipes, or those whose name begins with the argument.
int main(int argc, char** argv) {
  const std::string prefix = argc > 1 ? argv[1] : "";
  int failed = 0, run = 0;
  for (const auto& [name, function] : entries()) {
    if (!std::string(name).starts_with(prefix)) continue;
    ++run;
    try {
      minnow::manual_seed(1);
      function();
      std::printf("%s: as it says\n", name);
    } catch (const std::exception& e) {
      std::printf("%s: %s\n", name, e.what());
      ++failed;
    }
  }
  return failed || !run ? 1 : 0;
}
