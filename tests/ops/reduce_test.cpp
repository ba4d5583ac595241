#include <minnow/ops/elementwise/unary.h>
#include <minnow/ops/reductions/reduce.h>
#include <minnow/tensor/index.h>

#include "op_cases.h"

namespace minnow::test {
namespace {

using Reduce = Tensor (*)(const In&, const Dims&, bool);
template <class... F> using Rows = std::initializer_list<std::tuple<const char*, F...>>;

std::vector<Inputs> inputs() { return {{values({2, 3, 4})}, {values({3, 1, 2})}}; }

OpCase reduction(const char* name, const char* golden, Reduce function, const char* variant, const Shape& dims,
                 bool keepdim) {
  OpCase c{.function = name,
           .variant = variant,
           .call = one([=](const Tensors& x) { return function(x[0], dims, keepdim); }),
           .inputs = inputs()};
  c.golden = {"reduce: " + std::string(golden) + "/" + variant};
  return c;
}

OpCases along_dimensions() {
  OpCases cases;
  for (const auto& [name, golden, function] : Rows<const char*, Reduce>{
           {"sum", "sum", sum},
           {"mean", "mean", mean},
           {"amax", "amax", amax},
           {"amin", "amin", amin},
           {"logsumexp", "logsumexp", logsumexp},
           {"var", "var", [](const In&x, const Dims&d, bool keep) { return var(x, d, 1, keep); }},
           {"stddev", "std", [](const In&x, const Dims&d, bool keep) { return stddev(x, d, 1, keep); }},
           {"norm", "norm", [](const In&x, const Dims&d, bool keep) { return norm(x, 2, d, keep); }}}) {
    OpCases some{reduction(name, golden, function, "all", {}, false),
                 reduction(name, golden, function, "1", {1}, false),
                 reduction(name, golden, function, "-1,keep", {-1}, true),
                 reduction(name, golden, function, "0,2", {0, 2}, false),
                 reduction(name, golden, function, "0,2,keep", {2, 0}, true)};
    some.push_back({.function = name,
                    .variant = "permuted",
                    .call = one([f = function](const Tensors& x) {
                      return f(x[0].permute({2, 0, 1}), {1}, false);
                    }),
                    .inputs = inputs(),
                    .golden = {"reduce: " + std::string(golden) + "/permuted"}});
    const std::string is = name;
    if (is == "sum" || is == "amax" || is == "amin" || is == "logsumexp")
      for (OpCase& c : some) c.dtypes = all_dtypes();
    if (is == "var" || is == "stddev")
      for (OpCase& c : some) c.inputs = {{values({2, 3, 4})}};
    if (is != "amax" && is != "amin") {  // which are not defined without elements
      some[0].inputs.push_back({values({0, 3, 2})});
      some[1].inputs.push_back({values({2, 0, 2})});
      some[1].inputs.push_back({values({0, 3, 2})});
    }
    if (is != "var" && is != "stddev") some[0].inputs.push_back({values({})});
    cases.insert(cases.end(), some.begin(), some.end());
  }
  return cases;
}

OpCase special(const char* name, const char* golden, Reduce function, const Shape& dims, bool keepdim = false) {
  OpCase c = reduction(name, name, function, golden, dims, keepdim);
  c.golden = {"reduce: " + std::string(golden)};
  c.inputs = {{values({3, 4})}};
  c.takes_other_dtypes = true;
  return c;
}

OpCases of_other_orders() {
  OpCases cases{{.function = "var",
                 .variant = "population",
                 .call = one([](const Tensors& x) { return var(x[0], {0}, 0); }),
                 .inputs = inputs(),
                 .golden = {"reduce: var/0,population"}},
                {.function = "stddev",
                 .variant = "population",
                 .call = one([](const Tensors& x) { return stddev(x[0], {0}, 0); }),
                 .inputs = {{values({2, 3, 4})}},
                 .golden = {"reduce: std/0,population"}}};
  for (const auto& [text, p] : std::initializer_list<std::pair<const char*, double>>{
           {"0", 0}, {"1", 1}, {"3", 3}, {"0.5", 0.5}, {"inf", kInfinity}, {"-inf", -kInfinity}})
    cases.push_back({.function = "norm",
                     .variant = "p " + std::string(text),
                     .call = one([p = p](const Tensors& x) { return norm(x[0], p, {1}); }),
                     .inputs = {{values({2, 3, 4})}, {values({3, 4}, -1.3, -0.3)}},
                     .golden = {"reduce: norm/p=" + std::string(text)}});
  cases.push_back(special("logsumexp", "logsumexp/inf", logsumexp, {1}));
  cases.push_back(special("mean", "mean/none", mean, {0}));
  for (const char* golden : {"sum/int32", "sum/bool"}) cases.push_back(special("sum", golden, sum, {}));
  for (const char* golden : {"sum/uint8", "sum/none"}) cases.push_back(special("sum", golden, sum, {0}));
  for (const char* golden : {"prod/all", "prod/int64"}) cases.push_back(special("prod", golden, prod, {}));
  for (const char* golden : {"prod/one zero", "prod/two zeros", "prod/none"})
    cases.push_back(special("prod", golden, prod, {0}));
  cases.push_back(special("prod", "prod/1", prod, {1}));
  cases.back().inputs = {{values({2, 3, 2})}, {values({2, 0, 3})}, {values({1, 5, 1})}};
  cases.back().dtypes = all_dtypes();
  cases.push_back(special("amax", "amax/ties", amax, {1}));
  cases.push_back(special("amin", "amin/ties", amin, {1}));
  return cases;
}

OpCases of_truth() {
  OpCases cases;
  const Reduce all_of = [](const In& x, const Dims& dims, bool keep) { return all(x, dims, keep); };
  for (const auto& [name, function] : Rows<Reduce>{{"any", any}, {"all", all_of}}) {
    for (const auto& [variant, dims, keep] : std::initializer_list<std::tuple<const char*, Shape, bool>>{
             {"all", {}, false}, {"1", {1}, false}, {"0,keep", {0}, true}}) {
      cases.push_back(reduction(name, name, function, variant, dims, keep));
      cases.back().inputs = {{values({2, 3})}, {values({2, 0, 3})}, {values({3, 2, 4}, -1, 1)}};
      cases.back().dtypes = all_dtypes();
      cases.back().gradient = Gradient::kNone;
    }
  }
  return cases;
}

using Pick = MinMax (*)(const In&, int, bool);
using Place = Tensor (*)(const In&);
using Places = Tensor (*)(const In&, int, bool);
using Two = Tensor (*)(const In&, const In&);

OpCase places(const std::string& name, const char* variant, const Function& call) {
  return {.function = name,
          .variant = variant,
          .call = call,
          .inputs = {{values({2, 3, 4})}, {values({3, 1, 2})}, {values({1, 5, 2})}},
          .dtypes = numbers(),
          .gradient = Gradient::kNone,
          .golden = {"reduce: " + name + "/" + variant},
          .takes_other_dtypes = true};
}

OpCases extrema() {
  OpCases cases;
  const auto add = [&cases](const std::string& name, Place whole, Pick pick, Place place, Places along, Two two) {
    const auto both = [pick](int dim, bool keep) -> Function {
      return [=](const Tensors& x) {
        const MinMax found = pick(x[0], dim, keep);
        return Tensors{found.values, found.indices};
      };
    };
    const auto row = [&](const char* variant, const Function& call, std::vector<std::string> golden) {
      OpCase c = places(name, variant, call);
      c.gradient = Gradient::kAny;
      c.golden = {};
      for (const std::string& g : golden) c.golden.push_back("reduce: " + name + "/" + g);
      cases.push_back(c);
    };
    row("all", one([=](const Tensors& x) { return whole(x[0]); }), {"all", "all,ties"});
    row("1", both(1, false), {"1", "ties", "nan"});
    row("-1,keep", both(-1, true), {"-1,keep"});
    row("2", both(0, false), {});
    cases.back().inputs = {{values({})}, {values({3})}, {values({2, 0})}};
    row("of two", one([=](const Tensors& x) { return two(x[0], x[1]); }), {});
    cases.back().inputs = {{values({2, 3}), values({3})}, {values({0, 3}), values({3})}};
    if (name == "max") cases.back().golden = {"indexing: max/two"};
    const std::string arg = "arg" + name;
    cases.push_back(places(arg, "all", one([=](const Tensors& x) { return place(x[0]); })));
    cases.push_back(places(arg, "1", one([=](const Tensors& x) { return along(x[0], 1, false); })));
    cases.push_back(places(arg, "-1,keep", one([=](const Tensors& x) { return along(x[0], -1, true); })));
  };
  add("max", max, max, argmax, argmax, max);
  add("min", min, min, argmin, argmin, min);
  cases.push_back({.function = "sum_to",
                   .call = one([](const Tensors& x) {
                     return sum_to(x[0], {3, 1});
                   }),
                   .inputs = {{values({2, 3, 4})}, {values({0, 3, 2})}},
                   .dtypes = numbers(),
                   .same_as = one([](const Tensors& x) {
                     return sum(x[0], {0, 2}, true).reshape({3, 1});
                   }),
                   .takes_other_dtypes = true});
  return cases;
}

OpCases running_sums() {
  OpCases cases;
  for (const int dim : {0, 1, -1})
    cases.push_back({.function = "cumsum",
                     .variant = std::to_string(dim),
                     .call = one([=](const Tensors& x) { return cumsum(x[0], dim); }),
                     .inputs = {{values({2, 3, 4})}, {values({3, 0, 2})}, {values({5, 1, 70})}},
                     .dtypes = all_dtypes(),
                     .golden = {"reduce: cumsum/" + std::to_string(dim)}});
  for (const auto& [name, dim] : std::initializer_list<std::pair<const char*, int>>{
           {"long", 1}, {"columns", 1}, {"float16", 1}, {"int32", 0}, {"bool", 1}, {"0-dim", 0}})
    cases.push_back(
        {.function = "cumsum",
         .variant = name,
         .call = one([d = dim](const Tensors& x) { return cumsum(x[0], d == 1 && x[0].dim() < 2 ? 0 : d); }),
         .inputs = {{values({2, 3})}, {values({})}, {values({0})}},
         .dtypes = all_dtypes(),
         .golden = {"reduce: cumsum/" + std::string(name)}});
  return cases;
}

const Register kReduceTables[] = {Register(along_dimensions), Register(of_other_orders), Register(of_truth),
                                  Register(extrema), Register(running_sums)};

}  // namespace
}  // namespace minnow::test
