#include "op_misuse.h"

#include <gtest/gtest.h>
#include <limits>
#include <regex>
#include <thread>
#include <minnow/minnow.h>

#include "sanitizer.h"

namespace minnow::test {

bool names_an_operation(const std::string& text) {
  static const std::regex kNamed("[A-Za-z]+Error: [A-Za-z][A-Za-z0-9_:]*( |: |\\()[^]*");
  return std::regex_match(text, kNamed);
}

namespace {

/// Empty if the call, and backward of what it gave, ends well; else what is wrong.
std::string fault_of(const OpCase& c, const Tensors& x) {
  try {
    Tensors leaves;
    Tensors operands;
    for (const Tensor& t : x) {
      const bool leaf = t.defined() && t.is_floating_point();
      operands.push_back(leaf ? t.detach().requires_grad_() : t);
      if (leaf) leaves.push_back(operands.back());
    }
    const Tensors y = c.call(operands);
    Tensors recorded;
    for (const Tensor& t : y)
      if (t.defined() && t.requires_grad()) recorded.push_back(sum(t));
    if (!recorded.empty() && !leaves.empty()) (void)grad(recorded, leaves, {.allow_unused = true});
    for (const Tensor& t : y)
      if (t.defined()) (void)t.cpu();
    return {};
  } catch (const Error& error) {
    const std::string text = error.what();
    return names_an_operation(text) ? "" : "the error names no operation: " + text;
  } catch (const std::exception& error) { return std::string("no Error: ") + error.what(); }
}

Tensor filled(const Tensor& like, double value) {
  if (like.dtype() == DType::bool_) return full_like(like, value != 0);
  if (like.is_floating_point()) return full_like(like, value);
  const double least = like.dtype() == DType::uint8 ? 0 : -128;
  if (std::isnan(value)) value = 0;
  return full_like(like, static_cast<std::int64_t>(std::clamp(value, least, 127.0)));
}

struct Bad {
  std::string what;
  Tensor tensor;
};

std::vector<Bad> bad_forms(const Tensor& x) {
  constexpr std::int64_t kHuge = std::int64_t{1} << 40;
  std::vector<Bad> forms;
  for (const DType dtype : all_dtypes())
    if (dtype != x.dtype()) forms.push_back({"of " + std::string(name_of(dtype)), x.to(dtype)});
  forms.push_back({"with one dimension more", x.unsqueeze(0)});
  forms.push_back({"with many dimensions", x.reshape({1, 1, 1, 1, 1, 1, 1, x.numel()})});
  forms.push_back({"flat", x.flatten()});
  forms.push_back({"transposed", x.transpose(0, -1)});
  forms.push_back({"without elements", x.flatten().narrow(0, 0, 0)});
#ifndef MINNOW_TEST_ASAN  // whose operator new ends the program
  forms.push_back({"without elements, and huge", zeros({0, kHuge}, {.dtype = x.dtype(), .device = x.device()})});
#endif
  forms.push_back({"longer", cat({x.flatten(), x.flatten()}).contiguous()});
  if (x.dim() > 0) {
    forms.push_back({"without rows", x.narrow(0, 0, 0)});
    forms.push_back({"twice", cat({x, x}, 0)});
    forms.push_back({"twice along the last", cat({x, x}, -1)});
    forms.push_back({"a number", x.flatten().narrow(0, 0, std::min<std::int64_t>(1, x.numel())).squeeze()});
  }
  for (const double value : {std::numeric_limits<double>::quiet_NaN(), kInfinity, -kInfinity, -1.0, 0.0, 1e30})
    forms.push_back({"all " + std::to_string(value), filled(x, value)});
  if (x.dtype() == DType::int64)
    for (const std::int64_t value :
         {std::numeric_limits<std::int64_t>::max(), std::numeric_limits<std::int64_t>::min(), kHuge})
      forms.push_back({"all " + std::to_string(value), full_like(x, value)});
  Tensor moved = x;
  const Tensor elsewhere = std::move(moved);
  forms.push_back({"moved from", moved});  // NOLINT(bugprone-use-after-move): that is the misuse
  return forms;
}

std::string text_of(const Tensors& y) {
  std::string text;
  for (const Tensor& t : y)
    if (t.defined()) text += to_string(t.detach());
  return text;
}

/// In a hook of backward and on another thread a call is what it is elsewhere.
void expect_same_elsewhere(const OpCase& c, const Tensors& x, Device device) {
  manual_seed(2);
  const std::string want = text_of(c.call(x));
  std::string in_backward, on_a_thread;
  const Tensor leaf = ones({2}, {.device = device}).requires_grad_();
  const HookHandle hook = register_hook(leaf, [&](const Tensor& g) {
    manual_seed(2);
    in_backward = text_of(c.call(x));
    return g;
  });
  sum(leaf * 2).backward();
  std::thread([&] {
    manual_seed(2);
    on_a_thread = text_of(c.call(x));
  }).join();
  EXPECT_EQ(in_backward, want) << c.function << " in backward";
  EXPECT_EQ(on_a_thread, want) << c.function << " on another thread";
}

}  // namespace

void misuse(const OpCase& c, Device device) {
  const DType dtype = c.dtypes.empty() ? DType::float32 : c.dtypes.front();
  Tensors x;
  for (const Tensor& t : make_inputs(c.inputs.front(), dtype)) x.push_back(t.to(device));
  for (std::size_t i = 0; i < x.size(); ++i)
    for (const Bad& bad : bad_forms(x[i])) {
      Tensors operands = x;
      operands[i] = bad.tensor;
      const std::string fault = fault_of(c, operands);
      EXPECT_EQ(fault, "") << c.function << " " << c.variant << ": input " << i << " " << bad.what;
    }
  expect_same_elsewhere(c, x, device);
}

}  // namespace minnow::test
