#include <minnow/autograd/ops/reduce.h>
#include <minnow/autograd/ops/unary.h>

#include "devices.h"
#include "golden.h"

namespace minnow::test {
namespace {

class GoldenReduce : public DeviceTest {};
INSTANTIATE_TEST_SUITE_P(Devices, GoldenReduce, all_devices(), device_test_name);

using Tensors = std::vector<Tensor>;
using Reduction = std::function<Tensor(const In&, const Shape&, bool)>;

template <class F> Case one(F function) {
  return {[function](const Tensors& x) { return Tensors{function(x.at(0))}; }};
}

Case both(MinMax (*function)(const In&, int, bool), int dim, bool keepdim) {
  return {[=](const Tensors& x) {
    const MinMax found = function(x.at(0), dim, keepdim);
    return Tensors{found.values, found.indices};
  }};
}

void add_dims(std::map<std::string, Case>& cases, const std::string& name, const Reduction& op) {
  cases[name + "/all"] = one([op](const In& x) { return op(x, {}, false); });
  cases[name + "/1"] = one([op](const In& x) { return op(x, {1}, false); });
  cases[name + "/-1,keep"] = one([op](const In& x) { return op(x, {-1}, true); });
  cases[name + "/0,2"] = one([op](const In& x) { return op(x, {0, 2}, false); });
  cases[name + "/0,2,keep"] = one([op](const In& x) { return op(x, {2, 0}, true); });
  cases[name + "/permuted"] = one([op](const In& x) { return op(x->permute({2, 0, 1}), {1}, false); });
}

void add_extrema(std::map<std::string, Case>& cases) {
  const auto add = [&cases](const std::string& name, auto reduce, auto pick, auto place, auto places) {
    cases[name + "/all"] = cases[name + "/all,ties"] = one([=](const In& x) { return reduce(x, Shape{}, false); });
    cases[name + "/1"] = cases[name + "/ties"] = cases[name + "/nan"] = both(pick, 1, false);
    cases[name + "/-1,keep"] = both(pick, -1, true);
    cases["a" + name + "/ties"] = one([=](const In& x) { return reduce(x, Shape{1}, false); });
    cases["arg" + name + "/all"] = one([=](const In& x) { return place(x); });
    cases["arg" + name + "/1"] = one([=](const In& x) { return places(x, 1, false); });
    cases["arg" + name + "/-1,keep"] = one([=](const In& x) { return places(x, -1, true); });
  };
  using Pick = MinMax (*)(const In&, int, bool);
  using Place = Tensor (*)(const In&);
  using Places = Tensor (*)(const In&, int, bool);
  add("max", amax, static_cast<Pick>(max), static_cast<Place>(argmax), static_cast<Places>(argmax));
  add("min", amin, static_cast<Pick>(min), static_cast<Place>(argmin), static_cast<Places>(argmin));
}

TEST_P(GoldenReduce, AgreesWithPyTorch) {
  std::map<std::string, Case> cases;
  add_dims(cases, "sum", sum);
  add_dims(cases, "mean", mean);
  add_dims(cases, "amax", amax);
  add_dims(cases, "amin", amin);
  add_dims(cases, "logsumexp", logsumexp);
  add_dims(cases, "var", [](const In& x, const Shape& dims, bool keep) { return var(x, dims, 1, keep); });
  add_dims(cases, "std", [](const In& x, const Shape& dims, bool keep) { return stddev(x, dims, 1, keep); });
  add_dims(cases, "norm", [](const In& x, const Shape& dims, bool keep) { return norm(x, 2, dims, keep); });
  add_extrema(cases);
  cases["var/0,population"] = one([](const In& x) { return var(x, {0}, 0); });
  cases["std/0,population"] = one([](const In& x) { return stddev(x, {0}, 0); });
  for (const auto& [name, p] : std::map<std::string, double>{
           {"0", 0}, {"1", 1}, {"3", 3}, {"0.5", 0.5}, {"inf", kInfinity}, {"-inf", -kInfinity}})
    cases["norm/p=" + name] = one([p = p](const In& x) { return norm(x, p, {1}); });
  cases["prod/all"] = cases["prod/int64"] = one([](const In& x) { return prod(x); });
  cases["prod/1"] = one([](const In& x) { return prod(x, {1}); });
  for (const char* name : {"prod/one zero", "prod/two zeros", "prod/none"})
    cases[name] = one([](const In& x) { return prod(x, {0}); });
  cases["any/all"] = one([](const In& x) { return any(x); });
  cases["any/1"] = one([](const In& x) { return any(x, {1}); });
  cases["any/0,keep"] = one([](const In& x) { return any(x, {0}, true); });
  cases["all/all"] = one([](const In& x) { return all(x); });
  cases["all/1"] = one([](const In& x) { return all(x, {1}); });
  cases["all/0,keep"] = one([](const In& x) { return all(x, {0}, true); });
  cases["sum/int32"] = cases["sum/bool"] = one([](const In& x) { return sum(x); });
  cases["sum/uint8"] = cases["sum/none"] = one([](const In& x) { return sum(x, {0}); });
  cases["mean/none"] = one([](const In& x) { return mean(x, {0}); });
  cases["logsumexp/inf"] = one([](const In& x) { return logsumexp(x, {1}); });
  check(Book("reduce", device()), cases);
}

}  // namespace
}  // namespace minnow::test
