#pragma once

#include <cublasLt.h>
#include <memory>
#include <mutex>
#include <vector>
#include <minnow/tensor/cuda/libraries/matmul_layout.h>
#include <minnow/tensor/cuda/runtime/call.h>
#include <minnow/tensor/cuda/runtime/handle.h>
#include <minnow/tensor/internal.h>

namespace minnow::cuda::cublaslt {

/// The functions of cuBLASLt that are used.
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

/// Loads the library at the first call.  BackendError if it cannot be loaded.  Thread-safe.
const Functions& functions();

/// BackendError with the function and the open operation, unless the status is success.
void check(cublasStatus_t status, const char* function);

// What describes a product to the library; no device is needed.
Handle<cublasLtMatmulDesc_t, cublasStatus_t> make_desc(const MatmulKey& key);
Handle<cublasLtMatrixLayout_t, cublasStatus_t> make_layout(const ColumnMajor& m, std::int64_t batch, DType dtype);
Handle<cublasLtMatmulPreference_t, cublasStatus_t> make_preference(const MatmulKey& key);

/// A product, prepared for cuBLASLt.
struct MatmulPlan {
  Handle<cublasLtMatmulDesc_t, cublasStatus_t> desc;
  Handle<cublasLtMatrixLayout_t, cublasStatus_t> a, b, d;
  struct Choice {
    cublasLtMatmulAlgo_t algorithm{};
    std::size_t workspace = 0;
  };
  std::vector<Choice> choices;  ///< the best one first; those that never work are removed
  std::mutex mutex;             ///< held while choices are used, and while the bias is set and the product is launched
};

/// The operands of one run of a plan, in cuBLASLt's order.
struct MatmulOperands {
  const void *a, *b;
  void* d;
  const void* bias = nullptr;  ///< along the rows of d; dense, with d's dtype
  void* sums = nullptr;        ///< of SumsOf's operand, with d's dtype

  /// The pointer of the epilogue, of which cuBLASLt has only one.
  const void* epilogue() const { return sums ? sums : bias; }
};

/// The plan of a key on a device, from its cache.
std::shared_ptr<MatmulPlan> plan(const Call& call, const MatmulKey& key, const MatmulOperands& operands);

/// d = alpha op(a) op(b) + beta d (+ bias), on the call's stream.  Returns false if cuBLASLt has no algorithm for it,
/// or none works of all that it has named.
bool run(const Call& call, MatmulPlan& plan, DType dtype, double alpha, double beta, const MatmulOperands& operands);

}  // namespace minnow::cuda::cublaslt
