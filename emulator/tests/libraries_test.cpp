#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cublasLt.h>
#include <cudnn.h>
#include <emulator/launch.h>
#include <gtest/gtest.h>
#include <vector>

#include "child.h"
#include "memory.h"

// The emulated cuBLASLt and cuDNN, called as their manuals say.
namespace {

using emulator::test::Buffer;
using emulator::test::counting;
using emulator::test::expect_with;

/// op(A) op(B) of small column-major matrices of floats, with an epilogue.
struct Multiplication {
  int m = 2, n = 3, k = 2, leading_a = 2, leading_b = 2, leading_d = 2, batch = 1;
  bool transpose_a = false, transpose_b = false;
  cublasLtEpilogue_t epilogue = CUBLASLT_EPILOGUE_DEFAULT;
  const void* bias = nullptr;
  float alpha = 1, beta = 0;
  bool doubles = false;
  cudaStream_t stream = nullptr;

  cublasStatus_t run(const void* a, const void* b, void* d) {
    cublasLtHandle_t handle{};
    cublasLtCreate(&handle);
    cublasLtMatmulDesc_t desc{};
    const cudaDataType_t type = doubles ? CUDA_R_64F : CUDA_R_32F;
    cublasLtMatmulDescCreate(&desc, doubles ? CUBLAS_COMPUTE_64F : CUBLAS_COMPUTE_32F, type);
    const std::int32_t ops[2] = {transpose_a ? CUBLAS_OP_T : CUBLAS_OP_N, transpose_b ? CUBLAS_OP_T : CUBLAS_OP_N};
    cublasLtMatmulDescSetAttribute(desc, CUBLASLT_MATMUL_DESC_TRANSA, &ops[0], sizeof ops[0]);
    cublasLtMatmulDescSetAttribute(desc, CUBLASLT_MATMUL_DESC_TRANSB, &ops[1], sizeof ops[1]);
    cublasLtMatmulDescSetAttribute(desc, CUBLASLT_MATMUL_DESC_EPILOGUE, &epilogue, sizeof epilogue);
    cublasLtMatmulDescSetAttribute(desc, CUBLASLT_MATMUL_DESC_BIAS_POINTER, &bias, sizeof bias);
    const auto layout = [&](int rows, int cols, int leading) {
      cublasLtMatrixLayout_t made{};
      cublasLtMatrixLayoutCreate(&made, type, static_cast<std::uint64_t>(rows), static_cast<std::uint64_t>(cols),
                                 leading);
      const std::int32_t count = batch;
      const std::int64_t stride = leading * cols;
      cublasLtMatrixLayoutSetAttribute(made, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, &count, sizeof count);
      cublasLtMatrixLayoutSetAttribute(made, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, &stride, sizeof stride);
      return made;
    };
    const cublasLtMatrixLayout_t la = transpose_a ? layout(k, m, leading_a) : layout(m, k, leading_a),
                                 lb = transpose_b ? layout(n, k, leading_b) : layout(k, n, leading_b),
                                 ld = layout(m, n, leading_d);
    const double wide[2] = {static_cast<double>(alpha), static_cast<double>(beta)};
    const cublasStatus_t status =
        cublasLtMatmul(handle, desc, doubles ? static_cast<const void*>(&wide[0]) : &alpha, a, la, b, lb,
                       doubles ? static_cast<const void*>(&wide[1]) : &beta, d, ld, d, ld, nullptr, nullptr, 0, stream);
    for (const cublasLtMatrixLayout_t made : {la, lb, ld}) cublasLtMatrixLayoutDestroy(made);
    cublasLtMatmulDescDestroy(desc);
    cublasLtDestroy(handle);
    return status;
  }
};

class Libraries : public ::testing::Test {
 protected:
  void TearDown() override {
    emulator::recover();
    cudaGetLastError();
  }
};

TEST_F(Libraries, MatricesAreReadByColumns) {
  // A = (1 3; 2 4), B = (1 3 5; 2 4 6)
  const Buffer<float> a({1, 2, 3, 4}), b({1, 2, 3, 4, 5, 6}), d(6);
  EXPECT_EQ((Multiplication{}.run(a.data(), b.data(), d.data())), CUBLAS_STATUS_SUCCESS);
  EXPECT_EQ(d.read(), (std::vector<float>{7, 10, 15, 22, 23, 34}));
  EXPECT_EQ((Multiplication{.transpose_a = true}.run(a.data(), b.data(), d.data())), CUBLAS_STATUS_SUCCESS);
  EXPECT_EQ(d.read(), (std::vector<float>{5, 11, 11, 25, 17, 39}));
  // Bᵀ is stored: its columns are (1 3 5) and (2 4 6).
  const Buffer<float> flipped({1, 3, 5, 2, 4, 6});
  EXPECT_EQ((Multiplication{.leading_b = 3, .transpose_b = true}.run(a.data(), flipped.data(), d.data())),
            CUBLAS_STATUS_SUCCESS);
  EXPECT_EQ(d.read(), (std::vector<float>{7, 10, 15, 22, 23, 34}));
}

TEST_F(Libraries, LeadingDimensionsBatchesAndScales) {
  const Buffer<float> a({1, 2, -9, 3, 4, -9}), b({1, 2, 3, 4, 5, 6}), d({1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1});
  EXPECT_EQ((Multiplication{.leading_a = 3, .leading_d = 4, .alpha = 2, .beta = 10}.run(a.data(), b.data(), d.data())),
            CUBLAS_STATUS_SUCCESS);
  EXPECT_EQ(d.read(), (std::vector<float>{24, 30, 1, 1, 40, 54, 1, 1, 56, 78, 1, 1}));
  const Buffer<float> twice({1, 0, 0, 1, 2, 0, 0, 2}), right(counting<float>(8)), out(8);
  EXPECT_EQ((Multiplication{.n = 2, .batch = 2}.run(twice.data(), right.data(), out.data())), CUBLAS_STATUS_SUCCESS);
  EXPECT_EQ(out.read(), (std::vector<float>{0, 1, 2, 3, 8, 10, 12, 14}));
}

TEST_F(Libraries, TheBiasRunsAlongRows) {
  const Buffer<float> a({1, 2, 3, 4}), b({1, 2, 3, 4, 5, 6}), d(6), bias({-8, 100});
  EXPECT_EQ(
      (Multiplication{.epilogue = CUBLASLT_EPILOGUE_RELU_BIAS, .bias = bias.data()}.run(a.data(), b.data(), d.data())),
      CUBLAS_STATUS_SUCCESS);
  EXPECT_EQ(d.read(), (std::vector<float>{0, 110, 7, 122, 15, 134}));
}

TEST_F(Libraries, SumsOfAnOperandNeedItInOneOrientation) {
  const Buffer<float> a({1, 2, 3, 4}), b({1, 2, 3, 4, 5, 6}), d(6), sums(3);
  Multiplication product{.epilogue = CUBLASLT_EPILOGUE_BGRADB, .bias = sums.data()};
  EXPECT_EQ(product.run(a.data(), b.data(), d.data()), CUBLAS_STATUS_NOT_SUPPORTED);
  product.transpose_b = true;
  product.leading_b = 3;
  EXPECT_EQ(product.run(a.data(), b.data(), d.data()), CUBLAS_STATUS_SUCCESS);
  EXPECT_EQ(sums.read(), (std::vector<float>{5, 7, 9}));
  product.epilogue = CUBLASLT_EPILOGUE_BGRADA;
  EXPECT_EQ(product.run(a.data(), b.data(), d.data()), CUBLAS_STATUS_SUCCESS);
  EXPECT_EQ(sums.read(), (std::vector<float>{4, 6, 9}));
  product.transpose_a = true;
  EXPECT_EQ(product.run(a.data(), b.data(), d.data()), CUBLAS_STATUS_NOT_SUPPORTED);
}

TEST_F(Libraries, ABiasMustBeAligned) {
  const Buffer<float> a(4), b(6), d(6), bias(3);
  EXPECT_EQ(
      (Multiplication{.epilogue = CUBLASLT_EPILOGUE_BIAS, .bias = bias.data() + 1}.run(a.data(), b.data(), d.data())),
      CUBLAS_STATUS_SUCCESS);
  EXPECT_EQ(cudaDeviceSynchronize(), cudaErrorLaunchFailure);
  EXPECT_NE(emulator::last_fault().find("misaligned"), std::string::npos) << emulator::last_fault();
  emulator::recover();
}

cublasStatus_t biased_doubles() {
  const Buffer<double> a({1, 2, 3, 4}), b({1, 2, 3, 4, 5, 6}), d(6), bias({-8, 100});
  const cublasStatus_t status =
      Multiplication{.epilogue = CUBLASLT_EPILOGUE_BIAS, .bias = bias.data(), .doubles = true}.run(a.data(), b.data(),
                                                                                                   d.data());
  if (status == CUBLAS_STATUS_SUCCESS) { EXPECT_EQ(d.read(), (std::vector<double>{-1, 110, 7, 122, 15, 134})); }
  return status;
}

TEST_F(Libraries, DoublesHaveEpiloguesUnlessToldOtherwise) {
  expect_with("MINNOW_EMULATOR_NO_DOUBLE_EPILOGUES", "1",
              [] { return biased_doubles() == CUBLAS_STATUS_NOT_SUPPORTED; });
  EXPECT_EQ(biased_doubles(), CUBLAS_STATUS_SUCCESS);
}

/// The product of a row and a column with the sum 1, or 0 if its parts are added from the last one.
float sum_of_three() {
  const Buffer<float> a({1e8f, -1e8f, 1}), b({1, 1, 1}), d(1);
  Multiplication{.m = 1, .n = 1, .k = 3, .leading_a = 1, .leading_b = 3, .leading_d = 1}.run(a.data(), b.data(),
                                                                                             d.data());
  return d.read()[0];
}

TEST_F(Libraries, SumsAreSinglePrecisionInTwoOrders) {
  expect_with("MINNOW_EMULATOR_BACKWARDS", "1", [] { return sum_of_three() == 0; });
  EXPECT_EQ(sum_of_three(), 1);
}

/// The products of two matrices of floats [size, size] that the heuristic names, in its order: the workspace, or -1 if
/// its state says that it cannot be used, or -2 if it is refused when it runs.
std::vector<int> named_products(int size) {
  const auto n = static_cast<std::uint64_t>(size);
  const Buffer<float> data(n * n), space(4096);
  cublasLtHandle_t handle{};
  cublasLtCreate(&handle);
  cublasLtMatmulDesc_t desc{};
  cublasLtMatmulDescCreate(&desc, CUBLAS_COMPUTE_32F, CUDA_R_32F);
  cublasLtMatrixLayout_t layout{};
  cublasLtMatrixLayoutCreate(&layout, CUDA_R_32F, n, n, size);
  cublasLtMatmulPreference_t preference{};
  cublasLtMatmulPreferenceCreate(&preference);
  const std::uint64_t most = 16384;
  cublasLtMatmulPreferenceSetAttribute(preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &most, sizeof most);
  cublasLtMatmulHeuristicResult_t results[8];
  int found = 0;
  EXPECT_EQ(
      cublasLtMatmulAlgoGetHeuristic(handle, desc, layout, layout, layout, layout, preference, 8, results, &found),
      CUBLAS_STATUS_SUCCESS);
  std::vector<int> named;
  for (int i = 0; i < found; ++i) {
    const auto& result = results[i];
    const float one = 1, zero = 0;
    named.push_back(result.state == CUBLAS_STATUS_SUCCESS ? static_cast<int>(result.workspaceSize) : -1);
    if (result.state == CUBLAS_STATUS_SUCCESS &&
        cublasLtMatmul(handle, desc, &one, data.data(), layout, data.data(), layout, &zero, data.data(), layout,
                       data.data(), layout, &result.algo, space.data(), 16384, nullptr) != CUBLAS_STATUS_SUCCESS)
      named.back() = -2;
  }
  cublasLtMatmulPreferenceDestroy(preference);
  cublasLtMatrixLayoutDestroy(layout);
  cublasLtMatmulDescDestroy(desc);
  cublasLtDestroy(handle);
  return named;
}

TEST_F(Libraries, AHeuristicNamesWhatCannotBeUsed) {
  expect_with("MINNOW_EMULATOR_CHOICES", "1", [] {
    int refused = 0, turned = 0;
    for (int size = 1; size <= 40; ++size) {
      const std::vector<int> named = named_products(size);
      if (named != named_products(size)) return false;
      refused += static_cast<int>(std::count(named.begin(), named.end(), -2));
      turned += named[1] == 0 || named[2] == 8192;
    }
    return refused > 10 && refused < 50 && turned > 5 && turned < 35;
  });
  EXPECT_EQ(named_products(8), (std::vector<int>{-1, 8192, 0}));
}

// What programs must not rely on.
TEST_F(Libraries, ReluMayDropNanAndGeluIsApproximate) {
  const Buffer<float> a({1, 2, 3, 4}), b({NAN, 1, -1, -1, 0.25f, 0}), d(6);
  EXPECT_EQ((Multiplication{.epilogue = CUBLASLT_EPILOGUE_RELU}.run(a.data(), b.data(), d.data())),
            CUBLAS_STATUS_SUCCESS);
  EXPECT_EQ(d.read(), (std::vector<float>{0, 0, 0, 0, 0.25f, 0.5f}));
  EXPECT_EQ((Multiplication{.epilogue = CUBLASLT_EPILOGUE_GELU}.run(a.data(), b.data(), d.data())),
            CUBLAS_STATUS_SUCCESS);
  const double exact = 0.25 * (1 + std::tanh(0.7978845608028654 * (0.5 + 0.044715 * 0.125)));
  EXPECT_NEAR(d.read()[5], exact, 2e-5);
  EXPECT_GT(std::abs(d.read()[5] - exact), 1e-6);
}

TEST_F(Libraries, AProductIsRefusedOnOrder) {
  const Buffer<float> a({1, 2, 3, 4}), b({1, 2, 3, 4, 5, 6}), d(6);
  emulator::fail_next_algorithm("cublasLtMatmul", 1, CUBLAS_STATUS_NOT_SUPPORTED);  // the one without workspace
  EXPECT_EQ((Multiplication{}.run(a.data(), b.data(), d.data())), CUBLAS_STATUS_NOT_SUPPORTED);
  EXPECT_EQ((Multiplication{}.run(a.data(), b.data(), d.data())), CUBLAS_STATUS_SUCCESS);
}

TEST_F(Libraries, WhatIsWrongIsRefused) {
  const Buffer<float> a(4), b(6), d(6);
  std::vector<float> host(6);
  EXPECT_EQ((Multiplication{.leading_a = 1}.run(a.data(), b.data(), d.data())), CUBLAS_STATUS_INVALID_VALUE);
  EXPECT_EQ((Multiplication{.n = 200}.run(a.data(), b.data(), d.data())), CUBLAS_STATUS_INVALID_VALUE);
  EXPECT_EQ((Multiplication{}.run(host.data(), b.data(), d.data())), CUBLAS_STATUS_INVALID_VALUE);
  EXPECT_EQ((Multiplication{.epilogue = static_cast<cublasLtEpilogue_t>(3)}.run(a.data(), b.data(), d.data())),
            CUBLAS_STATUS_NOT_SUPPORTED);
  EXPECT_EQ((Multiplication{.epilogue = CUBLASLT_EPILOGUE_BIAS}.run(a.data(), b.data(), d.data())),
            CUBLAS_STATUS_INVALID_VALUE);
}

TEST_F(Libraries, TheFirstUseOfAKernelIsRefusedInACapture) {
  const Buffer<float> a(4), b(6), d(6);
  cudaStream_t stream{};
  ASSERT_EQ(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), cudaSuccess);
  const auto in_capture = [&](Multiplication product, cudaStreamCaptureMode mode) {
    EXPECT_EQ(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal), cudaSuccess);
    cudaThreadExchangeStreamCaptureMode(&mode);
    product.stream = stream;
    const cublasStatus_t status = product.run(a.data(), b.data(), d.data());
    cudaThreadExchangeStreamCaptureMode(&mode);
    cudaGraph_t graph{};
    EXPECT_EQ(cudaStreamEndCapture(stream, &graph) == cudaSuccess, status == CUBLAS_STATUS_SUCCESS);
    if (graph) cudaGraphDestroy(graph);
    return status;
  };
  const Multiplication cold{.n = 1}, other{.m = 1, .n = 1};
  EXPECT_EQ(in_capture(cold, cudaStreamCaptureModeThreadLocal), CUBLAS_STATUS_EXECUTION_FAILED);
  EXPECT_EQ(in_capture(cold, cudaStreamCaptureModeRelaxed), CUBLAS_STATUS_SUCCESS);
  EXPECT_EQ(in_capture(cold, cudaStreamCaptureModeThreadLocal), CUBLAS_STATUS_SUCCESS) << "it is loaded now";
  EXPECT_EQ(in_capture(other, cudaStreamCaptureModeThreadLocal), CUBLAS_STATUS_EXECUTION_FAILED);
  EXPECT_EQ(cudaStreamDestroy(stream), cudaSuccess);
}

/// A convolution of floats by cuDNN: x [2, 4, 6, 5], w [6, 4 / groups, 3, 2].
struct Convolution {
  int groups = 2, pad[2] = {1, 2}, step[2] = {2, 1}, dilation[2] = {1, 2};
  cudnnTensorFormat_t format = CUDNN_TENSOR_NCHW;
  int height = (6 + 2 * 1 - 3) / 2 + 1, width = 5 + 2 * 2 - 3 + 1;

  Convolution() {
    cudnnCreate(&handle);
    for (cudnnTensorDescriptor_t* descriptor : {&x, &y, &bias}) cudnnCreateTensorDescriptor(descriptor);
    cudnnCreateFilterDescriptor(&w);
    cudnnCreateConvolutionDescriptor(&conv);
  }
  ~Convolution() {
    for (cudnnTensorDescriptor_t descriptor : {x, y, bias}) cudnnDestroyTensorDescriptor(descriptor);
    cudnnDestroyFilterDescriptor(w);
    cudnnDestroyConvolutionDescriptor(conv);
    cudnnDestroy(handle);
  }
  Convolution(const Convolution&) = delete;
  Convolution& operator=(const Convolution&) = delete;

  void describe() {
    cudnnSetTensor4dDescriptor(x, format, CUDNN_DATA_FLOAT, 2, 4, 6, 5);
    cudnnSetTensor4dDescriptor(y, format, CUDNN_DATA_FLOAT, 2, 6, height, width);
    cudnnSetTensor4dDescriptor(bias, CUDNN_TENSOR_NCHW, CUDNN_DATA_FLOAT, 1, 6, 1, 1);
    cudnnSetFilter4dDescriptor(w, CUDNN_DATA_FLOAT, format, 6, 4 / groups, 3, 2);
    cudnnSetConvolution2dDescriptor(conv, pad[0], pad[1], step[0], step[1], dilation[0], dilation[1],
                                    CUDNN_CROSS_CORRELATION, CUDNN_DATA_FLOAT);
    cudnnSetConvolutionGroupCount(conv, groups);
    cudnnSetConvolutionMathType(conv, CUDNN_FMA_MATH);
  }
  /// The index of an element, for dimensions a, b, c, d of which b is last in NHWC.
  int at(int a, int b, int c, int d, int size_b, int size_c, int size_d) const {
    return format == CUDNN_TENSOR_NHWC ? ((a * size_c + c) * size_d + d) * size_b + b
                                       : ((a * size_b + b) * size_c + c) * size_d + d;
  }
  /// The definition of a convolution.
  std::vector<float> expected(const std::vector<float>& image, const std::vector<float>& filter) const {
    std::vector<float> out(static_cast<std::size_t>(2 * 6 * height * width));
    const int channels = 4 / groups;
    for (int n = 0; n < 2; ++n)
      for (int k = 0; k < 6; ++k)
        for (int i = 0; i < height; ++i)
          for (int j = 0; j < width; ++j)
            for (int c = 0; c < channels; ++c)
              for (int r = 0; r < 3; ++r)
                for (int s = 0; s < 2; ++s) {
                  const int row = i * step[0] - pad[0] + r * dilation[0], col = j * step[1] - pad[1] + s * dilation[1];
                  if (row < 0 || row >= 6 || col < 0 || col >= 5) continue;
                  const int from = at(n, k / (6 / groups) * channels + c, row, col, 4, 6, 5);
                  out[static_cast<std::size_t>(at(n, k, i, j, 6, height, width))] +=
                      image[static_cast<std::size_t>(from)] *
                      filter[static_cast<std::size_t>(at(k, c, r, s, channels, 3, 2))];
                }
    return out;
  }

  cudnnHandle_t handle{};
  cudnnTensorDescriptor_t x{}, y{}, bias{};
  cudnnFilterDescriptor_t w{};
  cudnnConvolutionDescriptor_t conv{};
};

/// Small integers, so that sums are exact.
std::vector<float> numbers(int count, int seed) {
  std::vector<float> out;
  for (int i = 0; i < count; ++i) out.push_back(static_cast<float>((i * 7 + seed * 5) % 11 - 5));
  return out;
}

double dot(const std::vector<float>& a, const std::vector<float>& b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += static_cast<double>(a[i]) * static_cast<double>(b[i]);
  return sum;
}

TEST_F(Libraries, ConvolutionsFollowTheirDefinition) {
  for (const cudnnTensorFormat_t format : {CUDNN_TENSOR_NCHW, CUDNN_TENSOR_NHWC})
    for (const int groups : {1, 2}) {
      Convolution c;
      c.groups = groups;
      c.format = format;
      c.describe();
      const int outputs = 2 * 6 * c.height * c.width, weights = 6 * 4 / groups * 6;
      const std::vector<float> image = numbers(240, 1), filter = numbers(weights, 2), grad = numbers(outputs, 3);
      const Buffer<float> x(image), w(filter), y(static_cast<std::size_t>(outputs)), g(grad), dx(240),
          dw(static_cast<std::size_t>(weights));
      const float one = 1, zero = 0;
      ASSERT_EQ(cudnnConvolutionForward(c.handle, &one, c.x, x.data(), c.w, w.data(), c.conv,
                                        CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_GEMM, nullptr, 0, &zero, c.y, y.data()),
                CUDNN_STATUS_SUCCESS);
      EXPECT_EQ(y.read(), c.expected(image, filter));
      // The gradients are the other two adjoints of one trilinear form.
      const Buffer<char> space(16384);
      ASSERT_EQ(
          cudnnConvolutionBackwardData(c.handle, &one, c.w, w.data(), c.y, g.data(), c.conv,
                                       CUDNN_CONVOLUTION_BWD_DATA_ALGO_1, space.data(), 16384, &zero, c.x, dx.data()),
          CUDNN_STATUS_SUCCESS);
      ASSERT_EQ(cudnnConvolutionBackwardFilter(c.handle, &one, c.x, x.data(), c.y, g.data(), c.conv,
                                               CUDNN_CONVOLUTION_BWD_FILTER_ALGO_1, space.data(), 16384, &zero, c.w,
                                               dw.data()),
                CUDNN_STATUS_SUCCESS);
      const double form = dot(y.read(), grad);
      EXPECT_EQ(dot(dx.read(), image), form);
      EXPECT_EQ(dot(dw.read(), filter), form);
    }
}

TEST_F(Libraries, ConvolutionsAddToWhatIsThere) {
  Convolution c;
  c.describe();
  const auto outputs = static_cast<std::size_t>(2 * 6 * c.height * c.width);
  const Buffer<float> g(std::vector<float>(outputs, 1.0f)), bias({1, 2, 3, 4, 5, 6});
  const float two = 2, ten = 10;
  ASSERT_EQ(cudnnConvolutionBackwardBias(c.handle, &two, c.y, g.data(), &ten, c.bias, bias.data()),
            CUDNN_STATUS_SUCCESS);
  const auto sum = static_cast<float>(2 * 2 * c.height * c.width);
  EXPECT_EQ(bias.read(), (std::vector<float>{sum + 10, sum + 20, sum + 30, sum + 40, sum + 50, sum + 60}));
}

TEST_F(Libraries, ConvolutionsThatDoNotFitAreRefused) {
  Convolution c;
  c.width += 1;
  c.describe();
  std::size_t bytes = 0;
  EXPECT_EQ(CUDNN_STATUS_CATEGORY(cudnnGetConvolutionForwardWorkspaceSize(
                c.handle, c.x, c.w, c.conv, c.y, CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_GEMM, &bytes)),
            CUDNN_STATUS_BAD_PARAM);
  c.width -= 1;
  c.describe();
  const float one = 1, zero = 0;
  const Buffer<float> x(240), w(72), y(static_cast<std::size_t>(2 * 6 * c.height * c.width));
  EXPECT_EQ(cudnnConvolutionForward(c.handle, &one, c.x, x.data(), c.w, w.data(), c.conv,
                                    CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_PRECOMP_GEMM, nullptr, 0, &zero, c.y, y.data()),
            CUDNN_STATUS_BAD_PARAM_SIZE_INSUFFICIENT);
  EXPECT_EQ(cudnnSetConvolution2dDescriptor(c.conv, 0, 0, 1, 1, 0, 1, CUDNN_CROSS_CORRELATION, CUDNN_DATA_FLOAT),
            CUDNN_STATUS_BAD_PARAM)
      << "no dilation is 1";
}

// What programs must not rely on.
TEST_F(Libraries, AListOfConvolutionsHasEntriesOfAllKinds) {
  Convolution c;
  c.describe();
  cudnnSetFilter4dDescriptor(c.w, CUDNN_DATA_FLOAT, c.format, 6, 4, 3, 3);
  cudnnSetConvolution2dDescriptor(c.conv, 0, 0, 1, 1, 1, 1, CUDNN_CROSS_CORRELATION, CUDNN_DATA_FLOAT);
  cudnnSetConvolutionGroupCount(c.conv, 1);
  cudnnSetTensor4dDescriptor(c.y, c.format, CUDNN_DATA_FLOAT, 2, 6, 4, 3);
  const std::vector<float> image = numbers(240, 1), filter = numbers(216, 2);
  const Buffer<float> x(image), w(filter), y(144), exact(144);
  const Buffer<char> space(65536);
  const float one = 1, zero = 0;
  const auto run = [&](cudnnConvolutionFwdAlgo_t algorithm, const Buffer<float>& to) {
    return cudnnConvolutionForward(c.handle, &one, c.x, x.data(), c.w, w.data(), c.conv, algorithm, space.data(), 65536,
                                   &zero, c.y, to.data());
  };
  ASSERT_EQ(run(CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_GEMM, exact), CUDNN_STATUS_SUCCESS);
  cudnnConvolutionFwdAlgoPerf_t results[16];
  int found = 0, no = 0, refused = 0, inexact = 0;
  ASSERT_EQ(cudnnGetConvolutionForwardAlgorithm_v7(c.handle, c.x, c.w, c.conv, c.y, 16, &found, results),
            CUDNN_STATUS_SUCCESS);
  for (int i = 0; i < found; ++i) {
    const cudnnStatus_t status = run(results[i].algo, y);
    if (results[i].status != CUDNN_STATUS_SUCCESS) {
      ++no;
      EXPECT_EQ(status, CUDNN_STATUS_NOT_SUPPORTED);
    } else if (status != CUDNN_STATUS_SUCCESS) {
      ++refused;
    } else if (const std::vector<float> got = y.read(), want = exact.read(); got != want) {
      ++inexact;
      for (std::size_t k = 0; k < got.size(); ++k) EXPECT_NEAR(got[k], want[k], 1e-3);
    }
  }
  EXPECT_EQ(no, 1);
  EXPECT_EQ(refused, 1);
  EXPECT_EQ(inexact, 2) << "Winograd's and Fourier's transforms";
  ASSERT_EQ(cudnnFindConvolutionForwardAlgorithmEx(c.handle, c.x, x.data(), c.w, w.data(), c.conv, c.y, y.data(), 16,
                                                   &found, results, space.data(), 65536),
            CUDNN_STATUS_SUCCESS);
  EXPECT_EQ(results[0].algo, CUDNN_CONVOLUTION_FWD_ALGO_WINOGRAD_NONFUSED);
}

TEST_F(Libraries, SumsByAtomicsDifferInTheLastBit) {
  Convolution c;
  c.describe();
  const auto outputs = static_cast<std::size_t>(2 * 6 * c.height * c.width);
  const Buffer<float> w(numbers(72, 2)), g(numbers(static_cast<int>(outputs), 3)), dx(240);
  const float one = 1, zero = 0;
  const auto run = [&](cudnnConvolutionBwdDataAlgo_t algorithm) {
    const Buffer<char> space(8192);
    EXPECT_EQ(cudnnConvolutionBackwardData(c.handle, &one, c.w, w.data(), c.y, g.data(), c.conv, algorithm,
                                           space.data(), 8192, &zero, c.x, dx.data()),
              CUDNN_STATUS_SUCCESS);
    return dx.read();
  };
  EXPECT_EQ(run(CUDNN_CONVOLUTION_BWD_DATA_ALGO_1), run(CUDNN_CONVOLUTION_BWD_DATA_ALGO_1));
  const std::vector<float> first = run(CUDNN_CONVOLUTION_BWD_DATA_ALGO_0),
                           next = run(CUDNN_CONVOLUTION_BWD_DATA_ALGO_0);
  EXPECT_NE(first, next);
  for (std::size_t i = 0; i < first.size(); ++i) EXPECT_NEAR(first[i], next[i], 1e-4);
}

TEST_F(Libraries, TensorCoresNeedAlignedOperands) {
  Convolution c;
  c.describe();
  cudnnSetConvolutionMathType(c.conv, CUDNN_DEFAULT_MATH);  // TF32 is allowed
  const Buffer<float> x(241), w(72), y(static_cast<std::size_t>(2 * 6 * c.height * c.width));
  const float one = 1, zero = 0;
  const auto run = [&](const float* from) {
    return cudnnConvolutionForward(c.handle, &one, c.x, from, c.w, w.data(), c.conv,
                                   CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_GEMM, nullptr, 0, &zero, c.y, y.data());
  };
  EXPECT_EQ(run(x.data()), CUDNN_STATUS_SUCCESS);
  EXPECT_EQ(run(x.data() + 1), CUDNN_STATUS_BAD_PARAM_MISALIGNED_POINTER);
}

}  // namespace
