#include <gtest/gtest.h>
#include <unordered_set>
#include <vector>
#include <minnow/tensor/create.h>
#include <minnow/tensor/cuda/libraries/conv_layout.h>
#include <minnow/tensor/internal.h>

namespace minnow::cuda {
namespace {

TEST(ConvLayout, FormatFollowsDTypeAndOrder) {
  for (const DType dtype : {DType::float32, DType::float64, DType::float16, DType::bfloat16}) {
    const Tensor rows = empty({2, 3, 4, 5}, {dtype});
    const Tensor last = rows.contiguous(MemoryFormat::channels_last);
    const Tensor one_channel = empty({2, 1, 4, 5}, {dtype});  // both layouts at once
    const bool half = is_half(dtype);
    const auto rows_format = half ? MemoryFormat::channels_last : MemoryFormat::contiguous;
    EXPECT_EQ(conv_format(rows), rows_format) << name_of(dtype);
    EXPECT_EQ(conv_format(one_channel), rows_format) << name_of(dtype);
    EXPECT_EQ(conv_format(last),
              half || dtype == DType::float32 ? MemoryFormat::channels_last : MemoryFormat::contiguous)
        << name_of(dtype);
  }
}

TEST(ConvLayout, PartsStayBelow31Bits) {
  EXPECT_GE(images_at_once({64, 3, 224, 224}, {64, 64, 224, 224}), 64);
  const Shape x{4096, 64, 128, 128}, y{4096, 32, 128, 128};
  const std::int64_t images = images_at_once(x, y);
  EXPECT_LE(images * 64 * 128 * 128, std::int64_t{2147483647});
  EXPECT_GT((images + 1) * 64 * 128 * 128, std::int64_t{2147483647});
  EXPECT_EQ(images_at_once(y, x), images);
  EXPECT_EQ(images_at_once({1, 1, 65536, 65536}, {1, 1, 1, 1}), 0);
}

TEST(ConvLayout, KeysDifferByEveryField) {
  Conv2dParams params;
  params.stride[0] = 2;
  params.padding[1] = 1;
  params.dilation[0] = 3;
  params.groups = 2;
  const auto base = conv_key(ConvDirection::forward, DType::float32, MemoryFormat::contiguous, params, {8, 4, 9, 9},
                             {6, 2, 3, 3}, {8, 6, 2, 9});
  EXPECT_EQ(base.stride[0], 2);
  EXPECT_EQ(base.padding[1], 1);
  EXPECT_EQ(base.dilation[0], 3);
  EXPECT_EQ(base.groups, 2);
  std::vector<ConvKey> keys{base};
  const auto add = [&](auto change) {
    keys.push_back(base);
    change(keys.back());
  };
  add([](ConvKey& k) { k.direction = ConvDirection::backward_weight; });
  add([](ConvKey& k) { k.dtype = DType::float16; });
  add([](ConvKey& k) { k.format = MemoryFormat::channels_last; });
  add([](ConvKey& k) { k.tf32 = true; });
  add([](ConvKey& k) { k.deterministic = true; });
  add([](ConvKey& k) { k.benchmark = true; });
  add([](ConvKey& k) { k.x[0] = 7; });
  add([](ConvKey& k) { k.w[3] = 1; });
  add([](ConvKey& k) { k.y[2] = 1; });
  add([](ConvKey& k) { k.stride[1] = 4; });
  add([](ConvKey& k) { k.padding[0] = 4; });
  add([](ConvKey& k) { k.dilation[1] = 4; });
  add([](ConvKey& k) { k.groups = 1; });
  std::unordered_set<std::size_t> hashes;
  for (std::size_t i = 0; i < keys.size(); ++i) {
    hashes.insert(keys[i].hash());
    for (std::size_t j = 0; j < keys.size(); ++j) EXPECT_EQ(keys[i] == keys[j], i == j) << i << ", " << j;
  }
  EXPECT_EQ(hashes.size(), keys.size());
}

}  // namespace
}  // namespace minnow::cuda
