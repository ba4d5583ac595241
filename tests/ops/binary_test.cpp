#include <string_view>
#include <minnow/ops/elementwise/arithmetic.h>
#include <minnow/ops/elementwise/unary.h>
#include <minnow/ops/reductions/reduce.h>
#include <minnow/tensor/create.h>
#include <minnow/tensor/index.h>

#include "binary_functions.h"
#include "op_cases.h"

namespace minnow::test {
namespace {

using Unary = Tensor (*)(const In&);
template <class... F> using Rows = std::initializer_list<std::tuple<const char*, F...>>;

Function two(Binary function) {
  return one([function](const Tensors& x) { return function(x[0], x[1]); });
}

/// Inputs of equal shapes, broadcast, without elements and 0-dim; of both signs.
std::vector<Inputs> operands() {
  return {{values({2, 3}), values({2, 3})},       {values({2, 3}), values({3})},
          {values({2, 1}), values({1, 3})},       {values({2, 3}), values({})},
          {values({0, 3}), values({3})},          {values({}), values({})},
          {values({4}, -1.3, -0.3), values({4})}, {values({4}), values({4}, -1.3, -0.3)}};
}

std::vector<Inputs> positive_operands() {
  std::vector<Inputs> inputs = operands();
  inputs.resize(6);
  return inputs;
}

OpCase binary(const char* name, Binary function) {
  return {.function = name,
          .call = two(function),
          .inputs = operands(),
          .dtypes = all_dtypes(),
          .golden = {"binary: " + std::string(name)}};
}

/// x and 1.5, which every floating-point dtype holds: as with a tensor of that number.
OpCase by_number(const char* name, const char* variant, const Function& call, const Function& same) {
  OpCase c{.function = name, .variant = variant, .call = call};
  c.inputs = {{values({2, 3})}, {values({0, 3})}, {values({})}};
  c.same_as = same;
  c.takes_other_dtypes = true;
  return c;
}

Tensor as_tensor(const Tensor& x) { return full({}, 1.5, {x.dtype(), x.device()}); }

bool is_predicate(std::string_view name) { return name.size() == 2 || name.starts_with("logical_"); }  // eq, ne, ...
/// Has no gradient.
bool is_step(std::string_view name) { return is_predicate(name) || name == "floor_divide"; }

OpCases of_two() {
  OpCases cases;
  for (const auto& [name, function] : binary_functions()) {
    const std::string_view is = name;
    OpCase& c = cases.emplace_back(binary(name, function));
    if (is_step(is)) c.gradient = Gradient::kNone;
    if (is == "sub") c.dtypes = numbers();
    if (is != "fmod" && is != "remainder" && is != "floor_divide" && is != "pow") continue;
    c.dtypes = numbers();  // a mask may be a divisor of 0
    c.takes_other_dtypes = true;
    if (is == "pow") c.inputs = positive_operands();
  }
  for (const auto& [name, function] : bit_functions()) {
    OpCase& c = cases.emplace_back(binary(name, function));
    c.dtypes = integral();
    if (std::string_view(name).starts_with("bitwise")) c.dtypes.push_back(DType::bool_);
    c.gradient = Gradient::kNone;
  }
  return cases;
}

OpCases numbers_behind() {
  OpCases cases;
  for (const auto& [name, function] : binary_functions()) {
    if (std::string_view(name).starts_with("logical_")) continue;
    cases.push_back(by_number(name, "by a number", one([f = function](const Tensors& x) { return f(x[0], 1.5); }),
                              one([f = function](const Tensors& x) { return f(x[0], as_tensor(x[0])); })));
    if (is_step(name)) cases.back().gradient = Gradient::kNone;
  }
  for (const auto& [name, function] : bit_functions()) {
    cases.push_back(by_number(name, "by a number", one([f = function](const Tensors& x) { return f(x[0], 2); }),
                              one([f = function](const Tensors& x) {
                                return f(x[0], full({}, 2, {x[0].dtype(), x[0].device()}));
                              })));
    cases.back().dtypes = integral();
    cases.back().gradient = Gradient::kNone;
  }
  for (const auto& [name, function] :
       Rows<Binary>{{"add", add}, {"sub", sub}, {"mul", mul}, {"div", div}, {"pow", pow}, {"remainder", remainder}}) {
    OpCase c{
        .function = name, .variant = "by 2.5", .call = one([f = function](const Tensors& x) { return f(x[0], 2.5); })};
    c.inputs = {{values({2, 3})}};
    c.golden = {"binary: scalar/" + std::string(name)};
    c.takes_other_dtypes = true;
    cases.push_back(c);
  }
  return cases;
}

OpCases numbers_before() {
  OpCases cases;
  for (const auto& [name, function] : binary_functions()) {
    if (is_predicate(name)) continue;
    cases.push_back(by_number(name, "of a number", one([f = function](const Tensors& x) { return f(1.5, x[0]); }),
                              one([f = function](const Tensors& x) { return f(as_tensor(x[0]), x[0]); })));
    if (is_step(name)) cases.back().gradient = Gradient::kNone;
  }
  for (const auto& [name, call] : Rows<Unary>{{"add", [](const In& x) { return 2.5 + x; }},
                                              {"sub", [](const In& x) { return 2.5 - x; }},
                                              {"mul", [](const In& x) { return 2.5 * x; }},
                                              {"div", [](const In& x) { return 2.5 / x; }},
                                              {"pow", [](const In& x) { return pow(2.5, x); }}}) {
    OpCase c{.function = name, .variant = "of 2.5", .call = one([f = call](const Tensors& x) { return f(x[0]); })};
    c.inputs = {{values({2, 3})}};
    c.golden = {"binary: scalar/r" + std::string(name)};
    c.takes_other_dtypes = true;
    cases.push_back(c);
  }
  return cases;
}

OpCases of_three() {
  const std::vector<Inputs> three{{values({2, 3}), values({2, 3}), values({2, 3})},
                                  {values({2, 3}), values({3}), values({2, 1})},
                                  {values({0, 3}), values({3}), values({})},
                                  {values({}), values({}), values({})}};
  const std::vector<Inputs> chosen{{mask({2, 1}), values({3}), values({})},
                                   {mask({0, 3}), values({3}), values({3})},
                                   {mask({}), values({}), values({})}};
  const auto like = [](const Tensor& x) { return as_tensor(x); };
  OpCases cases{{.function = "where",
                 .call = one([](const Tensors& x) { return where(x[0], x[1], x[2]); }),
                 .inputs = chosen,
                 .dtypes = all_dtypes(),
                 .golden = {"binary: where"}},
                {.function = "where",
                 .variant = "or a number",
                 .call = one([](const Tensors& x) { return where(x[0], x[1], 1.5); }),
                 .inputs = {{mask({2, 3}), values({2, 3})}, {mask({2, 1}), values({3})}},
                 .same_as = one([like](const Tensors& x) { return where(x[0], x[1], like(x[1])); }),
                 .takes_other_dtypes = true},
                {.function = "where",
                 .variant = "a number or",
                 .call = one([](const Tensors& x) { return where(x[0], 1.5, x[1]); }),
                 .inputs = {{mask({2, 3}), values({2, 3})}, {mask({2, 1}), values({3})}},
                 .same_as = one([like](const Tensors& x) { return where(x[0], like(x[1]), x[1]); }),
                 .takes_other_dtypes = true},
                {.function = "where",
                 .variant = "a number or a number",
                 .call = one([](const Tensors& x) { return where(x[0], 1, 0.5); }),
                 .inputs = {{mask({2, 3})}, {mask({0, 3})}, {mask({})}},
                 .gradient = Gradient::kNone,
                 .same_as = one([](const Tensors& x) { return x[0].to(float32) * 0.5 + 0.5; })},
                {.function = "clamp",
                 .variant = "by tensors",
                 .call = one([](const Tensors& x) { return clamp(x[0], x[1], x[2]); }),
                 .inputs = three,
                 .dtypes = numbers(),
                 .golden = {"binary: clamp_tensor", "binary: clamp_tensor/broadcast", "binary: clamp_tensor/nan",
                            "binary: clamp_tensor/int64"},
                 .takes_other_dtypes = true,
                 .optional_from = 1},
                {.function = "clamp",
                 .variant = "by a number and a tensor",
                 .call = one([](const Tensors& x) { return clamp(x[0], -0.5, x[1]); }),
                 .inputs = {{values({2, 3}), values({3})}, {values({0, 3}), values({3})}, {values({}), values({})}},
                 .same_as = one([](const Tensors& x) {
                   return clamp(x[0], full({}, -0.5, {.dtype = x[0].dtype(), .device = x[0].device()}), x[1]);
                 }),
                 .takes_other_dtypes = true,
                 .optional_from = 1},
                {.function = "clamp_min",
                 .variant = "by a tensor",
                 .call = one([](const Tensors& x) { return clamp_min(x[0], x[1]); }),
                 .inputs = {{values({2, 3}), values({3})}, {values({0, 3}), values({3})}, {values({}), values({})}},
                 .golden = {"binary: clamp_tensor/low"},
                 .same_as = one([](const Tensors& x) { return clamp(x[0], x[1], Tensor()); }),
                 .takes_other_dtypes = true},
                {.function = "clamp_max",
                 .variant = "by a tensor",
                 .call = one([](const Tensors& x) { return clamp_max(x[0], x[1]); }),
                 .inputs = {{values({2, 3}), values({3})}, {values({0, 3}), values({3})}, {values({}), values({})}},
                 .golden = {"binary: clamp_tensor/high"},
                 .same_as = one([](const Tensors& x) { return clamp(x[0], Tensor(), x[1]); }),
                 .takes_other_dtypes = true},
                {.function = "lerp",
                 .call = one([](const Tensors& x) { return lerp(x[0], x[1], x[2]); }),
                 .inputs = three,
                 .dtypes = all_dtypes(),
                 .golden = {"binary: lerp"}},
                {.function = "lerp",
                 .variant = "by a number",
                 .call = one([](const Tensors& x) { return lerp(x[0], x[1], 0.3); }),
                 .inputs = {{values({2, 3}), values({3})}, {values({0, 3}), values({3})}, {values({}), values({})}},
                 .dtypes = all_dtypes(),
                 .golden = {"indexing: lerp/number"}},
                {.function = "addcmul",
                 .call = one([](const Tensors& x) { return addcmul(x[0], x[1], x[2], -1.5); }),
                 .inputs = three,
                 .dtypes = all_dtypes(),
                 .golden = {"binary: addcmul"}},
                {.function = "addcdiv",
                 .call = one([](const Tensors& x) { return addcdiv(x[0], x[1], x[2], -1.5); }),
                 .inputs = three,
                 .dtypes = all_dtypes(),
                 .golden = {"binary: addcdiv"}},
                {.function = "add",
                 .variant = "alpha",
                 .call = one([](const Tensors& x) { return add(x[0], x[1], -0.5); }),
                 .inputs = {{values({2, 3}), values({3})}, {values({0, 3}), values({3})}, {values({}), values({})}},
                 .golden = {"indexing: add/alpha"},
                 .takes_other_dtypes = true},
                {.function = "sub",
                 .variant = "alpha",
                 .call = one([](const Tensors& x) { return sub(x[0], x[1], 2); }),
                 .inputs = {{values({2, 3}), values({3})}, {values({0, 3}), values({3})}, {values({}), values({})}},
                 .dtypes = numbers(),
                 .golden = {"indexing: sub/alpha"},
                 .takes_other_dtypes = true}};
  return cases;
}

Tensor flag(bool value, const Tensor& beside) { return full({}, value, {.device = beside.device()}); }

OpCases answers() {
  const std::vector<Inputs> pairs{
      {values({2, 3}), values({2, 3})}, {values({0, 3}), values({0, 3})}, {values({}), values({})}};
  return {{.function = "equal",
           .call = one([](const Tensors& x) { return flag(equal(x[0], x[1]), x[0]); }),
           .inputs = pairs,
           .dtypes = all_dtypes(),
           .gradient = Gradient::kNone,
           .same_as = one([](const Tensors& x) { return all(eq(x[0], x[1])); })},
          {.function = "equal",
           .variant = "itself",
           .call = one([](const Tensors& x) { return flag(equal(x[0], x[0].clone()), x[0]); }),
           .inputs = {{values({2, 3})}},
           .dtypes = all_dtypes(),
           .gradient = Gradient::kNone,
           .same_as = one([](const Tensors& x) { return flag(true, x[0]); })},
          {.function = "allclose",
           .call = one([](const Tensors& x) { return flag(allclose(x[0], x[1], 0.3, 0.1), x[0]); }),
           .inputs = pairs,
           .dtypes = numbers(),
           .gradient = Gradient::kNone,
           .same_as = one([](const Tensors& x) {
             const Tensor a = x[0].to(DType::float64), b = x[1].to(DType::float64);
             return all(le(abs(a - b), abs(b) * 0.3 + 0.1));
           }),
           .takes_other_dtypes = true}};
}

OpCase in_place(const char* name, BinaryInPlace form, Binary function) {
  return {.function = name,
          .call = written([form](const Tensor& y, const Tensors& x) { form(y, x[1]); }),
          .inputs = {{values({2, 3}), values({2, 3})},
                     {values({2, 3}), values({3})},
                     {values({0, 3}), values({3})},
                     {values({}), values({})}},
          .dtypes = numbers(),
          .same_as = two(function),
          .takes_other_dtypes = true};
}

OpCases in_place_forms() {
  OpCases cases;
  for (const auto& [name, form, function] :
       Rows<BinaryInPlace, Binary>{{"add_", add_, add},
                                   {"sub_", sub_, sub},
                                   {"mul_", mul_, mul},
                                   {"div_", div_, div},
                                   {"fmod_", fmod_, fmod},
                                   {"remainder_", remainder_, remainder},
                                   {"pow_", pow_, pow},
                                   {"maximum_", maximum_, maximum},
                                   {"minimum_", minimum_, minimum},
                                   {"floor_divide_", floor_divide_, floor_divide}}) {
    cases.push_back(in_place(name, form, function));
    if (cases.back().function == "div_") cases.back().dtypes = floating_point_dtypes();
    cases.push_back(by_number(name, "by a number", written([f = form](const Tensor& y, const Tensors&) { f(y, 1.5); }),
                              one([f = function](const Tensors& x) { return f(x[0], 1.5); })));
  }
  const std::vector<Inputs> pairs{{values({2, 3}), values({3})}, {values({0, 3}), values({3})}};
  cases.push_back({.function = "add_",
                   .variant = "alpha",
                   .call = written([](const Tensor& y, const Tensors& x) { add_(y, x[1], 0.5); }),
                   .inputs = pairs,
                   .same_as = one([](const Tensors& x) { return add(x[0], x[1], 0.5); }),
                   .takes_other_dtypes = true});
  cases.push_back({.function = "sub_",
                   .variant = "alpha",
                   .call = written([](const Tensor& y, const Tensors& x) { sub_(y, x[1], 0.5); }),
                   .inputs = pairs,
                   .same_as = one([](const Tensors& x) { return sub(x[0], x[1], 0.5); }),
                   .takes_other_dtypes = true});
  cases.push_back({.function = "copy_",
                   .call = written([](const Tensor& y, const Tensors& x) { copy_(y, x[1]); }),
                   .inputs = pairs,
                   .dtypes = all_dtypes(),
                   .same_as = one([](const Tensors& x) { return x[1].expand(x[0].shape()).clone(); }),
                   .takes_other_devices = true});
  cases.push_back({.function = "fill_",
                   .call = written([](const Tensor& y, const Tensors&) { fill_(y, 1); }),
                   .inputs = {{values({2, 3})}, {values({0, 3})}, {values({})}},
                   .dtypes = all_dtypes(),
                   .gradient = Gradient::kNone,
                   .same_as = one([](const Tensors& x) { return ones_like(x[0]); })});
  cases.push_back({.function = "zero_",
                   .call = written([](const Tensor& y, const Tensors&) { zero_(y); }),
                   .inputs = {{values({2, 3})}, {values({0, 3})}, {values({})}},
                   .dtypes = all_dtypes(),
                   .gradient = Gradient::kNone,
                   .same_as = one([](const Tensors& x) { return zeros_like(x[0]); })});
  for (OpCase& c : cases)
    if (c.function == "floor_divide_") c.gradient = Gradient::kNone;
  return cases;
}

const Register kBinaryTables[] = {Register(of_two),   Register(numbers_behind), Register(numbers_before),
                                  Register(of_three), Register(answers),        Register(in_place_forms)};

}  // namespace
}  // namespace minnow::test
