#include <minnow/tensor/raw/copy.h>
#include <minnow/tensor/raw/reduce.h>
#include <minnow/tensor/raw/view.h>

#include "rows.h"

// Every layout in which a device may reduce, against the CPU in float64: rows and columns, short and long, dense and
// not, aligned and not, in one pass and in two.

namespace minnow::test {
namespace {

namespace k = kernels;

class RowsReduce : public DeviceTest {};
INSTANTIATE_TEST_SUITE_P(Devices, RowsReduce, all_devices(), device_test_name);

struct Layout {
  Shape shape;
  Shape dims;
  bool transposed = false;  ///< the last two dimensions are swapped first
};

const std::vector<Layout>& layouts() {
  static const std::vector<Layout> all{{{7, 5}, {1}},
                                       {{3, 100}, {1}},
                                       {{3, 1024}, {1}},
                                       {{3, 3001}, {1}},
                                       {{4, 3008}, {1}},
                                       {{2, 17000}, {1}},
                                       {{17001}, {0}},
                                       {{300, 40}, {0}},
                                       {{5000, 3}, {0}},
                                       {{4, 50, 6}, {1}},
                                       {{600, 9, 5}, {1}},
                                       {{5, 6, 70}, {0, 2}},
                                       {{3, 40, 200}, {2}, true},
                                       {{3, 40, 20}, {1}, true},
                                       {{4, 0}, {1}},
                                       // Kept dimensions in another order than in memory.
                                       {{5, 6, 70}, {0}, true},
                                       {{4, 5, 6, 7}, {0, 2}, true},
                                       // Reduced and kept dimensions in turn.
                                       {{3, 4, 5, 6}, {0, 2, 3}},
                                       {{3, 4, 10, 3}, {0, 2}},
                                       {{2, 3, 8, 2, 9}, {0, 2, 4}},
                                       {{3, 4, 9, 20}, {0, 2}, true}};
  return all;
}

Tensor viewed(const Tensor& t, const Layout& layout) { return layout.transposed ? raw::transpose(t, -1, -2) : t; }

std::string name_of_case(const char* op, const Layout& l, DType dtype) {
  return std::string(op) + " " + std::string(name_of(dtype)) + l.shape.str() + " over " + l.dims.str() +
         (l.transposed ? " transposed" : "");
}

void check_reduce(int op, const char* name, DType dtype, Device device, double (*from)(std::int64_t), double p = 0) {
  for (const Layout& layout : layouts()) {
    const Tensor x = made(layout.shape, dtype, from);
    const Tensor want = raw::reduce(op, raw::contiguous(viewed(exact(x), layout)), layout.dims, false, p);
    const Tensor got = raw::reduce(op, viewed(on(x, device), layout), layout.dims, false, p);
    expect_agrees(got, want, name_of_case(name, layout, dtype), 10);
  }
}

bool selects(int op) { return op == raw::kReduce<k::Max> || op == raw::kReduce<k::Min>; }

double near_one(std::int64_t i) { return 1 + 1e-3 * mixed(i); }
double whole(std::int64_t i) { return std::floor(100 * mixed(i)); }
double bit(std::int64_t i) { return i % 1000 == 7 ? 1 : 0; }
double with_nan(std::int64_t i) { return i % 5000 == 4321 ? std::nan("") : mixed(i); }

void check_extrema(DType dtype, Device device, double (*from)(std::int64_t)) {
  for (const Layout& layout : layouts()) {
    if (layout.shape.numel() == 0) continue;
    const Tensor x = made(layout.shape, dtype, from);
    for (const int op : {raw::kReduce<k::Max>, raw::kReduce<k::Min>})
      expect_agrees(raw::reduce(op, viewed(on(x, device), layout), layout.dims, false),
                    raw::reduce(op, raw::contiguous(viewed(exact(x), layout)), layout.dims, false),
                    name_of_case(op == raw::kReduce<k::Max> ? "max" : "min", layout, dtype));
  }
}

TEST_P(RowsReduce, FloatingOperations) {
  k::for_each(k::ReduceOps{}, [&]<class Op, int I>() {
    if (selects(I)) return;
    const bool product = std::is_same_v<Op, k::Prod>;
    const double p = std::is_same_v<Op, k::NormP> ? 3 : 0.25;
    for (const DType dtype : {DType::float32, DType::float64})
      if (dtype == DType::float32 || I % 3 == 0)
        check_reduce(I, Op::kName.data(), dtype, device(), product ? near_one : mixed, p);
  });
}

TEST_P(RowsReduce, Halves) {
  for (const DType dtype : {DType::float16, DType::bfloat16}) {
    check_reduce(raw::kReduce<k::Sum>, "sum", dtype, device(), mixed);
    check_reduce(raw::kReduce<k::Mean>, "mean", dtype, device(), mixed);
    check_extrema(dtype, device(), mixed);
  }
}

TEST_P(RowsReduce, Integers) {
  for (const DType dtype : {DType::int64, DType::int32, DType::uint8, DType::bool_}) {
    const bool small = dtype == DType::uint8 || dtype == DType::bool_;
    for (const auto& [op, name] : {std::pair{raw::kReduce<k::Sum>, "sum"},
                                   {raw::kReduce<k::Any>, "any"},
                                   {raw::kReduce<k::All>, "all"},
                                   {raw::kReduce<k::Prod>, "prod"}})
      check_reduce(op, name, dtype, device(), small ? bit : whole);
    check_extrema(dtype, device(), small ? bit : whole);
  }
}

TEST_P(RowsReduce, ExtremaOfFloats) {
  for (const DType dtype : {DType::float32, DType::float64}) {
    check_extrema(dtype, device(), mixed);
    check_extrema(dtype, device(), with_nan);
  }
}

TEST_P(RowsReduce, IndicesOfExtrema) {
  const auto coarse = [](std::int64_t i) { return std::floor(3 * mixed(i)); };  // many equal elements
  for (const DType dtype : {DType::float32, DType::float64, DType::bfloat16, DType::int64, DType::int32})
    for (const Layout& layout : layouts()) {
      if (layout.shape.numel() == 0 || layout.dims.rank() > 1) continue;
      for (const bool nan : {false, true}) {
        if (nan && !is_floating_point(dtype)) continue;
        const Tensor x = made(layout.shape, dtype, [&](std::int64_t i) { return nan ? with_nan(i) : coarse(i); });
        for (const bool largest : {false, true}) {
          const auto want = raw::arg_reduce(largest, viewed(x, layout), static_cast<int>(layout.dims[0]), false);
          const auto got =
              raw::arg_reduce(largest, viewed(on(x, device()), layout), static_cast<int>(layout.dims[0]), false);
          const std::string name = name_of_case(largest ? "argmax" : "argmin", layout, dtype);
          expect_close(to_host(got.indices), want.indices, name);
          expect_close(to_host(got.values), want.values, name);
        }
      }
    }
}

TEST_P(RowsReduce, RowsReducedInSeveralPasses) {
  for (const Layout& layout : {Layout{{1200000}, {0}}, Layout{{400000, 3}, {0}}}) {
    const Tensor x = made(layout.shape, DType::float32, mixed);
    for (const auto& [op, name] : {std::pair{raw::kReduce<k::Mean>, "mean"}, {raw::kReduce<k::Max>, "max"}})
      expect_agrees(raw::reduce(op, on(x, device()), layout.dims, false), raw::reduce(op, exact(x), layout.dims, false),
                    name_of_case(name, layout, DType::float32));
    expect_close(to_host(raw::arg_reduce(true, on(x, device()), 0, false).indices),
                 raw::arg_reduce(true, x, 0, false).indices, name_of_case("argmax", layout, DType::float32));
  }
}

TEST_P(RowsReduce, SumsDoNotDependOnTiming) {
  const Tensor x = on(made({100, 3001}, DType::float32, mixed), device());
  for (const Shape& dims : {Shape{0}, Shape{1}, Shape{}}) {
    const auto first = to_host(raw::reduce(raw::kReduce<k::Sum>, x, dims, false)).to_vector<float>();
    for (int again = 0; again < 3; ++again)
      EXPECT_EQ(to_host(raw::reduce(raw::kReduce<k::Sum>, x, dims, false)).to_vector<float>(), first);
  }
}

}  // namespace
}  // namespace minnow::test
