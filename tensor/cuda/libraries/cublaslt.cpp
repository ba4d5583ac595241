#include <minnow/tensor/cuda/libraries/cublaslt.h>

#include <array>
#include <limits>
#include <vector>
#include <minnow/tensor/backend/library.h>
#include <minnow/tensor/cuda/runtime/capture_exemption.h>
#include <minnow/tensor/cuda/runtime/context.h>
#include <minnow/tensor/cuda/runtime/per_device.h>
#include <minnow/tensor/cuda/runtime/status.h>
#include <minnow/tensor/error.h>

namespace minnow::cuda::cublaslt {
namespace {

constexpr const char* kTitle = "cuBLASLt";
constexpr std::size_t kPlans = 1024;
constexpr std::uint64_t kWorkspace = std::uint64_t{32} << 20;

Functions load() {
  static const Library library(
      {kTitle,
       "MINNOW_CUBLASLT",
       {"libcublasLt.so.13", "libcublasLt.so.12", "libcublasLt.so"},
       "install it with the CUDA toolkit, with your distribution's libcublas package (Debian's non-free: apt install "
       "libcublaslt12) or with pip install nvidia-cublas, whose folder nvidia/.../lib then goes into LD_LIBRARY_PATH",
       MINNOW_CUDA_FOLDERS});
  Functions f{};
  library.bind(f.create, "cublasLtCreate");
  library.bind(f.status_name, "cublasLtGetStatusName");
  library.bind(f.status_string, "cublasLtGetStatusString");
  library.bind(f.desc_create, "cublasLtMatmulDescCreate");
  library.bind(f.desc_destroy, "cublasLtMatmulDescDestroy");
  library.bind(f.desc_set, "cublasLtMatmulDescSetAttribute");
  library.bind(f.layout_create, "cublasLtMatrixLayoutCreate");
  library.bind(f.layout_destroy, "cublasLtMatrixLayoutDestroy");
  library.bind(f.layout_set, "cublasLtMatrixLayoutSetAttribute");
  library.bind(f.preference_create, "cublasLtMatmulPreferenceCreate");
  library.bind(f.preference_destroy, "cublasLtMatmulPreferenceDestroy");
  library.bind(f.preference_set, "cublasLtMatmulPreferenceSetAttribute");
  library.bind(f.heuristic, "cublasLtMatmulAlgoGetHeuristic");
  library.bind(f.matmul, "cublasLtMatmul");
  return f;
}

/// The state of one device, made at its first product and never destroyed.
struct DeviceState {
  cublasLtHandle_t handle{};
  PlanCache<MatmulKey, MatmulPlan> plans{kPlans};
};

DeviceState& state_of(const Call& call) {
  static auto& states = *new PerDevice<DeviceState>();
  return states.of(call, [](DeviceState& state) { check(functions().create(&state.handle), "cublasLtCreate"); });
}

cudaDataType_t type_of(DType dtype) {
  switch (dtype) {
    case DType::float64: return CUDA_R_64F;
    case DType::float16: return CUDA_R_16F;
    case DType::bfloat16: return CUDA_R_16BF;
    default: return CUDA_R_32F;
  }
}

template <class T>
void set(const Handle<cublasLtMatmulDesc_t, cublasStatus_t>& desc, cublasLtMatmulDescAttributes_t attribute, T value) {
  check(functions().desc_set(desc.get(), attribute, &value, sizeof value), "cublasLtMatmulDescSetAttribute");
}

/// The epilogue of the product.  cuBLASLt's GELU is the tanh approximation.  Its ReLU is not used: whether that gives
/// NaN for NaN is documented nowhere, and each of its kernels has its own.
cublasLtEpilogue_t epilogue_of(const MatmulKey& key) {
  if (key.sums != SumsOf::none) return key.sums == SumsOf::a ? CUBLASLT_EPILOGUE_BGRADA : CUBLASLT_EPILOGUE_BGRADB;
  if (key.activation == Activation::gelu_tanh) return key.bias ? CUBLASLT_EPILOGUE_GELU_BIAS : CUBLASLT_EPILOGUE_GELU;
  return key.bias ? CUBLASLT_EPILOGUE_BIAS : CUBLASLT_EPILOGUE_DEFAULT;
}

}  // namespace

Handle<cublasLtMatmulDesc_t, cublasStatus_t> make_desc(const MatmulKey& key) {
  cublasComputeType_t compute = CUBLAS_COMPUTE_32F;
  if (key.dtype == DType::float64) compute = CUBLAS_COMPUTE_64F;
  else if (key.dtype == DType::float32 && key.tf32) compute = CUBLAS_COMPUTE_32F_FAST_TF32;
  cublasLtMatmulDesc_t raw{};
  check(functions().desc_create(&raw, compute, key.dtype == DType::float64 ? CUDA_R_64F : CUDA_R_32F),
        "cublasLtMatmulDescCreate");
  Handle<cublasLtMatmulDesc_t, cublasStatus_t> desc(raw, functions().desc_destroy);
  const auto op = [](bool transpose) { return std::int32_t{transpose ? CUBLAS_OP_T : CUBLAS_OP_N}; };
  set(desc, CUBLASLT_MATMUL_DESC_TRANSA, op(key.product.a.transpose));
  set(desc, CUBLASLT_MATMUL_DESC_TRANSB, op(key.product.b.transpose));
  set(desc, CUBLASLT_MATMUL_DESC_EPILOGUE, std::uint32_t{epilogue_of(key)});
  return desc;
}

Handle<cublasLtMatrixLayout_t, cublasStatus_t> make_layout(const ColumnMajor& m, std::int64_t batch, DType dtype) {
  cublasLtMatrixLayout_t raw{};
  check(functions().layout_create(&raw, type_of(dtype), static_cast<std::uint64_t>(m.rows),
                                  static_cast<std::uint64_t>(m.cols), m.leading),
        "cublasLtMatrixLayoutCreate");
  Handle<cublasLtMatrixLayout_t, cublasStatus_t> layout(raw, functions().layout_destroy);
  if (batch > 1) {
    const auto count = static_cast<std::int32_t>(batch);
    check(functions().layout_set(raw, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, &count, sizeof count),
          "cublasLtMatrixLayoutSetAttribute");
    check(functions().layout_set(raw, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, &m.batch_stride,
                                 sizeof m.batch_stride),
          "cublasLtMatrixLayoutSetAttribute");
  }
  return layout;
}

Handle<cublasLtMatmulPreference_t, cublasStatus_t> make_preference(const MatmulKey& key) {
  cublasLtMatmulPreference_t raw{};
  check(functions().preference_create(&raw), "cublasLtMatmulPreferenceCreate");
  Handle<cublasLtMatmulPreference_t, cublasStatus_t> preference(raw, functions().preference_destroy);
  const auto set_preference = [raw](cublasLtMatmulPreferenceAttributes_t attribute, auto value) {
    check(functions().preference_set(raw, attribute, &value, sizeof value), "cublasLtMatmulPreferenceSetAttribute");
  };
  set_preference(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, kWorkspace);
  // Partial sums are added in the compute type, never in a half type.
  if (is_half(key.dtype))
    set_preference(CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK,
                   std::uint32_t{CUBLASLT_REDUCTION_SCHEME_NONE | CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE});
  set_preference(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, static_cast<std::uint32_t>(key.align_a));
  set_preference(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, static_cast<std::uint32_t>(key.align_b));
  set_preference(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, static_cast<std::uint32_t>(key.align_d));
  set_preference(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, static_cast<std::uint32_t>(key.align_d));
  return preference;
}

namespace {

/// Whether a status means that the library never supports this.  Clears the CUDA error that the attempt may have left,
/// which the next launch would report.
bool refused(cublasStatus_t status) {
  switch (status) {
    case CUBLAS_STATUS_NOT_SUPPORTED:
    case CUBLAS_STATUS_INVALID_VALUE:
    case CUBLAS_STATUS_ARCH_MISMATCH: cudaGetLastError(); return true;
    default: return false;
  }
}

std::shared_ptr<MatmulPlan> make_plan(cublasLtHandle_t handle, const MatmulKey& key, const void* epilogue) {
  auto plan = std::make_shared<MatmulPlan>();
  if (key.product.batch > std::numeric_limits<std::int32_t>::max()) return plan;
  plan->desc = make_desc(key);
  // cuBLASLt reads the alignment of the pointer here; it is part of the key, so all runs have the same.
  if (epilogue) set(plan->desc, CUBLASLT_MATMUL_DESC_BIAS_POINTER, epilogue);
  plan->a = make_layout(key.product.a, key.product.batch, key.dtype);
  plan->b = make_layout(key.product.b, key.product.batch, key.dtype);
  plan->d = make_layout(key.product.d, key.product.batch, key.dtype);
  const auto preference = make_preference(key);
  std::array<cublasLtMatmulHeuristicResult_t, 8> results{};
  int found = 0;
  const cublasStatus_t status =
      functions().heuristic(handle, plan->desc.get(), plan->a.get(), plan->b.get(), plan->d.get(), plan->d.get(),
                            preference.get(), static_cast<int>(results.size()), results.data(), &found);
  // Some versions return INVALID_VALUE for a type that an epilogue does not support, or for sizes that they do not.
  if (refused(status)) return plan;
  check(status, "cublasLtMatmulAlgoGetHeuristic");
  for (int i = 0; i < found; ++i) {
    const auto& result = results[static_cast<std::size_t>(i)];
    if (result.state == CUBLAS_STATUS_SUCCESS) plan->choices.push_back({result.algo, result.workspaceSize});
  }
  return plan;
}

/// Whether something else can be tried after this status: the library has not begun, or failed without the device and
/// without losing old values.  Throws if the device failed.
bool another_may(const Call& call, cublasStatus_t status, double beta) {
  if (refused(status)) return true;
  if (beta != 0 && status != CUBLAS_STATUS_ALLOC_FAILED) return false;
  cudaGetLastError();
  cudaStreamCaptureStatus capture{};  // if the device failed, every call fails
  cuda::check(cudaStreamIsCapturing(call.stream(), &capture), "cudaStreamIsCapturing");
  return true;
}

}  // namespace

const Functions& functions() {
  static const Functions table = load();
  return table;
}

void check(cublasStatus_t status, const char* function) {
  if (status == CUBLAS_STATUS_SUCCESS) return;
  library_failed(kTitle, function,
                 std::string(functions().status_name(status)) + ": " + functions().status_string(status));
}

std::shared_ptr<MatmulPlan> plan(const Call& call, const MatmulKey& key, const MatmulOperands& operands) {
  DeviceState& state = state_of(call);
  const LibraryScope scope;
  return state.plans.get(key, [&] { return make_plan(state.handle, key, operands.epilogue()); });
}

bool run(const Call& call, MatmulPlan& plan, DType dtype, double alpha, double beta, const MatmulOperands& operands) {
  const auto alpha_single = static_cast<float>(alpha), beta_single = static_cast<float>(beta);
  const bool wide = dtype == DType::float64;
  const void* scales[2] = {wide ? static_cast<const void*>(&alpha) : &alpha_single,
                           wide ? static_cast<const void*>(&beta) : &beta_single};
  DeviceState& state = state_of(call);
  const std::lock_guard lock(plan.mutex);
  if (plan.choices.empty()) return false;
  const LibraryScope scope;
  if (const void* pointer = operands.epilogue()) set(plan.desc, CUBLASLT_MATMUL_DESC_BIAS_POINTER, pointer);
  for (auto choice = plan.choices.begin(); choice != plan.choices.end();) {
    cublasStatus_t status = CUBLAS_STATUS_ALLOC_FAILED;
    try {
      const Scratch workspace(call, choice->workspace);
      status = functions().matmul(state.handle, plan.desc.get(), scales[0], operands.a, plan.a.get(), operands.b,
                                  plan.b.get(), scales[1], operands.d, plan.d.get(), operands.d, plan.d.get(),
                                  &choice->algorithm, workspace.as<void>(), choice->workspace, call.stream());
    } catch (const OutOfMemoryError&) {  // the next one may need less, and this one have room another time
      ++choice;
      continue;
    }
    if (status == CUBLAS_STATUS_SUCCESS) {
      call.launched();
      return true;
    }
    if (!another_may(call, status, beta)) check(status, "cublasLtMatmul");
    // What is refused during a capture may work outside.
    const bool never = refused(status) && !call.context().driver.is_captured(call.stream());
    choice = never ? plan.choices.erase(choice) : choice + 1;
  }
  return false;
}

}  // namespace minnow::cuda::cublaslt
