// Every operation under an Autocast guard has the result's dtype that PyTorch's has (tests/golden/autocast.txt).
#include <algorithm>
#include <fstream>
#include <gtest/gtest.h>
#include <map>
#include <optional>
#include <set>
#include <sstream>
#include <minnow/autograd/autocast.h>
#include <minnow/autograd/grad_mode.h>
#include <minnow/tensor/error.h>

#include "devices.h"
#include "op_cases.h"

namespace minnow::test {
namespace {

using Words = std::set<std::string>;

/// autocast.txt.
struct Rules {
  std::map<std::string, Words> lists;
  std::map<std::string, std::pair<std::string, std::string>> cases;  // for float32 and for bfloat16 inputs

  Rules() {
    std::ifstream file(std::string(MINNOW_TEST_DIR) + "/golden/autocast.txt");
    for (std::string line; std::getline(file, line);) {
      if (line.starts_with("list ")) {
        std::istringstream words(line.substr(5));
        std::string name, word;
        words >> name;
        while (words >> word) lists[name].insert(word);
        continue;
      }
      const std::size_t equals = line.rfind(" = "), comma = line.rfind(", ");
      cases[line.substr(0, equals)] = {line.substr(equals + 3, comma - equals - 3), line.substr(comma + 2)};
    }
  }
};

const Rules& rules() {
  static const Rules all;
  return all;
}

std::string dtypes_of(const Tensors& results) {
  std::string text;
  for (const Tensor& y : results)
    text += (text.empty() ? "" : "+") + std::string(y.defined() ? name_of(y.dtype()) : "");
  return text;
}

/// The dtypes of the results, or nothing if it throws.
std::optional<std::string> call(const OpCase& c, const Tensors& inputs, bool autocast) {
  const Autocast guard(bfloat16, {.enabled = autocast, .force = true});
  try {
    return dtypes_of(c.call(inputs));
  } catch (const Error&) { return std::nullopt; }
}

/// The inputs of a case, with those that are float32 in `dtype`; nothing if there are none.
std::optional<Tensors> inputs_of(const Book& book, const std::string& name, DType dtype) {
  Tensors inputs;
  bool any = false;
  for (int i = 0; book.contains(name + "/in" + std::to_string(i)); ++i) {
    const Tensor x = book[name + "/in" + std::to_string(i)];
    if (x.dtype() == float64) return std::nullopt;
    any = any || x.is_floating_point();
    inputs.push_back(x.is_floating_point() ? x.to(dtype) : x);
  }
  return any ? std::optional(inputs) : std::nullopt;
}

/// Calls f(row, file, name of a golden case) for each.
template <class F> void for_each_golden(const F& f) {
  for (const OpCase& c : op_cases())
    for (const std::string& golden : c.golden) {
      const std::size_t colon = golden.find(": ");
      f(c, golden.substr(0, colon), golden.substr(colon + 2));
    }
}

/// On purpose not PyTorch's.
const std::map<std::string, std::string> kOwn = {
    {"combined: matrix_power/2", "float32"},  // with an inverse for negative powers, which no half has
    {"combined: matrix_power/5", "float32"}, {"combined: matrix_power/-2", "float32"},
    {"linalg: pinv:tall", "float32"},        {"composed: pinv/atol:tall", "float32"},
    {"composed: pinv/rtol:tall", "float32"}, {"composed: pinv/hermitian", "float32"},
};

class AutocastRules : public DeviceTest {};
INSTANTIATE_TEST_SUITE_P(Devices, AutocastRules, all_devices(), device_test_name);

TEST_P(AutocastRules, GiveTheDtypesOfPyTorchOnTheCpu) {
  if (device().is_cuda()) return;
  const NoGradGuard no_grad;
  int listed = 0;
  for_each_golden([&](const OpCase& c, const std::string& file, const std::string& golden) {
    const Book book(file, device());
    for (const std::string& name : book.cases()) {
      if (name != golden && !name.starts_with(golden + ":")) continue;
      const std::string key = file + ": " + name;
      for (const DType dtype : {float32, bfloat16}) {
        const auto inputs = inputs_of(book, name, dtype);
        if (!inputs) continue;
        const auto found = rules().cases.find(key);
        const auto got = call(c, *inputs, true);
        if (found == rules().cases.end()) continue;
        std::string want = dtype == float32 ? found->second.first : found->second.second;
        if (want == "error") continue;                          // PyTorch has no such kernel
        if (key.starts_with("interpolate: 3d/area")) continue;  // there adaptive_avg_pool3d, which is float32
        if (const auto own = kOwn.find(key); own != kOwn.end()) want = own->second;
        EXPECT_EQ(got.value_or("an error"), want) << key << " of " << name_of(dtype);
        ++listed;
      }
    }
  });
  EXPECT_GT(listed, 400);
}

/// minnow's names of functions in PyTorch's lists.
std::string torch_name(const std::string& function) {
  static const std::map<std::string, std::string> names = {
      {"grid_sample", "grid_sampler"}, {"interpolate", "upsample_nearest2d"}, {"pow_scalar", "pow"}};
  const auto found = names.find(function);
  return found == names.end() ? function : found->second;
}

/// Functions whose results are those of listed ones that PyTorch composes them of.
const std::map<std::string, std::string> kComposedOnCuda = {{"affine_grid", "lower"},
                                                            {"cross_entropy", "float32"},
                                                            {"gaussian_nll_loss", "float32"},
                                                            {"linear_cross_entropy", "float32"},
                                                            {"local_response_norm", "float32"},
                                                            {"lp_pool1d", "float32"},
                                                            {"lp_pool2d", "float32"},
                                                            {"lp_pool3d", "float32"},
                                                            {"multilabel_soft_margin_loss", "float32"},
                                                            {"normalize", "float32"},
                                                            {"pairwise_distance", "float32"},
                                                            {"softmin", "float32"}};

TEST_P(AutocastRules, GiveTheDtypesOfPyTorchsListsOnCuda) {
  if (!device().is_cuda()) return;
  const NoGradGuard no_grad;
  std::set<std::string> seen;
  for_each_golden([&](const OpCase& c, const std::string& file, const std::string& golden) {
    // A power of a number and ctc_loss follow the operations that they are made of, which depend on the arguments.
    const std::set<std::string> others{"binary_cross_entropy", "ctc_loss", "pow_scalar"};
    if (!c.on_cuda || others.contains(c.function) || !seen.insert(c.function + c.variant).second) return;
    std::string policy;
    for (const char* list : {"lower", "float32", "promote"})
      if (rules().lists.at(std::string("cuda/") + list).contains(torch_name(c.function))) policy = list;
    if (const auto composed = kComposedOnCuda.find(c.function); composed != kComposedOnCuda.end())
      policy = composed->second;
    const Book book(file, device());
    for (const DType dtype : {float32, bfloat16}) {
      const auto inputs = inputs_of(book, golden, dtype);
      if (!inputs) continue;
      const auto got = call(c, *inputs, true), without = call(c, *inputs, false);
      if (policy.empty()) {
        EXPECT_EQ(got, without) << c.function << " of " << name_of(dtype);
        continue;
      }
      const bool wide = policy == "float32" || (policy == "promote" && dtype == float32);
      const std::string want = wide ? "float32" : "bfloat16";
      ASSERT_TRUE(got.has_value()) << c.function << " of " << name_of(dtype);
      EXPECT_EQ(got->substr(0, got->find('+')), want) << c.function << " of " << name_of(dtype);
    }
  });
  EXPECT_GT(seen.size(), 100U);
}

}  // namespace
}  // namespace minnow::test
