#include <cstring>
#include <minnow/tensor/internal.h>
#include "cpu_support.h"

namespace minnow {
namespace {

using test::backend;
using test::blank;
using test::get;
using test::Lay;
using test::numbers;

void check_copy(const Tensor& from, const Tensor& to) {
  backend().run(calls::Copy{from, to});
  for (std::int64_t i = 0; i < to.numel(); ++i) {
    const double expected = to.dtype() == DType::bool_ ? (get(from, i) != 0 ? 1 : 0) : get(from, i);
    ASSERT_EQ(get(to, i), expected) << from.shape().str() << " element " << i;
  }
}

TEST(CopyCpu, EveryDtypeToEveryOther) {
  for (const DType from : test::kAllDtypes) {
    for (const DType to : test::kAllDtypes) {
      for (const Lay lay : {Lay::kContiguous, Lay::kReversed, Lay::kGaps})
        check_copy(numbers({3, 1, 500}, from, lay, 0, from == DType::bool_ ? 2 : 7), blank({3, 1, 500}, to));
    }
  }
}

TEST(CopyCpu, Transposes) {
  for (const DType dtype : {DType::uint8, DType::float16, DType::float32, DType::float64}) {
    for (const Shape& shape : {Shape{37, 41}, Shape{3, 50, 19}, Shape{1, 64}, Shape{5, 4, 3, 2}, Shape{130, 17},
                               Shape{60, 2}, Shape{4, 30, 2}}) {
      check_copy(numbers(shape, dtype, Lay::kReversed), blank(shape, dtype));
      check_copy(numbers(shape, dtype), blank(shape, dtype, Lay::kReversed));
      check_copy(numbers(shape, dtype, Lay::kGaps), blank(shape, dtype, Lay::kReversed));
      check_copy(numbers(shape, dtype, Lay::kBroadcast), blank(shape, dtype, Lay::kReversed));
    }
  }
}

/// Rows in both directions, short ones and such as are divided between threads.
TEST(CopyCpu, ReversedRowsAndColumns) {
  for (const DType dtype : {DType::uint8, DType::float16, DType::float32, DType::float64})
    for (const Shape& shape : {Shape{3, 5, 7}, Shape{2, 1, 40000}, Shape{300, 3}, Shape{1, 2}, Shape{5, 19}})
      for (const Lay lay : {Lay::kContiguous, Lay::kReversed, Lay::kGaps})
        for (int d = 0; d < shape.rank(); ++d) {
          const Tensor x = numbers(shape, dtype, lay);
          Strides strides = x.strides();
          const std::int64_t last = (shape[d] - 1) * strides[d];
          strides[d] = -strides[d];
          for (const Lay to : {Lay::kContiguous, Lay::kReversed, Lay::kGaps})
            check_copy(Tensor(x.storage(), dtype, shape, strides, x.storage_offset() + last), blank(shape, dtype, to));
        }
}

TEST(CopyCpu, ImagesBetweenTheirFormats) {
  const Shape shape{3, 20, 9, 11};
  const Tensor nhwc = test::with_strides(shape, channels_last_strides(shape), float32);
  check_copy(numbers(shape), nhwc);
  check_copy(nhwc, blank(shape));
}

TEST(CopyCpu, HalvesRoundToNearestEven) {
  const Tensor x = blank({8});
  const float values[] = {
      1.0f + 0x1p-11f, 1.0f + 0x1p-11f + 0x1p-20f, 65519.0f, 65520.0f, 0x1p-25f, 0x1.8p-25f, -0.0f, NAN};
  std::memcpy(x.raw_data(), values, sizeof(values));
  const Tensor h = blank({8}, DType::float16);
  backend().run(calls::Copy{x, h});
  for (int i = 0; i < 7; ++i) {
    EXPECT_EQ(get(h, i), static_cast<double>(static_cast<float>(float16_t(values[i])))) << values[i];
  }
  EXPECT_EQ(get(h, 3), INFINITY);
  EXPECT_TRUE(std::signbit(get(h, 6)));
  EXPECT_TRUE(std::isnan(get(h, 7)));
  const Tensor b = blank({8}, DType::bfloat16);
  backend().run(calls::Copy{x, b});
  for (int i = 0; i < 7; ++i) EXPECT_EQ(get(b, i), static_cast<double>(static_cast<float>(bfloat16_t(values[i]))));
}

TEST(CopyCpu, EveryHalfRoundTrips) {
  for (const DType dtype : {DType::float16, DType::bfloat16}) {
    const Tensor all = blank({65536}, dtype);
    for (int i = 0; i < 65536; ++i) static_cast<std::uint16_t*>(all.raw_data())[i] = static_cast<std::uint16_t>(i);
    const Tensor wide = blank({65536});
    const Tensor back = blank({65536}, dtype);
    for (int isa = 0; isa < cpu::kIsas; ++isa) {
      const cpu::Isa before = cpu::current_isa();
      if (!cpu::use_isa(static_cast<cpu::Isa>(isa))) continue;
      backend().run(calls::Copy{all, wide});
      backend().run(calls::Copy{wide, back});
      cpu::use_isa(before);
      for (int i = 0; i < 65536; ++i) {
        if (std::isnan(get(all, i))) {
          EXPECT_TRUE(std::isnan(get(back, i)));
        } else {
          ASSERT_EQ(std::memcmp(test::address(all, i), test::address(back, i), 2), 0) << i;
          ASSERT_EQ(get(wide, i), get(all, i));
        }
      }
    }
  }
}

/// So many that they are written past the caches.
TEST(CopyCpu, ManyZerosAtAnyAddress) {
  constexpr std::int64_t kCount = (25 << 20) + 77;
  const Tensor bytes = blank({kCount}, DType::uint8);
  auto* at = bytes.data<std::uint8_t>();
  for (const std::int64_t first : {0, 1, 15, 17}) {
    std::memset(at, 7, static_cast<std::size_t>(kCount));
    const std::int64_t end = kCount - 5 - first;
    backend().run(calls::Fill{Tensor(bytes.storage(), DType::uint8, {end - first}, {1}, first), 0});
    for (std::int64_t i = 0; i < kCount; ++i) ASSERT_EQ(at[i], i < first || i >= end ? 7 : 0) << first << " " << i;
  }
}

TEST(CopyCpu, FillAndArange) {
  for (const DType dtype : test::kAllDtypes) {
    for (const Lay lay : {Lay::kContiguous, Lay::kReversed, Lay::kGaps}) {
      for (const Shape& shape : {Shape{}, Shape{0}, Shape{3, 7}, Shape{2, 1500}}) {
        const Tensor t = blank(shape, dtype, lay);
        backend().run(calls::Fill{t, 3});
        for (std::int64_t i = 0; i < t.numel(); ++i) ASSERT_EQ(get(t, i), dtype == DType::bool_ ? 1 : 3);
        backend().run(calls::Fill{t, 2.5});
        for (std::int64_t i = 0; i < t.numel(); ++i)
          ASSERT_EQ(get(t, i), dtype == DType::bool_ ? 1 : is_floating_point(dtype) ? 2.5 : 2);
      }
    }
  }
  for (const DType dtype : test::kAllDtypes) {  // one element to many
    const Tensor t = blank({3, 700}, dtype), one = blank({}, dtype);
    backend().run(calls::Fill{one, 5});
    backend().run(calls::Copy{View(one.storage(), dtype, {3, 700}, {0, 0}), t});
    for (std::int64_t i = 0; i < t.numel(); ++i) ASSERT_EQ(get(t, i), get(one, 0));
  }
  const Tensor a = blank({5000}, DType::int64);
  backend().run(calls::Arange{a, -3, 2});
  for (std::int64_t i = 0; i < 5000; ++i) ASSERT_EQ(get(a, i), static_cast<double>(-3 + 2 * i));
  backend().run(calls::Arange{a, 7, -2, -3});
  for (std::int64_t i = 0; i < 5000; ++i) ASSERT_EQ(get(a, i), static_cast<double>(13 - 2 * i));
  for (const DType dtype : {DType::float64, DType::float32, DType::int32}) {
    const Tensor t = blank({5000}, dtype);
    backend().run(calls::Arange{t, 7, -2, -3});
    for (std::int64_t i = 0; i < 5000; ++i) ASSERT_EQ(get(t, i), static_cast<double>(13 - 2 * i));
  }
  const Tensor f = blank({11});
  backend().run(calls::Arange{f, 0.5, 0.25});
  EXPECT_EQ(get(f, 10), 3.0);
}

}  // namespace
}  // namespace minnow
