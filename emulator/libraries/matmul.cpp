#include "matmul.h"

#include <cmath>
#include <cstdlib>
#include <vector>

#include "numbers.h"

namespace emulator {
namespace {

constexpr std::uint32_t kRelu = 2, kBias = 4, kDrelu = 8, kBiasGradient = 16, kGelu = 32, kDgelu = 64, kAux = 128;

/// GELU by its tanh form, with an approximate tanh as the library has it, and its derivative.
double gelu(double x) {
  const double t = (1 + 5e-5) * std::tanh(0.7978845608028654 * (x + 0.044715 * x * x * x));
  return 0.5 * x * (1 + (t > 1 ? 1 : t < -1 ? -1 : t));
}
double gelu_slope(double x) {
  const double t = std::tanh(0.7978845608028654 * (x + 0.044715 * x * x * x));
  return 0.5 * (1 + t) + 0.5 * x * (1 - t * t) * 0.7978845608028654 * (1 + 3 * 0.044715 * x * x);
}

cudaDataType_t bias_type(const Product& p) {
  return p.what.bias_type < 0 ? p.d.type : static_cast<cudaDataType_t>(p.what.bias_type);
}

/// op(X) of one matrix of the batch, in row-major order.
template <class T>
std::vector<T> dense(const Product& p, const Layout& layout, const void* data, bool transpose, int batch) {
  const auto rows = static_cast<std::int64_t>(transpose ? layout.cols : layout.rows),
             cols = static_cast<std::int64_t>(transpose ? layout.rows : layout.cols);
  const std::int64_t first = batch * layout.batch_stride;
  std::vector<T> out;
  out.reserve(static_cast<std::size_t>(rows * cols));
  for (std::int64_t i = 0; i < rows; ++i)
    for (std::int64_t j = 0; j < cols; ++j) {
      const double x = load(data, layout.type, first + (transpose ? layout.at(j, i) : layout.at(i, j)));
      out.push_back(static_cast<T>(p.what.compute == CUBLAS_COMPUTE_32F_FAST_TF32 ? to_tf32(x) : x));
    }
  return out;
}

/// Whether doubles have epilogues.  The documentation's table does not say so; the library of today has them.
bool doubles_have_epilogues() {
  static const bool have = std::getenv("MINNOW_EMULATOR_NO_DOUBLE_EPILOGUES") == nullptr;
  return have;
}

/// The bit of an element in the mask that ReLU writes for its gradient.
bool mask_bit(const Product& p, int batch, std::int64_t row, std::int64_t col) {
  const std::int64_t bit = batch * p.what.aux_batch_stride + col * p.what.aux_leading + row;
  return static_cast<const unsigned char*>(p.what.aux)[bit / 8] >> (bit % 8) & 1;
}
void set_mask_bit(const Product& p, int batch, std::int64_t row, std::int64_t col, bool value) {
  const std::int64_t bit = batch * p.what.aux_batch_stride + col * p.what.aux_leading + row;
  auto& byte = static_cast<unsigned char*>(p.what.aux)[bit / 8];
  const auto one = static_cast<unsigned char>(1u << (bit % 8));
  byte = static_cast<unsigned char>(value ? byte | one : byte & ~one);
}

/// Applies the epilogue to one element.
double finish(const Product& p, int batch, std::int64_t row, std::int64_t col, double x) {
  const std::uint32_t epilogue = p.what.epilogue;
  const std::int64_t aux = batch * p.what.aux_batch_stride + col * p.what.aux_leading + row;
  if (epilogue & kBias) x += load(p.what.bias, bias_type(p), batch * p.what.bias_batch_stride + row);
  if (epilogue & kDrelu) return mask_bit(p, batch, row, col) ? x : 0;
  if (epilogue & kDgelu) return x * gelu_slope(load(p.what.aux, p.d.type, aux));
  if (epilogue & kRelu) {
    if (epilogue & kAux) set_mask_bit(p, batch, row, col, x > 0);
    return x > 0 ? x : 0;  // also for NaN: the documentation does not say
  }
  if (epilogue & kGelu) {
    if (epilogue & kAux) store(p.what.aux, p.d.type, aux, x);
    return gelu(x);
  }
  return x;
}

/// Sums in T, in one order or in the other.
template <class T> void compute_one(const Product& p, int batch) {
  const auto m = static_cast<std::int64_t>(p.d.rows), n = static_cast<std::int64_t>(p.d.cols);
  const bool transpose_a = p.what.transpose_a != CUBLAS_OP_N, transpose_b = p.what.transpose_b != CUBLAS_OP_N;
  const std::vector<T> a = dense<T>(p, p.a, p.a_data, transpose_a, batch);
  const std::vector<T> b = dense<T>(p, p.b, p.b_data, transpose_b, batch);
  const auto k = static_cast<std::int64_t>(transpose_a ? p.a.rows : p.a.cols);
  std::vector<T> row(static_cast<std::size_t>(n));
  const std::int64_t bias_first = batch * p.what.bias_batch_stride;
  for (std::int64_t i = 0; i < m; ++i) {
    std::fill(row.begin(), row.end(), T(0));
    T bias_of_a = 0;
    for (std::int64_t turn = 0; turn < k; ++turn) {
      const std::int64_t l = in_order(turn, k);
      const T factor = a[static_cast<std::size_t>(i * k + l)];
      const T* from = b.data() + l * n;
      bias_of_a += factor;
      for (std::int64_t j = 0; j < n; ++j) row[static_cast<std::size_t>(j)] += factor * from[j];
    }
    T bias_gradient = 0;
    for (std::int64_t turn = 0; turn < n; ++turn) {
      const std::int64_t j = in_order(turn, n);
      double x = p.alpha * static_cast<double>(row[static_cast<std::size_t>(j)]);
      // If beta is 0, C is not read: it may be uninitialized.
      if (p.beta != 0) x += p.beta * load(p.c_data, p.c.type, batch * p.c.batch_stride + p.c.at(i, j));
      x = finish(p, batch, i, j, x);
      bias_gradient += static_cast<T>(x);
      store(p.d_data, p.d.type, batch * p.d.batch_stride + p.d.at(i, j), x);
    }
    const auto keep = [&](T sum) { store(p.what.bias, bias_type(p), bias_first + i, static_cast<double>(sum)); };
    if (p.what.epilogue & kBiasGradient) keep(bias_gradient);
    if (p.what.epilogue == CUBLASLT_EPILOGUE_BGRADA) keep(bias_of_a);
  }
  if (p.what.epilogue != CUBLASLT_EPILOGUE_BGRADB) return;
  for (std::int64_t j = 0; j < n; ++j) {
    T sum = 0;
    for (std::int64_t turn = 0; turn < k; ++turn) sum += b[static_cast<std::size_t>(in_order(turn, k) * n + j)];
    store(p.what.bias, bias_type(p), bias_first + j, static_cast<double>(sum));
  }
}

bool known_epilogue(std::uint32_t epilogue) {
  switch (epilogue) {
    case CUBLASLT_EPILOGUE_DEFAULT:
    case CUBLASLT_EPILOGUE_RELU:
    case CUBLASLT_EPILOGUE_RELU_AUX:
    case CUBLASLT_EPILOGUE_BIAS:
    case CUBLASLT_EPILOGUE_RELU_BIAS:
    case CUBLASLT_EPILOGUE_RELU_AUX_BIAS:
    case CUBLASLT_EPILOGUE_DRELU:
    case CUBLASLT_EPILOGUE_DRELU_BGRAD:
    case CUBLASLT_EPILOGUE_GELU:
    case CUBLASLT_EPILOGUE_GELU_AUX:
    case CUBLASLT_EPILOGUE_GELU_BIAS:
    case CUBLASLT_EPILOGUE_GELU_AUX_BIAS:
    case CUBLASLT_EPILOGUE_DGELU:
    case CUBLASLT_EPILOGUE_DGELU_BGRAD:
    case CUBLASLT_EPILOGUE_BGRADA:
    case CUBLASLT_EPILOGUE_BGRADB: return true;
    default: return false;
  }
}

bool is_half(cudaDataType_t type) { return type == CUDA_R_16F || type == CUDA_R_16BF; }

bool fits(const Layout& layout) {
  const std::uint64_t length = layout.by_columns() ? layout.rows : layout.cols;
  return layout.leading >= static_cast<std::int64_t>(length) && layout.batch >= 1 &&
         (layout.batch == 1 || layout.batch_stride >= 0);
}

}  // namespace

bool is_supported(const Description& what, const Layout& a, const Layout& b, const Layout& c, const Layout& d) {
  if (!known_epilogue(what.epilogue) || a.type != b.type || c.type != d.type) return false;
  for (const Layout* layout : {&a, &b, &c, &d})
    if (layout->order != CUBLASLT_ORDER_COL && layout->order != CUBLASLT_ORDER_ROW) return false;
  const bool plain = what.epilogue == CUBLASLT_EPILOGUE_DEFAULT;
  if (!plain && d.order == CUBLASLT_ORDER_ROW) return false;
  // Seen on cuBLASLt 13: the operand that is summed must not be turned in this way.
  if (what.epilogue == CUBLASLT_EPILOGUE_BGRADA && what.transpose_a != CUBLAS_OP_N) return false;
  if (what.epilogue == CUBLASLT_EPILOGUE_BGRADB && what.transpose_b == CUBLAS_OP_N) return false;
  switch (what.compute) {
    case CUBLAS_COMPUTE_64F:
      return what.scale == CUDA_R_64F && a.type == CUDA_R_64F && d.type == CUDA_R_64F &&
             (plain || doubles_have_epilogues());
    case CUBLAS_COMPUTE_32F:
    case CUBLAS_COMPUTE_32F_PEDANTIC:
      return what.scale == CUDA_R_32F && ((a.type == CUDA_R_32F && d.type == CUDA_R_32F) ||
                                          (is_half(a.type) && (d.type == a.type || d.type == CUDA_R_32F)));
    case CUBLAS_COMPUTE_32F_FAST_TF32: return what.scale == CUDA_R_32F && a.type == CUDA_R_32F && d.type == CUDA_R_32F;
    default: return false;
  }
}

bool is_consistent(const Description& what, const Layout& a, const Layout& b, const Layout& c, const Layout& d) {
  const bool transpose_a = what.transpose_a != CUBLAS_OP_N, transpose_b = what.transpose_b != CUBLAS_OP_N;
  const std::uint64_t m = transpose_a ? a.cols : a.rows, k = transpose_a ? a.rows : a.cols;
  const std::uint64_t k_of_b = transpose_b ? b.cols : b.rows, n = transpose_b ? b.rows : b.cols;
  if (m == 0 || n == 0 || k == 0 || k != k_of_b || d.rows != m || d.cols != n || c.rows != m || c.cols != n)
    return false;
  for (const Layout* layout : {&a, &b, &c, &d})
    if (!fits(*layout) || layout->batch != d.batch) return false;
  // Matrices of the result must not overlap.
  const std::int64_t one = d.extent() - (d.batch - 1) * d.batch_stride;
  return d.batch == 1 || d.batch_stride >= one;
}

void compute(const Product& product) {
  for (int batch = 0; batch < product.d.batch; ++batch) {
    if (product.what.compute == CUBLAS_COMPUTE_64F) compute_one<double>(product, batch);
    else compute_one<float>(product, batch);
  }
}

}  // namespace emulator
