#include "dlpack_structs.h"  // before minnow's

#include <gtest/gtest.h>

#include <minnow/interop/dlpack.h>
#include <minnow/minnow.h>

namespace minnow {
namespace {

template <class Managed> class Dlpack : public ::testing::Test {};
using Structs = ::testing::Types<DLManagedTensor, DLManagedTensorVersioned>;
TYPED_TEST_SUITE(Dlpack, Structs);

/// Memory of another library, which counts its deletions.
template <class Managed> struct Foreign {
  float values[6] = {0, 1, 2, 3, 4, 5};
  std::int64_t shape[2] = {2, 3}, strides[2] = {1, 2};
  int deleted = 0;
  Managed managed{};

  Foreign() {
    if constexpr (std::is_same_v<Managed, DLManagedTensorVersioned>) managed.version = {1, 3};
    managed.dl_tensor = {values, {1, 0}, 2, {2, 32, 1}, shape, strides, 0};
    managed.manager_ctx = this;
    managed.deleter = [](Managed* m) { ++static_cast<Foreign*>(m->manager_ctx)->deleted; };
  }
};

TYPED_TEST(Dlpack, TakesMemoryAndGivesItBackOnce) {
  Foreign<TypeParam> foreign;
  {
    Tensor t = from_dlpack(&foreign.managed);
    EXPECT_EQ(t.shape(), Shape({2, 3}));
    EXPECT_EQ(t.to_vector<float>(), (std::vector<float>{0, 2, 4, 1, 3, 5}));
    const Tensor view = t(1);
    t = Tensor();
    EXPECT_EQ(foreign.deleted, 0);
    fill_(view, 9);
  }
  EXPECT_EQ(foreign.deleted, 1);
  EXPECT_EQ(foreign.values[1], 9.0F);
}

TYPED_TEST(Dlpack, ReadsOffsetsAndDenseMemory) {
  Foreign<TypeParam> foreign;
  foreign.managed.dl_tensor.strides = nullptr;
  foreign.managed.dl_tensor.byte_offset = 8;
  foreign.shape[1] = 2;
  const Tensor t = from_dlpack(&foreign.managed);
  EXPECT_EQ(t.to_vector<float>(), (std::vector<float>{2, 3, 4, 5}));
}

TYPED_TEST(Dlpack, EveryDTypeComesBack) {
  for (const DType dtype : {float32, float64, float16, bfloat16, int64, int32, int16, int8, uint8, bool_}) {
    const Tensor t = (arange(12, int64) % 2).to(dtype).reshape({3, 4}).transpose(0, 1);
    const Tensor back = from_dlpack(to_dlpack<TypeParam>(t));
    EXPECT_EQ(back.dtype(), dtype);
    EXPECT_EQ(back.strides(), t.strides());
    EXPECT_EQ(back.raw_data(), t.raw_data());
    EXPECT_TRUE(equal(back, t));
  }
  EXPECT_EQ(from_dlpack(to_dlpack<TypeParam>(zeros({0, 3}))).shape(), Shape({0, 3}));
  EXPECT_EQ(from_dlpack(to_dlpack<TypeParam>(tensor(3.0F))).item(), 3);
}

TYPED_TEST(Dlpack, TheExportKeepsTheMemory) {
  const std::int64_t before = live_storages();
  TypeParam* managed = to_dlpack<TypeParam>(full({4}, 2.0));
  EXPECT_EQ(live_storages(), before + 1);
  EXPECT_EQ(static_cast<float*>(managed->dl_tensor.data)[3], 2.0F);
  managed->deleter(managed);
  EXPECT_EQ(live_storages(), before);
}

TYPED_TEST(Dlpack, OnAnErrorTheCallerKeepsTheMemory) {
  const auto refused = []<class E>(E, auto change) {
    Foreign<TypeParam> foreign;
    change(foreign.managed.dl_tensor);
    EXPECT_THROW((void)from_dlpack(&foreign.managed), E);
    EXPECT_EQ(foreign.deleted, 0);
  };
  refused(DTypeError(""), [](DLTensor& t) { t.dtype.code = 5; });
  refused(DTypeError(""), [](DLTensor& t) { t.dtype.lanes = 4; });
  refused(DeviceError(""), [](DLTensor& t) { t.device.device_type = 8; });
  refused(DeviceError(""), [](DLTensor& t) { t.device = {2, 99}; });
  refused(ValueError(""), [](DLTensor& t) { t.strides[0] = -1; });
  refused(ValueError(""), [](DLTensor& t) { t.byte_offset = 1; });
  refused(ShapeError(""), [](DLTensor& t) { t.ndim = 9; });
  refused(ShapeError(""), [](DLTensor& t) { t.shape[0] = -1; });
  refused(ValueError(""), [](DLTensor& t) { t.data = nullptr; });
  EXPECT_THROW((void)from_dlpack(static_cast<TypeParam*>(nullptr)), ValueError);
}

TEST(DlpackVersioned, CopiesWhatIsReadOnlyAndRefusesOtherVersions) {
  Foreign<DLManagedTensorVersioned> foreign;
  foreign.managed.flags = 1;
  Tensor t = from_dlpack(&foreign.managed);
  EXPECT_EQ(foreign.deleted, 1);
  t.fill_(7);
  EXPECT_EQ(foreign.values[0], 0.0F);
  Foreign<DLManagedTensorVersioned> other;
  other.managed.version.major = 2;
  EXPECT_THROW((void)from_dlpack(&other.managed), ValueError);
  EXPECT_EQ(other.deleted, 0);
}

TEST(DlpackVersioned, RefusesGradientsAndTheSimulatedDevice) {
  EXPECT_THROW((void)to_dlpack<DLManagedTensor>(ones({2}).requires_grad_()), AutogradError);
  EXPECT_THROW((void)to_dlpack<DLManagedTensor>(ones({2}, "sim:0")), DeviceError);
}

}  // namespace
}  // namespace minnow
