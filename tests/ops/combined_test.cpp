#include <cmath>
#include <minnow/ops/convolution/conv.h>
#include <minnow/ops/convolution/pool.h>
#include <minnow/ops/convolution/resample.h>
#include <minnow/ops/elementwise/unary.h>
#include <minnow/ops/fft.h>
#include <minnow/ops/indexing/search.h>
#include <minnow/ops/indexing/sort.h>
#include <minnow/ops/products/linalg.h>
#include <minnow/ops/products/matmul.h>
#include <minnow/ops/reductions/scan.h>
#include <minnow/ops/shape/rearrange.h>
#include <minnow/tensor/create.h>
#include <minnow/tensor/error.h>

#include "devices.h"
#include "op_cases.h"

// Operations that are made of others: differences, products, quantiles, transforms of several dimensions; single
// images.
namespace minnow::test {
namespace {

const std::vector<DType> kSingleAndDouble{DType::float32, DType::float64};

OpCase combined(const char* function, const std::string& golden, const Function& call, std::vector<Inputs> inputs,
                std::vector<DType> dtypes = floating_point_dtypes()) {
  return {.function = function,
          .variant = golden,
          .call = call,
          .inputs = std::move(inputs),
          .dtypes = std::move(dtypes),
          .golden = {"combined: " + golden},
          .tolerance = {1e-5, 1e-5}};
}

OpCases special_products() {
  const Input batch = values({3, 4, 5}), matrix = values({4, 5});
  OpCases cases{
      combined("diff", "diff", one([](const Tensors& x) { return diff(x[0]); }),
               {{batch}, {values({0})}, {values({1})}}),
      combined("diff", "diff/2,1", one([](const Tensors& x) { return diff(x[0], 2, 1); }), {{batch}}),
      combined("diff", "diff/9,0", one([](const Tensors& x) { return diff(x[0], 9, 0); }), {{batch}}),
      combined("tensordot", "tensordot/2", one([](const Tensors& x) { return tensordot(x[0], x[1]); }),
               {{batch, values({4, 5, 2})}, {values({2, 0, 3}), values({0, 3})}}),
      combined("tensordot", "tensordot/0", one([](const Tensors& x) { return tensordot(x[0], x[1], 0); }),
               {{matrix, values({5, 2})}}),
      combined("tensordot", "tensordot/lists", one([](const Tensors& x) {
                 return tensordot(x[0], x[1], {0, 2}, {1, 0});
               }),
               {{values({5, 2, 4}), values({4, 5, 3})}}),
      combined("kron", "kron", one([](const Tensors& x) { return kron(x[0], x[1]); }),
               {{matrix, values({5, 2})}, {values({}), values({2})}, {values({0, 2}), values({3, 2})}}),
      combined("kron", "kron/ranks", one([](const Tensors& x) { return kron(x[0], x[1]); }),
               {{values({5}), values({4, 5, 2})}}),
      combined("cross", "cross", one([](const Tensors& x) { return cross(x[0], x[1]); }),
               {{values({4, 3}), values({4, 3})}, {values({0, 3}), values({0, 3})}}),
      combined("cross", "cross/0,broadcast", one([](const Tensors& x) { return cross(x[0], x[1], 0); }),
               {{values({3, 4}), values({3, 1})}}),
      combined("trace", "trace", one([](const Tensors& x) { return trace(x[0]); }), {{matrix}, {values({0, 2})}}),
      combined("hstack", "hstack", one([](const Tensors& x) { return hstack(x); }), {{batch, values({3, 2, 5})}}),
      combined("hstack", "hstack/vectors", one([](const Tensors& x) { return hstack(x); }),
               {{values({5}), values({4})}, {values({}), values({})}}),
      combined("vstack", "vstack", one([](const Tensors& x) { return vstack(x); }), {{matrix, values({2, 5})}}),
      combined("vstack", "vstack/vectors", one([](const Tensors& x) { return vstack(x); }),
               {{values({5}), values({5})}}),
  };
  for (const auto& [offset, dim1, dim2] :
       std::initializer_list<std::tuple<std::int64_t, int, int>>{{0, -2, -1}, {1, 0, 2}, {-2, 2, 1}})
    cases.push_back(combined(
        "diag_embed", "diag_embed/" + std::to_string(offset) + "," + std::to_string(dim1) + "," + std::to_string(dim2),
        one([o = offset, a = dim1, b = dim2](const Tensors& x) { return diag_embed(x[0], o, a, b); }),
        {{matrix}, {values({0, 3})}}));
  cases[0].golden.push_back("combined: diff/bool");
  for (OpCase& c : cases) c.takes_other_dtypes = true, c.exact = c.function != "cross";  // differences of products
  return cases;
}

OpCases order() {
  const std::vector<Inputs> lines{{values({3, 4, 5})}};
  OpCases cases;
  for (const char* q : {"0", "0.3", "0.5", "1"})
    cases.push_back(combined("quantile", std::string("quantile/") + q,
                             one([p = std::stod(q)](const Tensors& x) { return quantile(x[0], p, 1); }), lines,
                             kSingleAndDouble));
  cases.push_back(combined("quantile", "quantile/all", one([](const Tensors& x) { return quantile(x[0], 0.7); }),
                           {lines[0], {values({})}}, kSingleAndDouble));
  cases.push_back(combined("quantile", "quantile/0.25,keep",
                           one([](const Tensors& x) { return quantile(x[0], 0.25, 0, true); }), lines,
                           kSingleAndDouble));
  for (const auto& [name, way] :
       std::initializer_list<std::pair<std::string, Quantile>>{{"linear", Quantile::linear},
                                                               {"lower", Quantile::lower},
                                                               {"higher", Quantile::higher},
                                                               {"midpoint", Quantile::midpoint},
                                                               {"nearest", Quantile::nearest}}) {
    const auto of_number = one([w = way](const Tensors& x) { return quantile(x[0], 0.3, 1, false, w); });
    const auto of_tensor = one([w = way](const Tensors& x) { return quantile(x[0], x[1], 1, false, w); });
    cases.push_back(combined("quantile", "quantile/" + name, of_number, lines, kSingleAndDouble));
    cases.push_back(combined("quantile", "quantile/" + name + ",q", of_tensor, {{lines[0][0], values({2}, 0.4, 0.45)}},
                             kSingleAndDouble));
  }
  const std::vector<Inputs> several{{lines[0][0], values({2}, 0.4, 0.45)}};
  cases.push_back(combined("quantile", "quantile/all", one([](const Tensors& x) { return quantile(x[0], x[1]); }),
                           {{values({7}), values({2}, 0.4, 0.45)}, {values({}), values({2})}}, kSingleAndDouble));
  cases.push_back(combined("quantile", "quantile/all,keep",
                           one([](const Tensors& x) { return quantile(x[0], x[1], {}, true); }),
                           {{values({7}), values({2}, 0.4, 0.45)}}, kSingleAndDouble));
  cases.push_back(combined("quantile", "quantile/0,keep",
                           one([](const Tensors& x) { return quantile(x[0], x[1], 0, true); }), several,
                           kSingleAndDouble));
  cases.push_back(combined("quantile", "quantile/-1,0-dim",
                           one([](const Tensors& x) { return quantile(x[0], x[1], -1); }),
                           {{lines[0][0], values({}, 0.3, 0.4)}}, kSingleAndDouble));
  for (std::size_t i = 6; i < cases.size(); ++i) cases[i].golden = {"composed: " + cases[i].variant};
  const auto pair = [](const Ordered& o) { return Tensors{o.values, o.indices}; };
  cases.push_back(combined("nanmedian", "nanmedian/all", one([](const Tensors& x) { return nanmedian(x[0]); }),
                           {lines[0], {values({})}, {values({0})}}));
  cases.push_back(combined(
      "nanmedian", "nanmedian/1", [=](const Tensors& x) { return pair(nanmedian(x[0], 1)); }, lines));
  cases.push_back(combined(
      "nanmedian", "nanmedian/0,keep", [=](const Tensors& x) { return pair(nanmedian(x[0], 0, true)); }, lines));
  for (OpCase& c : cases)
    if (c.function == "nanmedian") c.takes_other_dtypes = true, c.exact = false;
  return cases;
}

OpCases searches() {
  OpCases cases;
  for (const int dim : {0, 1, 2})
    cases.push_back(combined(
        "unique", "unique/" + std::to_string(dim),
        [dim](const Tensors& x) {
          const Unique u = unique(x[0], true, true, dim);
          return Tensors{u.values, u.inverse, u.counts};
        },
        dim == 2 ? std::vector<Inputs>{{values({2, 2, 5})}}
                 : std::vector<Inputs>{{values({5, 3})}, {values({2, 1, 2})}},
        all_dtypes()));
  cases.push_back(combined("searchsorted", "searchsorted/sorter",
                           one([](const Tensors& x) { return searchsorted(x[0], x[1], false, argsort(x[0])); }),
                           {{values({5}), values({2, 3})}, {values({2, 5}), values({2, 3})}}, all_dtypes()));
  cases.push_back(combined("isin", "isin", one([](const Tensors& x) { return isin(x[0], x[1]); }),
                           {{values({3, 4}), values({5})}, {values({2}), values({0})}, {values({}), values({})}},
                           all_dtypes()));
  cases.back().golden.push_back("combined: isin/float32");
  cases.back().golden.push_back("combined: isin/nan");
  cases.back().golden.push_back("combined: isin/infinity");
  cases.back().golden.push_back("combined: isin/none");
  for (OpCase& c : cases) c.gradient = Gradient::kNone, c.exact = false;
  return cases;
}

OpCases matrices() {
  OpCases cases{
      combined("lstsq", "lstsq/tall", one([](const Tensors& x) { return linalg::lstsq(x[0], x[1]); }),
               {{values({5, 3}, -1, 1), values({5, 2})}, {values({4, 2}, -1, 1), values({4})}}, kSingleAndDouble),
      combined("lstsq", "lstsq/wide", one([](const Tensors& x) { return linalg::lstsq(x[0], x[1]); }),
               {{values({2, 3, 4}, -1, 1), values({2, 3, 2})}}, kSingleAndDouble)};
  for (const int n : {0, 1, 2, 5, -2})
    cases.push_back(combined("matrix_power", "matrix_power/" + std::to_string(n),
                             one([n](const Tensors& x) { return linalg::matrix_power(x[0], n); }),
                             {{values({2, 3, 3}, -1, 1)}}, kSingleAndDouble));
  for (OpCase& c : cases) c.on_cuda = false, c.exact = false, c.tolerance = {1e-4, 1e-4};
  for (std::size_t i = 2; i < 6; ++i) cases[i].on_cuda = true;  // products alone; the last has an inverse
  cases[2].gradient = Gradient::kNone;                          // the identity
  return cases;
}

OpCases transforms_of_dimensions() {
  const Inputs complex{values({2, 3, 4, 2}, -1, 1)}, real{values({3, 4, 5}, -1, 1)};
  const std::vector<DType>& d = kSingleAndDouble;
  return {combined("fftn", "fftn/all", one([](const Tensors& x) { return fftn(x[0]); }), {complex}, d),
          combined("fftn", "fftn/0,2", one([](const Tensors& x) {
                     return fftn(x[0], {}, {0, 2}, FftNorm::ortho);
                   }),
                   {complex}, d),
          combined("ifftn", "ifftn/all", one([](const Tensors& x) { return ifftn(x[0]); }), {complex}, d),
          combined("ifftn", "ifftn/0,2", one([](const Tensors& x) {
                     return ifftn(x[0], {}, {0, 2}, FftNorm::ortho);
                   }),
                   {complex}, d),
          combined("rfftn", "rfftn/all", one([](const Tensors& x) { return rfftn(x[0]); }), {real}, d),
          combined("rfftn", "rfftn/2,0", one([](const Tensors& x) {
                     return rfftn(x[0], {}, {2, 0}, FftNorm::forward);
                   }),
                   {real}, d),
          combined("irfftn", "irfftn/all", one([](const Tensors& x) { return irfftn(x[0]); }), {complex}, d),
          combined("irfftn", "irfftn/2,0", one([](const Tensors& x) {
                     return irfftn(x[0], {}, {2, 0}, FftNorm::ortho);
                   }),
                   {complex}, d),
          combined("fftshift", "fftshift/0,2", one([](const Tensors& x) {
                     return fftshift(x[0], {0, 2});
                   }),
                   {real, {values({0, 2, 3})}}, all_dtypes()),
          combined("ifftshift", "ifftshift/0,2", one([](const Tensors& x) {
                     return ifftshift(x[0], {0, 2});
                   }),
                   {real}, all_dtypes())};
}

OpCases images() {
  OpCases cases;
  for (const auto& [name, mode] : std::initializer_list<std::pair<std::string, Interpolation>>{
           {"bilinear", Interpolation::bilinear}, {"bicubic", Interpolation::bicubic}}) {
    for (const bool corners : {false, true})
      cases.push_back(combined(
          "interpolate", "antialias/" + name + (corners ? ",corners" : ""), one([m = mode, corners](const Tensors& x) {
            return interpolate(x[0], {.size = {4, 11}, .mode = m, .align_corners = corners, .antialias = true});
          }),
          {{values({2, 3, 9, 7})}}));
    cases.push_back(combined("interpolate", "antialias/" + name + ",factor", one([m = mode](const Tensors& x) {
                               return interpolate(x[0], {.scale_factor = {0.4, 0.6}, .mode = m, .antialias = true});
                             }),
                             {{values({2, 3, 9, 7})}}));
  }
  const auto pair = [](const MinMax& m) { return Tensors{m.values, m.indices}; };
  const Inputs image{values({3, 9, 7})};
  cases.push_back(combined("conv2d", "single/conv2d", one([](const Tensors& x) { return conv2d(x[0], x[1], x[2]); }),
                           {{image[0], values({4, 3, 3, 2}), values({4})}}));
  cases.back().optional_from = 2;
  cases.push_back(combined("conv1d", "single/conv1d", one([](const Tensors& x) { return conv1d(x[0], x[1]); }),
                           {{values({9, 7}), values({4, 9, 3})}}));
  cases.push_back(combined("conv3d", "single/conv3d", one([](const Tensors& x) { return conv3d(x[0], x[1]); }),
                           {{values({2, 3, 9, 7}), values({4, 2, 2, 3, 2})}}));
  cases.push_back(combined("conv_transpose2d", "single/conv_transpose2d",
                           one([](const Tensors& x) { return conv_transpose2d(x[0], x[1], {}, {.stride = 2}); }),
                           {{image[0], values({3, 2, 3, 2})}}));
  cases.push_back(combined(
      "max_pool2d_with_indices", "single/max_pool2d",
      [=](const Tensors& x) { return pair(max_pool2d_with_indices(x[0], 2)); }, {image}, numbers()));
  cases.push_back(
      combined("avg_pool2d", "single/avg_pool2d", one([](const Tensors& x) { return avg_pool2d(x[0], 2); }), {image}));
  cases.push_back(combined("lp_pool2d", "single/lp_pool2d",
                           one([](const Tensors& x) { return lp_pool2d(abs(x[0]), 2, 2); }), {image}));
  cases.push_back(combined("adaptive_avg_pool2d", "single/adaptive_avg_pool2d", one([](const Tensors& x) {
                             return adaptive_avg_pool2d(x[0], {2, 3});
                           }),
                           {image}));
  cases.push_back(combined("adaptive_max_pool2d_with_indices", "single/adaptive_max_pool2d",
                           [=](const Tensors& x) {
                             return pair(adaptive_max_pool2d_with_indices(x[0], {2, 3}));
                           },
                           {image}));
  for (OpCase& c : cases) {
    c.tolerance = {1e-4, 1e-4};
    c.exact = false;
  }
  cases.push_back(combined("logcumsumexp", "logcumsumexp/infinite",
                           one([](const Tensors& x) { return logcumsumexp(x[0], 0); }), {{values({3})}}));
  return cases;
}

const Register kProducts(special_products);
const Register kOrder(order);
const Register kSearches(searches);
const Register kMatrices(matrices);
const Register kTransforms(transforms_of_dimensions);
const Register kImages(images);

class Combined : public DeviceTest {};
INSTANTIATE_TEST_SUITE_P(Devices, Combined, all_devices(), device_test_name);

TEST_P(Combined, RefusesWhatDoesNotFit) {
  const Tensor x = zeros({3, 4}, device()), y = zeros({5, 4}, device());
  EXPECT_THROW((void)tensordot(x, y, 1), ShapeError);
  EXPECT_THROW((void)tensordot(x, y, 3), ValueError);
  EXPECT_THROW((void)tensordot(x, y, {0}, {0, 1}), ShapeError);
  EXPECT_THROW((void)tensordot(x, x, {0, 0}, {0, 0}), ValueError);
  EXPECT_THROW((void)tensordot(zeros({}, device()), y, {0}, {0}), ShapeError);
  EXPECT_THROW((void)cross(x, y), ShapeError);
  EXPECT_THROW((void)trace(zeros({2, 2, 2}, device())), ShapeError);
  EXPECT_THROW((void)diag_embed(x, 0, 0, 0), ShapeError);
  EXPECT_THROW((void)diag_embed(x, 0, 0, 3), IndexError);
  EXPECT_THROW((void)diff(x, -1), ValueError);
  EXPECT_THROW((void)diff(zeros({}, device())), ValueError);
  EXPECT_THROW((void)quantile(x, 1.5), ValueError);
  EXPECT_THROW((void)quantile(x.to(int64), 0.5), DTypeError);
  EXPECT_THROW((void)quantile(zeros({0}, device()), 0.5), ShapeError);
  EXPECT_THROW((void)quantile(x, zeros({2, 2}, device())), ShapeError);
  EXPECT_THROW((void)quantile(x, zeros({2}, device()).to(float64)), DTypeError);
  EXPECT_THROW((void)quantile(zeros({2}), tensor({0.5, 1.5})), ValueError);
  EXPECT_THROW((void)nanmedian(zeros({0, 2}, device()), 0), ShapeError);
  EXPECT_THROW((void)unique(zeros({3, 0}, device()), false, false, 0), ShapeError);
  EXPECT_THROW((void)searchsorted(arange(3, device()), arange(3, device()), false, zeros({3}, device())), ShapeError);
  EXPECT_THROW((void)hstack({x, y}), ShapeError);
  EXPECT_THROW((void)vstack({}), ValueError);
  EXPECT_THROW(
      (void)interpolate(zeros({1, 1, 4}, device()), {.size = 2, .mode = Interpolation::linear, .antialias = true}),
      ValueError);
  EXPECT_THROW((void)linalg::lstsq(zeros({3, 2}), zeros({2})), ShapeError);
  const Tensor of_dependent_columns = linalg::lstsq(ones({3, 2}), ones({3}));  // of least length
  expect_close(of_dependent_columns, tensor({0.5, 0.5}, float32), "lstsq of rank 1", {1e-5, 1e-5});
}

TEST_P(Combined, QuantilesOfATensorHaveExactPlaces) {
  const Tensor x = arange(101, {float32, device()});
  EXPECT_EQ(quantile(x, tensor(0.29F).to(device()), {}, false, Quantile::lower).item(), 28);  // 28.999999
}

TEST_P(Combined, QuantilesThatNeedNoNeighbourAreExact) {
  const Tensor x = tensor({-INFINITY, 1.0, 2.0, INFINITY}, float32).to(device());
  const Tensor ends = tensor({0.0, 1.0}, float32).to(device());
  const std::vector<float> infinities{-INFINITY, INFINITY};
  for (const Quantile way :
       {Quantile::linear, Quantile::lower, Quantile::higher, Quantile::midpoint, Quantile::nearest})
    EXPECT_EQ(quantile(x, ends, 0, false, way).to_vector<float>(), infinities);
  const Tensor between = tensor({0.1, 0.9}, float32).to(device());
  EXPECT_EQ(quantile(x, between, 0, false, Quantile::nearest).to_vector<float>(), infinities);
  EXPECT_EQ(quantile(x, between, 0, false, Quantile::lower).to_vector<float>(), (std::vector<float>{-INFINITY, 2}));
  EXPECT_EQ(quantile(x, between, 0, false, Quantile::higher).to_vector<float>(), (std::vector<float>{1, INFINITY}));
}

TEST(SlogDet, BackwardOfASingularMatrixIsNotFinite) {
  const Tensor a = tensor({{1.0, 2.0}, {2.0, 4.0}}).requires_grad_();
  linalg::slogdet(a).logabsdet.backward();  // PyTorch: infinities
  EXPECT_FALSE(a.grad().isfinite().any().item<bool>());
}

}  // namespace
}  // namespace minnow::test
