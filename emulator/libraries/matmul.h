#pragma once

#include <cstdint>
#include <cublasLt.h>
#include <string>

namespace emulator {

/// What cublasLtMatrixLayout_t describes.
struct Layout {
  cudaDataType_t type = CUDA_R_32F;
  cublasLtOrder_t order = CUBLASLT_ORDER_COL;
  std::uint64_t rows = 0, cols = 0;
  std::int64_t leading = 0;
  std::int32_t batch = 1;
  std::int64_t batch_stride = 0;

  bool by_columns() const { return order == CUBLASLT_ORDER_COL; }
  std::int64_t at(std::int64_t row, std::int64_t col) const {
    return by_columns() ? row + col * leading : row * leading + col;
  }
  /// Elements from the first to behind the last.
  std::int64_t extent() const {
    const auto lines = static_cast<std::int64_t>(by_columns() ? cols : rows);
    const auto length = static_cast<std::int64_t>(by_columns() ? rows : cols);
    return lines == 0 || length == 0 ? 0 : (batch - 1) * batch_stride + (lines - 1) * leading + length;
  }
};

/// What cublasLtMatmulDesc_t describes.
struct Description {
  cublasComputeType_t compute = CUBLAS_COMPUTE_32F;
  cudaDataType_t scale = CUDA_R_32F;
  std::int32_t transpose_a = CUBLAS_OP_N, transpose_b = CUBLAS_OP_N;
  std::uint32_t epilogue = CUBLASLT_EPILOGUE_DEFAULT;
  void* bias = nullptr;
  std::int32_t bias_type = -1;
  std::int64_t bias_batch_stride = 0;
  void* aux = nullptr;
  std::int64_t aux_leading = 0, aux_batch_stride = 0;
};

/// D = epilogue(alpha op(A) op(B) + beta C).
struct Product {
  Description what;
  double alpha = 1, beta = 0;
  Layout a, b, c, d;
  const void *a_data = nullptr, *b_data = nullptr, *c_data = nullptr;
  void* d_data = nullptr;
};

/// Whether the library supports the types and the epilogue of this product.
bool is_supported(const Description& what, const Layout& a, const Layout& b, const Layout& c, const Layout& d);
/// Whether shapes, leading dimensions and batches match.
bool is_consistent(const Description& what, const Layout& a, const Layout& b, const Layout& c, const Layout& d);

void compute(const Product& product);

}  // namespace emulator
