// cuBLASLt's functions as NVIDIA documents them, as simple loops that run as work of an emulated stream.

#include <algorithm>
#include <cstring>
#include <emulator/launch.h>
#include <functional>
#include <memory>
#include <new>
#include <string_view>
#include <vector>

#include "matmul.h"
#include "numbers.h"

using namespace emulator;

namespace {

/// The workspace of an algorithm that uses one.
constexpr std::uint64_t kWorkspace = 8192;

struct Preference {
  std::uint64_t workspace = 0;
  std::uint32_t alignment[4] = {256, 256, 256, 256};
};

/// The content of a handle.
struct Context {
  int device = 0;
};

/// An algorithm is valid for the configuration for which it was found, and for pointers with the given alignment.
struct Algorithm {
  std::uint64_t configuration, workspace;
  std::uint32_t alignment[4];
};
static_assert(sizeof(Algorithm) <= sizeof(cublasLtMatmulAlgo_t) &&
              sizeof(Layout) <= sizeof(cublasLtMatrixLayoutOpaque_t));

template <class T, class Handle> T& behind(Handle handle) { return *reinterpret_cast<T*>(handle); }

/// Copies an attribute of exactly this size.
template <class T> cublasStatus_t take(T& to, const void* from, std::size_t bytes) {
  if (from == nullptr || bytes != sizeof(T)) return CUBLAS_STATUS_INVALID_VALUE;
  std::memcpy(&to, from, bytes);
  return CUBLAS_STATUS_SUCCESS;
}
/// The same for an attribute with a single allowed value.
template <class T> cublasStatus_t take_only(T value, const void* from, std::size_t bytes) {
  T given{};
  const cublasStatus_t status = take(given, from, bytes);
  return status == CUBLAS_STATUS_SUCCESS && given != value ? CUBLAS_STATUS_NOT_SUPPORTED : status;
}

std::uint64_t configuration(const Description& what, const Layout& a, const Layout& b, const Layout& c,
                            const Layout& d) {
  std::uint64_t hash =
      mixed(1, {static_cast<std::uint64_t>(what.compute), static_cast<std::uint64_t>(what.transpose_a),
                static_cast<std::uint64_t>(what.transpose_b), static_cast<std::uint64_t>(what.epilogue)});
  for (const Layout* layout : {&a, &b, &c, &d})
    hash = mixed(hash, {static_cast<std::uint64_t>(layout->type), static_cast<std::uint64_t>(layout->order),
                        layout->rows, layout->cols, static_cast<std::uint64_t>(layout->leading),
                        static_cast<std::uint64_t>(layout->batch), static_cast<std::uint64_t>(layout->batch_stride)});
  return hash;
}

bool aligned(const void* data, std::uint32_t bytes) { return reinterpret_cast<std::uintptr_t>(data) % bytes == 0; }

bool on_device(const void* data, std::int64_t elements, cudaDataType_t type) {
  return data && is_device_memory(data, static_cast<std::size_t>(elements) * size_of(type));
}

/// Whether the epilogue reads or writes a bias.
bool needs_bias(const Description& what) {
  constexpr std::uint32_t kBias = 4 | 16 | 256 | 512;
  return what.epilogue & kBias;
}

/// Whether the memory that the epilogue reads and writes beside D exists.
bool epilogue_is_there(const Product& p) {
  constexpr std::uint32_t kNeedsAux = 128;
  const bool by_columns = p.what.epilogue == CUBLASLT_EPILOGUE_BGRADB;
  const auto length = static_cast<std::int64_t>(by_columns ? p.d.cols : p.d.rows);
  const auto type = p.what.bias_type < 0 ? p.d.type : static_cast<cudaDataType_t>(p.what.bias_type);
  if (needs_bias(p.what) && !on_device(p.what.bias, (p.d.batch - 1) * p.what.bias_batch_stride + length, type))
    return false;
  if (!(p.what.epilogue & kNeedsAux)) return true;
  const bool bits = p.what.epilogue & (2 | 8);
  const auto extent = (p.d.batch - 1) * p.what.aux_batch_stride +
                      (static_cast<std::int64_t>(p.d.cols) - 1) * p.what.aux_leading +
                      static_cast<std::int64_t>(p.d.rows);
  return p.what.aux_leading >= static_cast<std::int64_t>(p.d.rows) && p.what.aux_leading % (bits ? 128 : 8) == 0 &&
         (bits ? p.what.aux && is_device_memory(p.what.aux, static_cast<std::size_t>((extent + 7) / 8))
               : on_device(p.what.aux, extent, p.d.type));
}

bool operands_are_there(const Product& p, const Algorithm& algorithm) {
  const void* data[4] = {p.a_data, p.b_data, p.c_data, p.d_data};
  const Layout* layouts[4] = {&p.a, &p.b, &p.c, &p.d};
  for (int i = 0; i < 4; ++i) {
    if (i == 2 && p.beta == 0 && !data[i]) continue;
    if (!on_device(data[i], layouts[i]->extent(), layouts[i]->type) || !aligned(data[i], algorithm.alignment[i]))
      return false;
  }
  return epilogue_is_there(p);
}

double scalar(const Description& what, const void* value) { return load(value, what.scale, 0); }

}  // namespace

extern "C" {

cublasStatus_t cublasLtCreate(cublasLtHandle_t* handle) {
  auto context = std::make_unique<Context>();
  if (cudaGetDevice(&context->device) != cudaSuccess) return CUBLAS_STATUS_NOT_INITIALIZED;
  *handle = reinterpret_cast<cublasLtHandle_t>(context.release());
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtDestroy(cublasLtHandle_t handle) {
  delete reinterpret_cast<Context*>(handle);
  return CUBLAS_STATUS_SUCCESS;
}

std::size_t cublasLtGetVersion() { return 130000; }

const char* cublasLtGetStatusName(cublasStatus_t status) {
  switch (status) {
    case CUBLAS_STATUS_SUCCESS: return "CUBLAS_STATUS_SUCCESS";
    case CUBLAS_STATUS_NOT_INITIALIZED: return "CUBLAS_STATUS_NOT_INITIALIZED";
    case CUBLAS_STATUS_INVALID_VALUE: return "CUBLAS_STATUS_INVALID_VALUE";
    case CUBLAS_STATUS_NOT_SUPPORTED: return "CUBLAS_STATUS_NOT_SUPPORTED";
    case CUBLAS_STATUS_EXECUTION_FAILED: return "CUBLAS_STATUS_EXECUTION_FAILED";
    default: return "another status";
  }
}

const char* cublasLtGetStatusString(cublasStatus_t status) {
  switch (status) {
    case CUBLAS_STATUS_SUCCESS: return "success";
    case CUBLAS_STATUS_INVALID_VALUE: return "an unsupported value or parameter was passed to the function";
    case CUBLAS_STATUS_NOT_SUPPORTED: return "the functionality requested is not supported";
    default: return "the function failed";
  }
}

cublasStatus_t cublasLtMatrixLayoutCreate(cublasLtMatrixLayout_t* layout, cudaDataType type, std::uint64_t rows,
                                          std::uint64_t cols, std::int64_t leading) {
  *layout = new cublasLtMatrixLayoutOpaque_t;
  new (*layout) Layout{type, CUBLASLT_ORDER_COL, rows, cols, leading, 1, 0};
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatrixLayoutDestroy(cublasLtMatrixLayout_t layout) {
  delete layout;
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatrixLayoutSetAttribute(cublasLtMatrixLayout_t handle,
                                                cublasLtMatrixLayoutAttribute_t attribute, const void* value,
                                                std::size_t bytes) {
  auto& layout = behind<Layout>(handle);
  switch (attribute) {
    case CUBLASLT_MATRIX_LAYOUT_TYPE: return take(layout.type, value, bytes);
    case CUBLASLT_MATRIX_LAYOUT_ORDER: return take(layout.order, value, bytes);
    case CUBLASLT_MATRIX_LAYOUT_ROWS: return take(layout.rows, value, bytes);
    case CUBLASLT_MATRIX_LAYOUT_COLS: return take(layout.cols, value, bytes);
    case CUBLASLT_MATRIX_LAYOUT_LD: return take(layout.leading, value, bytes);
    case CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT: return take(layout.batch, value, bytes);
    case CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET: return take(layout.batch_stride, value, bytes);
    default: return CUBLAS_STATUS_INVALID_VALUE;
  }
}

cublasStatus_t cublasLtMatmulDescCreate(cublasLtMatmulDesc_t* desc, cublasComputeType_t compute, cudaDataType_t scale) {
  *desc = new cublasLtMatmulDescOpaque_t;
  auto* made = new (*desc) Description;
  made->compute = compute;
  made->scale = scale;
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulDescDestroy(cublasLtMatmulDesc_t desc) {
  delete desc;
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulDescSetAttribute(cublasLtMatmulDesc_t handle, cublasLtMatmulDescAttributes_t attribute,
                                              const void* value, std::size_t bytes) {
  auto& desc = behind<Description>(handle);
  switch (attribute) {
    case CUBLASLT_MATMUL_DESC_COMPUTE_TYPE: return take(desc.compute, value, bytes);
    case CUBLASLT_MATMUL_DESC_SCALE_TYPE: return take(desc.scale, value, bytes);
    case CUBLASLT_MATMUL_DESC_POINTER_MODE: return take_only(std::int32_t{CUBLASLT_POINTER_MODE_HOST}, value, bytes);
    case CUBLASLT_MATMUL_DESC_TRANSA: return take(desc.transpose_a, value, bytes);
    case CUBLASLT_MATMUL_DESC_TRANSB: return take(desc.transpose_b, value, bytes);
    case CUBLASLT_MATMUL_DESC_TRANSC: return take_only(std::int32_t{CUBLAS_OP_N}, value, bytes);
    case CUBLASLT_MATMUL_DESC_EPILOGUE: return take(desc.epilogue, value, bytes);
    case CUBLASLT_MATMUL_DESC_BIAS_POINTER: return take(desc.bias, value, bytes);
    case CUBLASLT_MATMUL_DESC_BIAS_BATCH_STRIDE: return take(desc.bias_batch_stride, value, bytes);
    case CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE: return take(desc.bias_type, value, bytes);
    case CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER: return take(desc.aux, value, bytes);
    case CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD: return take(desc.aux_leading, value, bytes);
    case CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_BATCH_STRIDE: return take(desc.aux_batch_stride, value, bytes);
    default: return CUBLAS_STATUS_INVALID_VALUE;
  }
}

cublasStatus_t cublasLtMatmulPreferenceCreate(cublasLtMatmulPreference_t* preference) {
  *preference = new cublasLtMatmulPreferenceOpaque_t;
  new (*preference) Preference;
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulPreferenceDestroy(cublasLtMatmulPreference_t preference) {
  delete preference;
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulPreferenceSetAttribute(cublasLtMatmulPreference_t handle,
                                                    cublasLtMatmulPreferenceAttributes_t attribute, const void* value,
                                                    std::size_t bytes) {
  auto& preference = behind<Preference>(handle);
  std::uint32_t mask = 0;
  switch (attribute) {
    case CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES: return take(preference.workspace, value, bytes);
    case CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK: return take(mask, value, bytes);
    case CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES: return take(preference.alignment[0], value, bytes);
    case CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES: return take(preference.alignment[1], value, bytes);
    case CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES: return take(preference.alignment[2], value, bytes);
    case CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES: return take(preference.alignment[3], value, bytes);
    default: return CUBLAS_STATUS_INVALID_VALUE;
  }
}

cublasStatus_t cublasLtMatmulAlgoGetHeuristic(cublasLtHandle_t handle, cublasLtMatmulDesc_t desc,
                                              cublasLtMatrixLayout_t a, cublasLtMatrixLayout_t b,
                                              cublasLtMatrixLayout_t c, cublasLtMatrixLayout_t d,
                                              cublasLtMatmulPreference_t preference_handle, int requested,
                                              cublasLtMatmulHeuristicResult_t results[], int* found) {
  *found = 0;
  if (!handle) return CUBLAS_STATUS_NOT_INITIALIZED;
  if (requested <= 0 || !results) return CUBLAS_STATUS_INVALID_VALUE;
  if (const int status = library_status("cublasLtMatmulAlgoGetHeuristic", 0))
    return static_cast<cublasStatus_t>(status);
  const auto& what = behind<Description>(desc);
  const auto &la = behind<Layout>(a), &lb = behind<Layout>(b), &lc = behind<Layout>(c), &ld = behind<Layout>(d);
  if (!is_consistent(what, la, lb, lc, ld)) return CUBLAS_STATUS_INVALID_VALUE;
  if (!is_supported(what, la, lb, lc, ld)) return CUBLAS_STATUS_NOT_SUPPORTED;
  const auto& preference = behind<Preference>(preference_handle);
  const std::uint64_t which = configuration(what, la, lb, lc, ld);
  // One that uses workspace, if that is allowed, and one that needs none.  Tests call them 0 and 1.
  std::vector<std::uint64_t> workspaces{0};
  if (preference.workspace >= kWorkspace) workspaces.insert(workspaces.begin(), kWorkspace);
  shuffle(workspaces, which);
  // The state of each result says whether it can be used: here that of the first one says no.
  if (requested > 1) results[(*found)++].state = CUBLAS_STATUS_NOT_SUPPORTED;
  for (const std::uint64_t workspace : workspaces) {
    if (*found == requested) break;
    cublasLtMatmulHeuristicResult_t& result = results[(*found)++];
    result = {};
    result.state = CUBLAS_STATUS_SUCCESS;
    result.workspaceSize = workspace;
    Algorithm algorithm{which, workspace, {}};
    std::copy(preference.alignment, preference.alignment + 4, algorithm.alignment);
    std::memcpy(&result.algo, &algorithm, sizeof algorithm);
  }
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmul(cublasLtHandle_t handle, cublasLtMatmulDesc_t desc, const void* alpha, const void* a_data,
                              cublasLtMatrixLayout_t a, const void* b_data, cublasLtMatrixLayout_t b, const void* beta,
                              const void* c_data, cublasLtMatrixLayout_t c, void* d_data, cublasLtMatrixLayout_t d,
                              const cublasLtMatmulAlgo_t* algo, void* workspace, std::size_t workspace_bytes,
                              cudaStream_t stream) {
  int device = -1;
  if (!handle || cudaGetDevice(&device) != cudaSuccess || device != behind<Context>(handle).device)
    return CUBLAS_STATUS_NOT_INITIALIZED;
  Product p;
  p.what = behind<Description>(desc);
  p.alpha = scalar(p.what, alpha);
  p.beta = scalar(p.what, beta);
  p.a = behind<Layout>(a);
  p.b = behind<Layout>(b);
  p.c = behind<Layout>(c);
  p.d = behind<Layout>(d);
  p.a_data = a_data;
  p.b_data = b_data;
  p.c_data = c_data;
  p.d_data = d_data;
  if (!is_consistent(p.what, p.a, p.b, p.c, p.d)) return CUBLAS_STATUS_INVALID_VALUE;
  if (!is_supported(p.what, p.a, p.b, p.c, p.d)) return CUBLAS_STATUS_NOT_SUPPORTED;
  Algorithm algorithm{configuration(p.what, p.a, p.b, p.c, p.d), 0, {1, 1, 1, 1}};
  if (algo) {
    const std::uint64_t now = algorithm.configuration;
    std::memcpy(&algorithm, algo, sizeof algorithm);
    if (algorithm.configuration != now) return CUBLAS_STATUS_NOT_SUPPORTED;
  }
  if (algorithm.workspace > workspace_bytes || (algorithm.workspace && !is_device_memory(workspace, workspace_bytes)) ||
      !aligned(workspace, 256) || !operands_are_there(p, algorithm))
    return CUBLAS_STATUS_INVALID_VALUE;
  const int number = algorithm.workspace ? 0 : 1;
  if (const int status = library_status("cublasLtMatmul", number)) return static_cast<cublasStatus_t>(status);
  if (algo && refuses(algorithm.configuration, number)) return CUBLAS_STATUS_NOT_SUPPORTED;
  if (first_use("cublasLtMatmul", mixed(algorithm.configuration, algorithm.workspace)) != cudaSuccess)
    return CUBLAS_STATUS_EXECUTION_FAILED;
  const cudaError_t given = submit(stream, [p, workspace, used = algorithm.workspace] {
    // A kernel loads and stores it by vectors.
    if (needs_bias(p.what) && !aligned(p.what.bias, 16))
      return std::string("cublasLtMatmul: misaligned address, the epilogue's pointer");
    if (used) std::memset(workspace, 0x7f, used);  // it is the library's to write
    compute(p);
    return std::string();
  });
  return given == cudaSuccess ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_EXECUTION_FAILED;
}

}  // extern "C"
