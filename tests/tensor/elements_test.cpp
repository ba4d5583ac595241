#include <gtest/gtest.h>
#include <vector>
#include <minnow/ops/detail/index.h>
#include <minnow/tensor/backend/dispatch.h>
#include <minnow/tensor/create.h>
#include <minnow/tensor/kernels/binary.h>
#include <minnow/tensor/kernels/unary.h>
#include <minnow/tensor/kernels/update.h>
#include <minnow/tensor/raw/copy.h>
#include <minnow/tensor/raw/elementwise.h>
#include <minnow/tensor/raw/view.h>
#include "devices.h"

namespace minnow {
namespace {

constexpr DType kAll[] = {DType::float32, DType::float64, DType::float16, DType::bfloat16, DType::int64,
                          DType::int32,   DType::int16,   DType::int8,    DType::uint8,    DType::bool_};

Tensor numbers(const Shape& shape, DType dtype, std::int64_t modulus = 7) {
  std::vector<double> values;
  for (std::int64_t i = 0; i < shape.numel(); ++i) values.push_back(static_cast<double>(i * 5 % modulus));
  return raw::cast(raw::reshape(tensor(values), shape), dtype);
}

void expect_same(const Tensor& device, const Tensor& host, const std::string& what) {
  EXPECT_EQ(device.shape(), host.shape()) << what;
  EXPECT_EQ(device.dtype(), host.dtype()) << what;
  EXPECT_EQ(device.to_vector<double>(), host.to_vector<double>()) << what;
}

class Elements : public test::DeviceTest {};
INSTANTIATE_TEST_SUITE_P(Devices, Elements, test::all_devices(), test::device_test_name);

/// Every pair of dtypes, for lengths with and without a remainder after vectors; dense, broadcast, transposed,
/// unaligned.
TEST_P(Elements, SumsAgreeWithTheHostForAllDTypesAndLayouts) {
  const int add = raw::kBinary<kernels::Add>, less = raw::kBinary<kernels::Lt>;
  for (const DType p : kAll) {
    for (const DType q : kAll) {
      for (const std::int64_t n : {1, 3, 8, 13}) {
        const Tensor a = numbers({6, n}, p), b = numbers({6, n}, q, 5), row = numbers({n}, q, 3);
        const Tensor x = a.to(device()), y = b.to(device()), z = row.to(device());
        const std::string what = std::string(name_of(p)) + " " + std::string(name_of(q)) + " " + std::to_string(n);
        expect_same(raw::binary(add, x, y), raw::binary(add, a, b), what);
        expect_same(raw::binary(less, x, y), raw::binary(less, a, b), what);
        expect_same(raw::binary(add, x, z), raw::binary(add, a, row), what + " broadcast");
        expect_same(raw::binary(add, raw::transpose(x, 0, 1), raw::transpose(y, 0, 1)),
                    raw::binary(add, raw::transpose(a, 0, 1), raw::transpose(b, 0, 1)), what + " turned");
        expect_same(raw::binary(add, x.narrow(0, 1, 5), y.narrow(0, 0, 5)),
                    raw::binary(add, a.narrow(0, 1, 5), b.narrow(0, 0, 5)), what + " unaligned");
        expect_same(raw::cast(x, q), raw::cast(a, q), what + " cast");
      }
    }
  }
}

TEST_P(Elements, LongTensorsKeepTheirLastElements) {
  const Tensor a = numbers({(1 << 16) + 3}, DType::float32, 101);
  const Tensor x = a.to(device());
  expect_same(raw::binary(raw::kBinary<kernels::Mul>, x, x), raw::binary(raw::kBinary<kernels::Mul>, a, a), "square");
}

TEST_P(Elements, CopiesTurnMatricesOfEveryElementSize) {
  for (const DType dtype : kAll) {
    for (const Shape& shape : {Shape{33, 70}, Shape{2, 40, 9, 35}, Shape{5, 3}}) {
      const Tensor a = numbers(shape, dtype, 97), x = a.to(device());
      const int last = shape.rank() - 1;
      expect_same(raw::contiguous(raw::transpose(x, 0, last)), raw::contiguous(raw::transpose(a, 0, last)),
                  shape.str());
      expect_same(raw::contiguous(x.narrow(last, 1, 2)), raw::contiguous(a.narrow(last, 1, 2)), "part");
    }
  }
}

/// Tenths in the floating-point dtypes that are not halves, whose sums depend on the order of additions.
Tensor terms(const Shape& shape, DType dtype, std::int64_t modulus) {
  const Tensor whole = numbers(shape, dtype, modulus);
  if (!is_floating_point(dtype) || is_half(dtype)) return whole;
  return raw::binary(raw::kBinary<kernels::Div>, whole, raw::cast(tensor(10.0), dtype));
}

/// Many sources for few targets, by short and long index lists.
TEST_P(Elements, IndexedSumsKeepTheirOrder) {
  for (const DType dtype : kAll) {
    for (const std::int64_t n : {5, 128, 129, 700}) {
      if (dtype == DType::bfloat16 && n > 129) continue;  // a device adds in float32, and rounds once
      const Tensor index = raw::cast(numbers({n}, DType::float32, 6), DType::int64);
      const Tensor rows = terms({n, 9}, dtype, 11), base = numbers({8, 9}, dtype);
      const Tensor sum = raw::index_add(base.to(device()), 0, index.to(device()), rows.to(device()));
      expect_same(sum, raw::index_add(base, 0, index, rows), "index_add " + std::string(name_of(dtype)));
      const Tensor places = raw::contiguous(raw::expand(raw::unsqueeze(index, 0), {3, n}));
      const Tensor lines = terms({3, n}, dtype, 13), target = numbers({3, 7}, dtype);
      expect_same(raw::scatter_add(target.to(device()), 1, places.to(device()), lines.to(device())),
                  raw::scatter_add(target, 1, places, lines), "scatter_add " + std::string(name_of(dtype)));
      expect_same(raw::index_select(base.to(device()), 0, index.to(device())), raw::index_select(base, 0, index),
                  "rows");
    }
  }
}

/// More tensors than one launch takes, of two dtypes, one of them strided.
TEST_P(Elements, AnUpdateReachesEveryTensor) {
  const auto constants = kernels::SgdRule::constants({.lr = 0.5}, 1, true);
  std::vector<Tensor> params, grads;
  for (int k = 0; k < 130; ++k) {
    const DType dtype = k % 5 == 0 ? DType::float64 : k % 7 == 0 ? DType::float16 : DType::float32;
    Tensor p = numbers({k % 4 + 1, 5}, dtype).to(device());
    if (k % 11 == 0) p = raw::transpose(p, 0, 1);
    params.push_back(p);
    grads.push_back(raw::contiguous(raw::clone(p)));
  }
  std::vector<UpdateItem> items;
  for (std::size_t k = 0; k < params.size(); ++k) items.push_back({&params[k].layout(), &grads[k].layout(), {}});
  backend_of(device()).run(calls::Update{{kernels::kIndexOf<kernels::UpdateRules, kernels::SgdRule>,
                                          {&constants.lr, kernels::kNumConstants<kernels::SgdRule>}},
                                         items});
  for (std::size_t k = 0; k < params.size(); ++k) {
    std::vector<double> expected = grads[k].to_vector<double>();
    for (double& v : expected) v *= 0.5;
    EXPECT_EQ(params[k].to_vector<double>(), expected) << k;
  }
}

}  // namespace
}  // namespace minnow
