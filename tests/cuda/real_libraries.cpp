/// NVIDIA's own cuBLASLt, cuDNN, cuFFT and NCCL, where they are: every symbol that minnow binds, their versions, and
/// every descriptor that minnow makes and that needs no device.
#include <cublasLt.h>
#include <cudnn.h>
#include <cufft.h>
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <iostream>
#include <string>
#include <type_traits>
#include <minnow/tensor/cuda/libraries/conv_plan.h>
#include <minnow/tensor/cuda/libraries/cublaslt.h>
#include <minnow/tensor/cuda/libraries/cudnn.h>
#include <minnow/tensor/cuda/libraries/cufft.h>
#include <minnow/tensor/error.h>
#if __has_include(<nccl.h>)
#include <nccl.h>
#endif

namespace minnow::cuda {
namespace {

constexpr DType kFloats[] = {DType::float32, DType::float64, DType::float16, DType::bfloat16};

/// The library's version by its function, or 0.
std::size_t version_by(const char* file, const char* function) {
  void* const library = dlopen(file, RTLD_NOW | RTLD_NOLOAD);
  if (library == nullptr) return 0;
  const auto version = reinterpret_cast<std::size_t (*)()>(dlsym(library, function));
  return version == nullptr ? 0 : version();
}

template <class F> bool loads(const F& functions) {
  try {
    functions();
    return true;
  } catch (const BackendError& missing) {
    std::cout << missing.what() << "\n";
    return false;
  }
}

Product product_of(bool transpose_a, bool transpose_b, std::int64_t batch) {
  const Matrices a = transpose_a ? Matrices{batch, 64, 32, 64 * 32, 1, 64} : Matrices{batch, 64, 32, 64 * 32, 32, 1},
                 b = transpose_b ? Matrices{batch, 32, 48, 32 * 48, 1, 32} : Matrices{batch, 32, 48, 32 * 48, 48, 1};
  return column_major(a, b, Matrices{batch, 64, 48, 64 * 48, 48, 1});
}

TEST(RealLibraries, CublasLtTakesEveryDescriptor) {
  if (!loads(cublaslt::functions)) GTEST_SKIP() << "cuBLASLt is not here";
  const std::size_t version = version_by("libcublasLt.so.13", "cublasLtGetVersion");
  std::cout << "cuBLASLt " << version << ", headers " << CUBLAS_VERSION << "\n";
  if (version != 0) { EXPECT_EQ(version / 10000, static_cast<std::size_t>(CUBLAS_VERSION / 10000)); }
  int made = 0;
  for (const DType dtype : kFloats)
    for (const bool transpose_a : {false, true})
      for (const bool transpose_b : {false, true})
        for (const std::int64_t batch : {1, 5})
          for (const Activation activation : {Activation::none, Activation::gelu_tanh})
            for (const int extra : {0, 1, 2, 3}) {
              MatmulKey key;
              key.product = product_of(transpose_a, transpose_b, batch);
              key.dtype = dtype;
              key.tf32 = extra == 0;
              key.bias = extra == 1;
              key.sums = extra == 2 ? SumsOf::b : extra == 3 ? SumsOf::a : SumsOf::none;
              key.activation = activation;
              EXPECT_NO_THROW({
                cublaslt::make_desc(key);
                cublaslt::make_layout(key.product.a, batch, dtype);
                cublaslt::make_layout(key.product.b, batch, dtype);
                cublaslt::make_layout(key.product.d, batch, dtype);
                cublaslt::make_preference(key);
              }) << name_of(dtype);
              ++made;
            }
  std::cout << made << " products\n";
}

TEST(RealLibraries, CudnnTakesEveryDescriptor) {
  if (!loads(cudnn::functions)) GTEST_SKIP() << "cuDNN is not here";
  const std::size_t version = version_by("libcudnn.so.9", "cudnnGetVersion");
  std::cout << "cuDNN " << version << ", headers " << CUDNN_VERSION << "\n";
  if (version != 0) { EXPECT_EQ(version / 10000, static_cast<std::size_t>(CUDNN_VERSION / 10000)); }
  int made = 0;
  for (const DType dtype : kFloats)
    for (const MemoryFormat format : {MemoryFormat::contiguous, MemoryFormat::channels_last})
      for (const ConvDirection direction :
           {ConvDirection::forward, ConvDirection::backward_input, ConvDirection::backward_weight})
        for (const std::int64_t groups : {1, 4})
          for (const std::int64_t stride : {1, 2}) {
            if (dtype == DType::float64 && format == MemoryFormat::channels_last) continue;  // as conv_format() says
            const Conv2dParams params{{stride, 1}, {1, 0}, {1, 2}, groups};
            const ConvKey key = conv_key(direction, dtype, format, params, {2, 8, 12, 11}, {12, 8 / groups, 3, 3},
                                         {2, 12, (12 + 2 - 3) / stride + 1, 7});
            EXPECT_NO_THROW(cudnn::ConvPlan{key}) << name_of(dtype);
            ++made;
          }
  std::cout << made << " convolutions\n";
}

// What cufft.h of minnow declares of it.
static_assert(sizeof(cufftHandle) == sizeof(cufft::Plan) && sizeof(cufftResult) == sizeof(int) && CUFFT_SUCCESS == 0);
static_assert(CUFFT_Z2Z == cufft::kComplexDouble && CUFFT_FORWARD == cufft::kForward);
static_assert(std::is_same_v<decltype(&cufftMakePlanMany64),
                             cufftResult (*)(cufftHandle, int, long long*, long long*, long long, long long, long long*,
                                             long long, long long, cufftType, long long, std::size_t*)>);
static_assert(std::is_same_v<decltype(&cufftExecZ2Z),
                             cufftResult (*)(cufftHandle, cufftDoubleComplex*, cufftDoubleComplex*, int)>);

TEST(RealLibraries, CufftHasEveryFunction) {
  if (!loads(cufft::functions)) GTEST_SKIP() << "cuFFT is not here";
  int version = 0;
  const auto get =
      reinterpret_cast<int (*)(int*)>(dlsym(dlopen("libcufft.so.12", RTLD_NOW | RTLD_NOLOAD), "cufftGetVersion"));
  if (get != nullptr) { EXPECT_EQ(get(&version), 0); }
  std::cout << "cuFFT " << version << ", headers " << CUFFT_VERSION << "\n";
}

#if __has_include(<nccl.h>)
// What distributed/detail/nccl.cpp declares of it.
static_assert(ncclSuccess == 0 && ncclInProgress == 7 && ncclSum == 0 && ncclMax == 2 && ncclMin == 3 && ncclAvg == 4);
static_assert(ncclInt8 == 0 && ncclUint8 == 1 && ncclInt32 == 2 && ncclInt64 == 4 && ncclFloat16 == 6 &&
              ncclFloat32 == 7 && ncclFloat64 == 8 && ncclBfloat16 == 9);
static_assert(sizeof(ncclUniqueId) == 128 && NCCL_UNIQUE_ID_BYTES == 128);
#endif

TEST(RealLibraries, NcclHasEveryFunction) {
  void* library = nullptr;
  for (const char* file :
       {"libnccl.so.2", "/usr/lib/x86_64-linux-gnu/libnccl.so.2", "/usr/local/cuda/lib64/libnccl.so.2"})
    if (library == nullptr) library = dlopen(file, RTLD_NOW);
  if (library == nullptr) GTEST_SKIP() << "NCCL is not here";
  for (const char* name : {"ncclGetVersion", "ncclGetUniqueId", "ncclCommInitRank", "ncclCommDestroy", "ncclCommAbort",
                           "ncclCommGetAsyncError", "ncclGetErrorString", "ncclGetLastError", "ncclAllReduce",
                           "ncclBroadcast", "ncclAllGather", "ncclReduceScatter", "ncclSend", "ncclRecv"})
    EXPECT_NE(dlsym(library, name), nullptr) << name;
  int version = 0;
  const auto get = reinterpret_cast<int (*)(int*)>(dlsym(library, "ncclGetVersion"));
  ASSERT_NE(get, nullptr);
  EXPECT_EQ(get(&version), 0);
  std::cout << "NCCL " << version << "\n";
  EXPECT_GE(version, 21000);
}

}  // namespace
}  // namespace minnow::cuda
