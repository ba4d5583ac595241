#include "devices.h"
#include "samples.h"

namespace minnow::test {
namespace {

using X = SampleArguments;

template <class F> SampleCall reduced_by(F f) {
  return [f](const X& x) { return std::vector<Tensor>{f(x)}; };
}

Tensor source(const X& x) { return x.has(9, "dtype") ? x.tensor(0).to(x.value(9, "dtype").dtype) : x.tensor(0); }
Dims dims_of(const X& x) { return Dims(x.integers(1, "dim")); }

/// Of dims and keepdim.
SampleCall dims_by(Tensor (*f)(const In&, const Dims&, bool)) {
  return [f](const X& x) { return std::vector{f(source(x), dims_of(x), x.flag(2, "keepdim", false))}; };
}
/// As var(x, dim, correction = ..., keepdim = ...), and var(x, dim, unbiased, keepdim) of older programs.
template <class F> auto spread(const X& x, F f) {
  if (x.has(1, "unbiased") && x.value(1, "unbiased").kind == SampleValue::Kind::kBool)
    return f(x.tensor(0), Dims(), x.flag(1, "unbiased", true) ? 1.0 : 0.0, false);
  double correction = x.number(9, "correction", 1);
  if (x.has(2, "unbiased")) correction = x.flag(2, "unbiased", true) ? 1 : 0;
  return f(x.tensor(0), dims_of(x), correction, x.flag(3, "keepdim", false));
}
SampleCall spread_by(Tensor (*f)(const In&, const Dims&, double, bool)) {
  return [f](const X& x) { return std::vector{spread(x, f)}; };
}
std::vector<Tensor> std_and_mean(const X& x) {
  const StdMean y = spread(x, std_mean);
  return {y.std, y.mean};
}
std::vector<Tensor> var_and_mean(const X& x) {
  const VarMean y = spread(x, var_mean);
  return {y.var, y.mean};
}

template <class R> SampleCall along_by(R (*f)(const In&, int, bool)) {
  return [f](const X& x) {
    const R y = f(x.tensor(0), x.dim(1, "dim", 0), x.flag(2, "keepdim", false));
    return std::vector{y.values, y.indices};
  };
}
SampleCall scan_by(Tensor (*f)(const In&, int)) {
  return [f](const X& x) { return std::vector{f(source(x), x.dim(1, "dim", 0))}; };
}
SampleCall running_by(Ordered (*f)(const In&, int)) {
  return [f](const X& x) {
    const Ordered y = f(x.tensor(0), x.dim(1, "dim", 0));
    return std::vector{y.values, y.indices};
  };
}
SampleCall index_by(Tensor (*f)(const In&), Tensor (*along)(const In&, int, bool)) {
  return [=](const X& x) {
    const bool keepdim = x.flag(2, "keepdim", false);
    if (x.has(1, "dim")) return std::vector{along(x.tensor(0), x.dim(1, "dim", 0), keepdim)};
    if (keepdim) throw NoForm();
    return std::vector{f(x.tensor(0))};
  };
}

double order_of(const X& x, std::size_t at, const char* name, double otherwise) {
  if (!x.has(at, name)) return otherwise;
  if (x.value(at, name).kind == SampleValue::Kind::kText) {
    const std::string& text = x.value(at, name).text;
    if (text == "fro") return 2;
    if (text == "inf") return kInfinity;
    throw NoForm();
  }
  return x.number(at, name, otherwise);
}
Tensor norm_of(const X& x) {
  const double p = order_of(x, 1, "p", 2);
  return norm(source(x), p, Dims(x.integers(2, "dim")), x.flag(3, "keepdim", false));
}
Tensor vector_norm_of(const X& x) {
  const double p = order_of(x, 1, "ord", 2);
  return norm(source(x), p, Dims(x.integers(2, "dim")), x.flag(3, "keepdim", false));
}
Tensor matrix_norm_of(const X& x) {
  const std::vector<std::int64_t> dims = x.has(2, "dim") ? x.integers(2, "dim") : std::vector<std::int64_t>{-2, -1};
  if (x.has(1, "ord") && x.text(1, "ord", "fro") != "fro") throw NoForm();
  if (x.has(1, "ord") && x.value(1, "ord").kind != SampleValue::Kind::kText) throw NoForm();
  return norm(source(x), 2, Dims(dims), x.flag(3, "keepdim", false));
}

const SampleCalls kReduce = {
    {"sum", dims_by(sum)},
    {"mean", dims_by(mean)},
    {"nansum", dims_by(nansum)},
    {"nanmean", dims_by(nanmean)},
    {"prod", dims_by(prod)},
    {"amax", dims_by(amax)},
    {"amin", dims_by(amin)},
    {"any", dims_by(any)},
    {"all", dims_by([](const In& x, const Dims& dims, bool keepdim) { return all(x, dims, keepdim); })},
    {"logsumexp", dims_by(logsumexp)},
    {"aminmax",
     [](const X& x) {
       const Dims dims = Dims(x.integers(9, "dim"));
       const bool keepdim = x.flag(9, "keepdim", false);
       return std::vector{amin(x.tensor(0), dims, keepdim), amax(x.tensor(0), dims, keepdim)};
     }},
    {"var", spread_by(var)},
    {"std", spread_by(stddev)},
    {"var/unbiased", spread_by(var)},
    {"std/unbiased", spread_by(stddev)},
    {"std_mean", std_and_mean},
    {"var_mean", var_and_mean},
    {"std_mean/unbiased", std_and_mean},
    {"var_mean/unbiased", var_and_mean},
    {"norm", reduced_by(norm_of)},
    {"norm/fro", reduced_by(norm_of)},
    {"norm/inf", reduced_by(norm_of)},
    {"linalg.vector_norm", reduced_by(vector_norm_of)},
    {"linalg.matrix_norm", reduced_by(matrix_norm_of)},
    {"cumsum", scan_by(cumsum)},
    {"cumprod", scan_by(cumprod)},
    {"logcumsumexp", scan_by(logcumsumexp)},
    {"cummax", running_by(cummax)},
    {"cummin", running_by(cummin)},
    {"diff", reduced_by([](const X& x) {
       const int dim = x.dim(2, "dim", -1);
       const std::int64_t n = x.integer(1, "n", 1);
       if (n == 0 && x.has(3, "prepend")) throw NoForm();
       std::vector<Tensor> parts;
       if (x.has(3, "prepend")) parts.push_back(x.tensor(3, "prepend"));
       parts.push_back(x.tensor(0));
       if (x.has(4, "append")) parts.push_back(x.tensor(4, "append"));
       return diff(parts.size() == 1 ? parts[0] : cat(parts, dim), n, dim);
     })},
    {"max/reduction_with_dim", along_by<MinMax>(max)},
    {"min/reduction_with_dim", along_by<MinMax>(min)},
    {"max/reduction_no_dim", reduced_by([](const X& x) { return max(x.tensor(0)); })},
    {"min/reduction_no_dim", reduced_by([](const X& x) { return min(x.tensor(0)); })},
    {"argmax", index_by(argmax, argmax)},
    {"argmin", index_by(argmin, argmin)},
    {"sum_to_size", reduced_by([](const X& x) { return sum_to(x.tensor(0), Shape(x.rest(1))); })},
    {"count_nonzero", reduced_by([](const X& x) { return count_nonzero(x.tensor(0), dims_of(x)); })},
    {"bincount", reduced_by([](const X& x) {
       const std::int64_t least = x.integer(2, "minlength", 0);
       return x.has(1, "weights") ? bincount(x.tensor(0), x.tensor(1, "weights"), least) : bincount(x.tensor(0), least);
     })},
    {"nn.functional.normalize", reduced_by([](const X& x) {
       return normalize(x.tensor(0), x.number(1, "p", 2), x.has(2, "dim") ? Dims(x.integers(2, "dim")) : Dims(1),
                        x.number(3, "eps", 1e-12));
     })},
    {"nn.functional.cosine_similarity", reduced_by([](const X& x) {
       return cosine_similarity(x.tensor(0), x.tensor(1, "x2"), x.dim(2, "dim", 1), x.number(3, "eps", 1e-8));
     })},
    {"cdist", reduced_by([](const X& x) {
       (void)x.has(3, "compute_mode");
       return cdist(x.tensor(0), x.tensor(1, "x2"), x.number(2, "p", 2));
     })},
    {"nn.functional.pairwise_distance", reduced_by([](const X& x) {
       return pairwise_distance(
           x.tensor(0), x.tensor(1, "x2"),
           {.p = x.number(2, "p", 2), .eps = x.number(3, "eps", 1e-6), .keepdim = x.flag(4, "keepdim", false)});
     })},
    {"nn.functional.pdist", reduced_by([](const X& x) {
       const Tensor d = cdist(x.tensor(0), x.tensor(0), x.number(1, "p", 2));
       return masked_select(d, triu(ones(d.shape(), {.device = d.device()}), 1) > 0);
     })},
};

class ReduceSamples : public DeviceTest {};
INSTANTIATE_TEST_SUITE_P(Devices, ReduceSamples, all_devices(), device_test_name);

TEST_P(ReduceSamples, OfPyTorch) {
  expect_samples(
      "reduce", kReduce,
      {{"any", " u[", "any and all are of bool for every dtype"},
       {"all", " u[", "any and all are of bool for every dtype"},
       {"logcumsumexp", "gradient 0", "PyTorch's gradient has the rounding errors of large numbers"},
       {"nn.functional.normalize", " e *", "PyTorch's gradient for p = -1 has those of a half's small numbers"},
       {"nn.functional.pairwise_distance", "DTypeError", "distances are of floating-point tensors"}},
      device());
}

// Order and search.

template <class R> SampleCall chosen_by(R (*f)(const In&, int, bool), Tensor (*of_all)(const In&)) {
  return [=](const X& x) {
    if (of_all && !x.has(1, "dim")) return std::vector{of_all(x.tensor(0))};
    const R y = f(x.tensor(0), x.dim(1, "dim", -1), x.flag(2, "keepdim", false));
    return std::vector{y.values, y.indices};
  };
}
/// The numbers of different elements that were asked for.
std::vector<Tensor> unique_parts(const Unique& u) {
  std::vector<Tensor> parts{u.values};
  if (u.inverse.defined()) parts.push_back(u.inverse);
  if (u.counts.defined()) parts.push_back(u.counts);
  return parts;
}
bool on_right(const X& x) { return x.flag(9, "right", false) || x.text(9, "side", "left") == "right"; }

const SampleCalls kOrder = {
    {"sort",
     [](const X& x) {
       (void)x.has(9, "stable");
       const Ordered y = sort(x.tensor(0), x.dim(1, "dim", -1), x.flag(2, "descending", false));
       return std::vector{y.values, y.indices};
     }},
    {"msort", reduced_by([](const X& x) { return sort(x.tensor(0), 0).values; })},
    {"argsort", reduced_by([](const X& x) {
       (void)x.has(9, "stable");
       return argsort(x.tensor(0), x.dim(1, "dim", -1), x.flag(2, "descending", false));
     })},
    {"topk",
     [](const X& x) {
       const Ordered y = topk(x.tensor(0), x.integer(1, "k", 1), x.dim(2, "dim", -1), x.flag(3, "largest", true));
       (void)x.has(4, "sorted");
       return std::vector{y.values, y.indices};
     }},
    {"kthvalue",
     [](const X& x) {
       const Ordered y = kthvalue(x.tensor(0), x.integer(1, "k", 1), x.dim(2, "dim", -1), x.flag(3, "keepdim", false));
       return std::vector{y.values, y.indices};
     }},
    {"median", chosen_by<Ordered>(median, median)},
    {"nanmedian", chosen_by<Ordered>(nanmedian, nanmedian)},
    {"mode", chosen_by<Ordered>(mode, nullptr)},
    {"quantile", reduced_by([](const X& x) {
       if (x.value(1, "q").kind == SampleValue::Kind::kTensor || x.text(4, "interpolation", "linear") != "linear")
         throw NoForm();
       const bool keepdim = x.flag(3, "keepdim", false);
       return x.has(2, "dim") ? quantile(x.tensor(0), x.number(1, "q", 0), x.dim(2, "dim", 0), keepdim)
                              : quantile(x.tensor(0), x.number(1, "q", 0), {}, keepdim);
     })},
    {"searchsorted", reduced_by([](const X& x) {
       if (x.flag(9, "out_int32", false)) throw NoForm();
       if (x.value(1).kind != SampleValue::Kind::kTensor) throw NoForm();
       return searchsorted(x.tensor(0), x.tensor(1), on_right(x), x.tensor(9, "sorter"));
     })},
    {"bucketize", reduced_by([](const X& x) {
       if (x.flag(9, "out_int32", false)) throw NoForm();
       return bucketize(x.tensor(0), x.tensor(1, "boundaries"), on_right(x));
     })},
    {"histc", reduced_by([](const X& x) {
       return histc(x.tensor(0), x.integer(1, "bins", 100), x.number(2, "min", 0), x.number(3, "max", 0));
     })},
    {"unique",
     [](const X& x) {
       if (!x.flag(9, "sorted", true)) throw NoForm();
       return unique_parts(unique(x.tensor(0), x.flag(9, "return_inverse", false), x.flag(9, "return_counts", false),
                                  x.has(9, "dim") ? std::optional(x.dim(9, "dim", 0)) : std::nullopt));
     }},
    {"unique_consecutive",
     [](const X& x) {
       return unique_parts(
           unique_consecutive(x.tensor(0), x.flag(9, "return_inverse", false), x.flag(9, "return_counts", false)));
     }},
    {"isin", reduced_by([](const X& x) {
       (void)x.has(9, "assume_unique");
       const Tensor found = isin(x.tensor(0), x.tensor(1, "test_elements"));
       return x.flag(9, "invert", false) ? logical_not(found) : found;
     })},
};

class OrderSamples : public DeviceTest {};
INSTANTIATE_TEST_SUITE_P(Devices, OrderSamples, all_devices(), device_test_name);

TEST_P(OrderSamples, OfPyTorch) {
  expect_samples("order", kOrder,
                 {{"topk", "result 1", "of equal elements the first, where PyTorch leaves it open"},
                  {"kthvalue", "result 1", "of equal elements the first, where PyTorch leaves it open"}},
                 device());
}
TEST_P(OrderSamples, MisusedNumbers) { misuse_samples("order", kOrder, device()); }

}  // namespace
}  // namespace minnow::test
