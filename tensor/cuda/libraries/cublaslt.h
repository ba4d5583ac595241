#pragma once

#include <cublasLt.h>
#include <memory>
#include <mutex>
#include <minnow/tensor/cuda/libraries/matmul_layout.h>
#include <minnow/tensor/cuda/runtime/call.h>
#include <minnow/tensor/cuda/runtime/handle.h>
#include <minnow/tensor/internal.h>

namespace minnow::cuda::cublaslt {

/// The functions of cuBLASLt that are called.
struct Functions {
  decltype(&::cublasLtCreate) create;
  decltype(&::cublasLtGetStatusName) status_name;
  decltype(&::cublasLtGetStatusString) status_string;
  decltype(&::cublasLtMatmulDescCreate) desc_create;
  decltype(&::cublasLtMatmulDescDestroy) desc_destroy;
  decltype(&::cublasLtMatmulDescSetAttribute) desc_set;
  decltype(&::cublasLtMatrixLayoutCreate) layout_create;
  decltype(&::cublasLtMatrixLayoutDestroy) layout_destroy;
  decltype(&::cublasLtMatrixLayoutSetAttribute) layout_set;
  decltype(&::cublasLtMatmulPreferenceCreate) preference_create;
  decltype(&::cublasLtMatmulPreferenceDestroy) preference_destroy;
  decltype(&::cublasLtMatmulPreferenceSetAttribute) preference_set;
  decltype(&::cublasLtMatmulAlgoGetHeuristic) heuristic;
  decltype(&::cublasLtMatmul) matmul;
};

/// Loads the library at the first call.  BackendError where there is none.  Thread-safe.
const Functions& functions();

/// BackendError, naming the function and the operation under way, unless the status is success.
void check(cublasStatus_t status, const char* function);

/// A product that cuBLASLt is ready to run.
struct Plan {
  Handle<cublasLtMatmulDesc_t, cublasStatus_t> desc;
  Handle<cublasLtMatrixLayout_t, cublasStatus_t> a, b, d;
  cublasLtMatmulAlgo_t algorithm{};
  std::size_t workspace = 0;
  bool possible = false;  ///< false: the library has no algorithm for it
  std::mutex mutex;       ///< held while the bias is set and the product launched
};

/// Operands of one run of a plan, in the library's order.
struct Operands {
  const void *a, *b;
  void* d;
  const void* bias = nullptr;  ///< along the rows of d; packed, of d's dtype
  void* sums_b = nullptr;      ///< one for each column of d; of d's dtype

  /// What the library's one pointer of an epilogue points to.
  const void* epilogue() const { return sums_b ? sums_b : bias; }
};

/// The plan of a key on a device, from its cache.
std::shared_ptr<Plan> plan(const Call& call, const MatmulKey& key, const Operands& operands);

/// d = alpha op(a) op(b) + beta d (+ bias), on the call's stream.
void run(const Call& call, Plan& plan, DType dtype, double alpha, double beta, const Operands& operands);

}  // namespace minnow::cuda::cublaslt
