#include <minnow/ops/elementwise/arithmetic.h>
#include <minnow/ops/indexing/masked.h>
#include <minnow/ops/products/einsum.h>
#include <minnow/ops/products/matmul.h>
#include <minnow/ops/reductions/distance.h>
#include <minnow/ops/reductions/statistics.h>
#include <minnow/ops/shape/rearrange.h>

#include "op_cases.h"

// Operations that are made of others.
namespace minnow::test {
namespace {

using Texts = std::vector<std::string>;

/// For every dtype.
OpCase compositions_row(const char* function, const std::string& variant, const Function& call,
                        std::vector<Inputs> inputs, Texts golden, std::vector<DType> dtypes = all_dtypes()) {
  return {.function = function,
          .variant = variant,
          .call = call,
          .inputs = std::move(inputs),
          .dtypes = std::move(dtypes),
          .golden = std::move(golden)};
}

OpCases diagonals() {
  OpCases cases;
  for (const auto& [offset, dim1, dim2] :
       std::initializer_list<std::tuple<std::int64_t, int, int>>{{0, 0, 1}, {1, 1, 2}, {-2, 2, 0}, {5, 0, 1}}) {
    const std::string text = std::to_string(offset) + "," + std::to_string(dim1) + "," + std::to_string(dim2);
    cases.push_back(compositions_row(
        "diagonal", text, one([o = offset, a = dim1, b = dim2](const Tensors& x) { return diagonal(x[0], o, a, b); }),
        {{values({2, 3, 4})}, {values({3, 3, 2})}, {values({3, 0, 2})}}, {"rearrange: diagonal/" + text}));
  }
  for (const std::int64_t k : {0, 1, -2}) {
    const std::string text = std::to_string(k);
    const auto call = one([k](const Tensors& x) { return diag(x[0], k); });
    cases.push_back(compositions_row("diag", "vector " + text, call, {{values({3})}, {values({0})}},
                                     {"rearrange: diag/vector " + text}));
    cases.push_back(compositions_row("diag", "matrix " + text, call, {{values({3, 4})}, {values({0, 3})}},
                                     {"rearrange: diag/matrix " + text}));
  }
  return cases;
}

OpCases padded() {
  const auto with = [](std::vector<std::int64_t> padding, PadMode mode, Scalar value = 0) {
    return one([=](const Tensors& x) { return pad(x[0], padding, mode, value); });
  };
  const std::vector<Inputs> boxes{{values({2, 3, 4})}, {values({4})}}, images{{values({1, 2, 3, 4})}, {values({3, 2})}};
  OpCases cases{
      compositions_row("pad", "constant", with({1, 2, 0, 3}, PadMode::constant),
                       {{values({2, 3, 4})}, {values({0, 3})}}, {"rearrange: pad/constant"}),
      compositions_row("pad", "value", with({1, 0, 0, 0, 0, 1}, PadMode::constant, 2.5), {{values({2, 3, 4})}},
                       {"rearrange: pad/value"}, floating_point_dtypes()),
      compositions_row("pad", "number", with({1, 0}, PadMode::constant, 1), {{values({2, 3})}}, {}),
      compositions_row("pad", "negative", with({-1, 2, 1, -2}, PadMode::constant),
                       {{values({2, 3, 4})}, {values({3, 1})}}, {"rearrange: pad/negative"}),
      compositions_row("pad", "none", with({}, PadMode::reflect), {{values({2, 3})}, {values({})}}, {}),
      compositions_row("pad", "reflect", with({3, 1}, PadMode::reflect), boxes, {"rearrange: pad/reflect"}),
      compositions_row("pad", "replicate", with({2, 5}, PadMode::replicate), boxes, {"rearrange: pad/replicate"}),
      compositions_row("pad", "circular", with({4, 3}, PadMode::circular), boxes, {"rearrange: pad/circular"}),
      compositions_row("pad", "reflect two", with({1, 2, 2, 0}, PadMode::reflect), {images[0]},
                       {"rearrange: pad/reflect,two"}),
      compositions_row("pad", "replicate two", with({1, 2, 2, 0}, PadMode::replicate), images,
                       {"rearrange: pad/replicate,two"}),
      compositions_row("pad", "circular two", with({1, 2, 2, 0}, PadMode::circular), images,
                       {"rearrange: pad/circular,two"}),
      compositions_row("pad", "circular negative", with({-1, 2, 1, -1}, PadMode::circular), {images[0]},
                       {"rearrange: pad/circular,negative"}),
      compositions_row("pad", "reflect none", with({1, 1}, PadMode::reflect), {{values({0, 2, 3})}},
                       {"rearrange: pad/reflect,none"}),
      compositions_row("pad", "replicate none", with({1, 1}, PadMode::replicate), {{values({0, 2, 3})}},
                       {"rearrange: pad/replicate,none"}),
      compositions_row("pad", "circular none", with({1, 1}, PadMode::circular), {{values({0, 2, 3})}},
                       {"rearrange: pad/circular,none"})};
  cases[1].takes_other_dtypes = true;
  return cases;
}

OpCases repeated() {
  const std::vector<Inputs> boxes{{values({2, 3, 4})}, {values({0, 3, 2})}};
  OpCases cases{
      compositions_row("repeat_interleave", "flat", one([](const Tensors& x) { return repeat_interleave(x[0], 2); }),
                       {boxes[0], boxes[1], {values({})}}, {"rearrange: repeat_interleave/flat"}),
      compositions_row("repeat_interleave", "3,1", one([](const Tensors& x) { return repeat_interleave(x[0], 3, 1); }),
                       boxes, {"rearrange: repeat_interleave/3,1"}),
      compositions_row("repeat_interleave", "tensor",
                       one([](const Tensors& x) { return repeat_interleave(x[0], x[1], -2); }),
                       {{values({2, 3, 4}), indices({3}, 4)}, {values({3, 2}), indices({1}, 3)}},
                       {"rearrange: repeat_interleave/tensor"}),
      compositions_row("tile", "2", one([](const Tensors& x) { return tile(x[0], 2); }),
                       {boxes[0], boxes[1], {values({})}}, {"rearrange: tile/2"}),
      compositions_row("tile", "2,1,1,3", one([](const Tensors& x) {
                         return tile(x[0], {2, 1, 1, 3});
                       }),
                       boxes, {"rearrange: tile/2,1,1,3"}),
      compositions_row("meshgrid", "", [](const Tensors& x) { return meshgrid(x); },
                       {{values({3}), values({2}), values({})}, {values({2}), values({0})}, {values({2})}},
                       {"rearrange: meshgrid"})};
  return cases;
}

OpCases sums_of_products() {
  OpCases cases;
  for (const auto& [equation, shapes] : std::initializer_list<std::pair<std::string, std::vector<Shape>>>{
           {"ij,jk->ik", {{2, 3}, {3, 4}}},
           {"ij,jk", {{2, 3}, {3, 4}}},
           {"ji", {{2, 3}}},
           {"ii->i", {{3, 3}}},
           {"ii", {{3, 3}}},
           {"i,j->ij", {{2}, {3}}},
           {"i,i->", {{3}, {3}}},
           {"ij->", {{2, 3}}},
           {"bij,bjk->bik", {{2, 2, 3}, {2, 3, 4}}},
           {"bhid,bhjd->bhij", {{2, 2, 3, 2}, {2, 2, 4, 2}}},
           {"...ij,...jk->...ik", {{2, 1, 2, 3}, {3, 3, 2}}},
           {"b...i,bij->...j", {{2, 3, 2}, {2, 2, 4}}},
           {"ij,kj,lj->ikl", {{2, 3}, {4, 3}, {2, 3}}},
           {"iij,jk->ki", {{3, 3, 2}, {2, 4}}},
           {"ij,ij->ij", {{2, 3}, {2, 3}}},
           {"ij,jk->i", {{2, 3}, {3, 4}}},
           {"i...->...", {{2, 3, 2}}},
           {"ij,j->i", {{2, 3}, {1}}},
           {"iBj, jA -> A B", {{2, 3, 2}, {2, 4}}}}) {
    Inputs inputs;
    for (const Shape& shape : shapes) inputs.push_back(values(shape).integers(1, 4));
    cases.push_back(compositions_row("einsum", equation, one([e = equation](const Tensors& x) { return einsum(e, x); }),
                                     {inputs}, {"einsum: " + equation}));
  }
  cases.front().inputs.push_back({values({2, 0}), values({0, 3})});
  cases.front().inputs.push_back({values({0, 2}), values({2, 3})});
  cases.push_back(compositions_row("einsum", "numbers", one([](const Tensors& x) { return einsum(",", x); }),
                                   {{values({}), values({})}}, {}));
  return cases;
}

OpCases products_added() {
  const auto sum_of = [](Scalar beta, Scalar alpha) {
    return one([=](const Tensors& x) { return addmm(x[0], x[1], x[2], beta, alpha); });
  };
  const Inputs row_of{values({4}), values({3, 2}), values({2, 4})},
      whole{values({3, 4}), values({3, 2}), values({2, 4})}, column{values({3, 1}), values({3, 2}), values({2, 4})},
      number{values({}), values({3, 2}), values({2, 4})}, none{values({4}), values({3, 0}), values({0, 4})};
  const Inputs batches{values({2, 3, 4}), values({2, 3, 2}), values({2, 2, 4})},
      matrix{values({3, 4}), values({2, 3, 2}), values({2, 2, 4})};
  OpCases cases{
      compositions_row("addmm", "1", sum_of(1, 1), {row_of, whole, column, number, none}, {"addmm: addmm/row"}),
      compositions_row("addmm", "0.5,-2", sum_of(0.5, -2), {whole, row_of}, {"addmm: addmm/matrix"},
                       floating_point_dtypes()),
      compositions_row("addmm", "0,3", sum_of(0, 3), {row_of}, {"addmm: addmm/beta 0"}, floating_point_dtypes()),
      compositions_row("addmm", "2,1", sum_of(2, 1), {column}, {"addmm: addmm/column"}),
      compositions_row("baddbmm", "1", one([](const Tensors& x) { return baddbmm(x[0], x[1], x[2]); }),
                       {batches, matrix}, {"addmm: baddbmm"}),
      compositions_row("baddbmm", "0.5,3", one([](const Tensors& x) { return baddbmm(x[0], x[1], x[2], 0.5, 3); }),
                       {matrix, batches}, {"addmm: baddbmm/scaled"}, floating_point_dtypes())};
  cases[2].gradient = Gradient::kUnchecked;  // input has none
  cases[2].takes_other_dtypes = true;
  return cases;
}

OpCases distances() {
  OpCases cases;
  const std::vector<DType> floats = floating_point_dtypes();
  for (const auto& [text, p, dim] : std::initializer_list<std::tuple<std::string, double, int>>{
           {"2,1", 2, 1}, {"1,-1", 1, -1}, {"3,0", 3, 0}, {"inf,2", kInfinity, 2}})
    cases.push_back(compositions_row("normalize", text,
                                     one([p = p, d = dim](const Tensors& x) { return normalize(x[0], p, d); }),
                                     {{values({2, 3, 4})}}, {"distance: normalize/" + text}, floats));
  cases.push_back(compositions_row("normalize", "two", one([](const Tensors& x) {
                                     return normalize(x[0], 2, {0, 2}, 0.5);
                                   }),
                                   {{values({2, 3, 4})}}, {"distance: normalize/two"}, floats));
  cases.push_back(compositions_row("normalize", "1", one([](const Tensors& x) { return normalize(x[0]); }),
                                   {{values({2, 3})}, {values({2, 0})}}, {"distance: normalize/zero"}, floats));
  const auto cosine = [](int dim, double eps) {
    return one([=](const Tensors& x) { return cosine_similarity(x[0], x[1], dim, eps); });
  };
  cases.push_back(compositions_row("cosine_similarity", "1", cosine(1, 1e-8),
                                   {{values({2, 3, 4}), values({2, 3, 4})}, {values({2, 0}), values({2, 0})}},
                                   {"distance: cosine_similarity"}, floats));
  cases.push_back(compositions_row("cosine_similarity", "-1", cosine(-1, 1e-8),
                                   {{values({2, 3, 4}), values({2, 1, 4})}}, {"distance: cosine_similarity/-1"},
                                   floats));
  cases.push_back(compositions_row("cosine_similarity", "eps", cosine(-1, 0.1), {{values({3, 4}), values({4})}},
                                   {"distance: cosine_similarity/zero"}, floats));
  const auto pairs = [](double p) { return one([=](const Tensors& x) { return cdist(x[0], x[1], p); }); };
  for (const auto& [text, p] : std::initializer_list<std::pair<std::string, double>>{
           {"0", 0}, {"0.5", 0.5}, {"1", 1}, {"2", 2}, {"3", 3}, {"inf", kInfinity}})
    cases.push_back(compositions_row("cdist", text, pairs(p),
                                     {{values({2, 3, 4}), values({2, 2, 4}, 2, 3)},
                                      {values({3, 0}), values({2, 0})},
                                      {values({0, 3}), values({2, 3})}},
                                     {"distance: cdist/" + text}, floats));
  cases.push_back(compositions_row("cdist", "of near rows", pairs(2), {{values({3, 4}), values({2, 4}, 1.5, 2.5)}},
                                   {"distance: cdist/same", "distance: cdist/broadcast"}, floats));
  cases.push_back(compositions_row("cdist", "of many rows", pairs(2), {{values({30, 2}), values({2, 2}, 2, 3)}},
                                   {"distance: cdist/many"}, {DType::float32, DType::float64}));
  cases.back().takes_other_dtypes = true;
  cases.back().tolerance = {1e-4, 1e-5};  // PyTorch's own products of matrices round, too
  return cases;
}

OpCases moments_and_counts() {
  OpCases cases;
  const auto deviation = [](const Dims& dims, double correction, bool keepdim) -> Function {
    return [=](const Tensors& x) {
      const auto [value, mean] = std_mean(x[0], dims, correction, keepdim);
      return Tensors{value, mean};
    };
  };
  const auto variance = [](const Dims& dims, double correction, bool keepdim) -> Function {
    return [=](const Tensors& x) {
      const auto [value, mean] = var_mean(x[0], dims, correction, keepdim);
      return Tensors{value, mean};
    };
  };
  const std::vector<Inputs> boxes{{values({2, 3, 4})}}, any_box{{values({2, 3, 4})}, {values({3, 0, 2})}};
  const std::vector<DType> floats = floating_point_dtypes();
  for (const auto& [name, make] :
       std::initializer_list<std::pair<const char*, std::function<Function(const Dims&, double, bool)>>>{
           {"std_mean", deviation}, {"var_mean", variance}}) {
    const std::string golden = "statistics: " + std::string(name);
    cases.push_back(compositions_row(name, "all", make({}, 1, false), boxes, {golden + "/all"}, floats));
    cases.push_back(compositions_row(name, "1", make(1, 1, false), boxes, {golden + "/1"}, floats));
    cases.push_back(compositions_row(name, "0,2,keep", make({0, 2}, 0, true), boxes, {golden + "/0,2,keep"}, floats));
  }
  cases.push_back(compositions_row("nansum", "all", one([](const Tensors& x) { return nansum(x[0]); }), any_box,
                                   {"statistics: nansum/all"}));
  cases.push_back(compositions_row("nansum", "0", one([](const Tensors& x) { return nansum(x[0], 0); }), any_box,
                                   {"statistics: nansum/int32"}));
  cases.push_back(compositions_row("nansum", "1,keep", one([](const Tensors& x) { return nansum(x[0], 1, true); }),
                                   any_box, {"statistics: nansum/1,keep"}));
  cases.push_back(compositions_row("nanmean", "all", one([](const Tensors& x) { return nanmean(x[0]); }), any_box,
                                   {"statistics: nanmean/all"}, floats));
  cases.push_back(compositions_row("nanmean", "1,keep", one([](const Tensors& x) { return nanmean(x[0], 1, true); }),
                                   any_box, {"statistics: nanmean/1,keep"}, floats));
  cases.push_back(compositions_row("nansum", "1", one([](const Tensors& x) { return nansum(x[0], 1); }), any_box,
                                   {"statistics: nansum/none"}));
  cases.push_back(compositions_row("nanmean", "1", one([](const Tensors& x) { return nanmean(x[0], 1); }), any_box,
                                   {"statistics: nanmean/none"}, floats));
  cases.push_back(compositions_row("count_nonzero", "all", one([](const Tensors& x) { return count_nonzero(x[0]); }),
                                   {{values({2, 3})}, {values({0, 3})}, {values({})}},
                                   {"statistics: count_nonzero/all"}));
  cases.push_back(compositions_row("count_nonzero", "1", one([](const Tensors& x) { return count_nonzero(x[0], 1); }),
                                   {{values({2, 3})}}, {"statistics: count_nonzero/1"}));
  cases.push_back(compositions_row("bincount", "", one([](const Tensors& x) { return bincount(x[0]); }),
                                   {{indices({5}, 4)}, {indices({0}, 4)}}, {"statistics: bincount"}));
  cases.push_back(compositions_row("bincount", "6", one([](const Tensors& x) { return bincount(x[0], 6); }),
                                   {{indices({5}, 4)}}, {"statistics: bincount/6"}));
  cases.push_back(compositions_row("bincount", "weights", one([](const Tensors& x) { return bincount(x[0], x[1]); }),
                                   {{indices({5}, 4), values({5})}, {indices({0}, 4), values({0})}},
                                   {"statistics: bincount/weights", "statistics: bincount/integer weights"}));
  cases.push_back(compositions_row("isclose", "", one([](const Tensors& x) { return isclose(x[0], x[1]); }),
                                   {{values({2, 3}), values({3})}, {values({0}), values({})}},
                                   {"statistics: isclose"}));
  cases.push_back(compositions_row("isclose", "nan",
                                   one([](const Tensors& x) { return isclose(x[0], x[1], 0.2, 0, true); }),
                                   {{values({2, 3}), values({3})}}, {"statistics: isclose/nan"}));
  for (OpCase& c : cases)
    if (c.function == "count_nonzero" || c.function == "bincount" || c.function == "isclose")
      c.gradient = Gradient::kNone;
  return cases;
}

OpCases at_positions() {
  const std::vector<Inputs> boxes{{values({3, 4}), mask({3, 4}), values({12})},
                                  {values({3, 4}), mask({4}), values({4, 3})},
                                  {values({0, 3}), mask({3}), values({2})}};
  OpCases cases{
      compositions_row("take_along_dim", "1", one([](const Tensors& x) { return take_along_dim(x[0], x[1], 1); }),
                       {{values({3, 4}), indices({3, 2}, 4)}, {values({1, 4}), indices({2, 3}, 4)}},
                       {"masked: take_along_dim"}),
      compositions_row(
          "take_along_dim", "0", one([](const Tensors& x) { return take_along_dim(x[0], x[1], 0); }),
          {{values({3, 4}), indices({2, 1}, 3)}, {values({3}), indices({0}, 3)}, {values({}), indices({}, 1)}},
          {"masked: take_along_dim/broadcast"}),
      compositions_row("take_along_dim", "flat", one([](const Tensors& x) { return take_along_dim(x[0], x[1]); }),
                       {{values({3, 4}), indices({2, 2}, 12)}}, {"masked: take_along_dim/flat"}),
      compositions_row(
          "index_fill", "0", one([](const Tensors& x) { return index_fill(x[0], 0, x[1], 1); }),
          {{values({3, 4}), indices({3}, 3)}, {values({3, 0}), indices({0}, 3)}, {values({}), indices({1}, 1)}}, {}),
      compositions_row("index_fill", "-1.5", one([](const Tensors& x) { return index_fill(x[0], 0, x[1], -1.5); }),
                       {{values({3, 4}), indices({3}, 3)}}, {"masked: index_fill"}, floating_point_dtypes()),
      compositions_row("index_fill", "tensor", one([](const Tensors& x) { return index_fill(x[0], -1, x[1], x[2]); }),
                       {{values({3, 4}), indices({2}, 4), values({})}}, {"masked: index_fill/tensor"}),
      {.function = "index_fill_",
       .call = written([](const Tensor& y, const Tensors& x) { index_fill_(y, 1, x[1], 1); }),
       .inputs = {{values({3, 4}), indices({2}, 4)}},
       .dtypes = all_dtypes(),
       .same_as = one([](const Tensors& x) { return index_fill(x[0], 1, x[1], 1); })},
      compositions_row("masked_scatter", "", one([](const Tensors& x) { return masked_scatter(x[0], x[1], x[2]); }),
                       boxes, {"masked: masked_scatter", "masked: masked_scatter/broadcast"}),
      {.function = "masked_scatter_",
       .call = written([](const Tensor& y, const Tensors& x) { masked_scatter_(y, x[1], x[2]); }),
       .inputs = boxes,
       .dtypes = all_dtypes(),
       .same_as = one([](const Tensors& x) { return masked_scatter(x[0], x[1], x[2]); })}};
  cases[4].takes_other_dtypes = true;
  return cases;
}

const Register kCompositionsTables[] = {Register(diagonals),          Register(padded),         Register(repeated),
                                        Register(sums_of_products),   Register(products_added), Register(distances),
                                        Register(moments_and_counts), Register(at_positions)};

}  // namespace
}  // namespace minnow::test
