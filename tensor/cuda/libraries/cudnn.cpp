#include <minnow/tensor/cuda/libraries/cudnn.h>

#include <limits>
#include <minnow/tensor/backend/library.h>

namespace minnow::cuda::cudnn {
namespace {

constexpr const char* kTitle = "cuDNN";

void bind_descriptors(const Library& library, Functions& f) {
  library.bind(f.tensor_create, "cudnnCreateTensorDescriptor");
  library.bind(f.tensor_destroy, "cudnnDestroyTensorDescriptor");
  library.bind(f.tensor_set, "cudnnSetTensor4dDescriptor");
  library.bind(f.filter_create, "cudnnCreateFilterDescriptor");
  library.bind(f.filter_destroy, "cudnnDestroyFilterDescriptor");
  library.bind(f.filter_set, "cudnnSetFilter4dDescriptor");
  library.bind(f.conv_create, "cudnnCreateConvolutionDescriptor");
  library.bind(f.conv_destroy, "cudnnDestroyConvolutionDescriptor");
  library.bind(f.conv_set, "cudnnSetConvolution2dDescriptor");
  library.bind(f.conv_set_groups, "cudnnSetConvolutionGroupCount");
  library.bind(f.conv_set_math, "cudnnSetConvolutionMathType");
  library.bind(f.activation_create, "cudnnCreateActivationDescriptor");
  library.bind(f.activation_destroy, "cudnnDestroyActivationDescriptor");
  library.bind(f.activation_set, "cudnnSetActivationDescriptor");
}

Functions load() {
  static const Library library(
      {kTitle,
       "MINNOW_CUDNN",
       {"libcudnn.so.9", "libcudnn.so"},
       "convolutions on CUDA need cuDNN 9: pip install nvidia-cudnn-cu13 and put its folder nvidia/cudnn/lib into "
       "LD_LIBRARY_PATH, or with NVIDIA's Debian repository apt install cudnn9-cuda-13",
       MINNOW_CUDA_FOLDERS});
  Functions f{};
  library.bind(f.create, "cudnnCreate");
  library.bind(f.set_stream, "cudnnSetStream");
  library.bind(f.error_string, "cudnnGetErrorString");
  library.bind(f.last_error_string, "cudnnGetLastErrorString");
  bind_descriptors(library, f);
  library.bind(f.forward_get, "cudnnGetConvolutionForwardAlgorithm_v7");
  library.bind(f.forward_find, "cudnnFindConvolutionForwardAlgorithmEx");
  library.bind(f.forward_workspace, "cudnnGetConvolutionForwardWorkspaceSize");
  library.bind(f.forward, "cudnnConvolutionForward");
  library.bind(f.forward_bias, "cudnnConvolutionBiasActivationForward");
  library.bind(f.input_get, "cudnnGetConvolutionBackwardDataAlgorithm_v7");
  library.bind(f.input_find, "cudnnFindConvolutionBackwardDataAlgorithmEx");
  library.bind(f.input_workspace, "cudnnGetConvolutionBackwardDataWorkspaceSize");
  library.bind(f.input, "cudnnConvolutionBackwardData");
  library.bind(f.weight_get, "cudnnGetConvolutionBackwardFilterAlgorithm_v7");
  library.bind(f.weight_find, "cudnnFindConvolutionBackwardFilterAlgorithmEx");
  library.bind(f.weight_workspace, "cudnnGetConvolutionBackwardFilterWorkspaceSize");
  library.bind(f.weight, "cudnnConvolutionBackwardFilter");
  return f;
}

int narrow(std::int64_t size) {
  if (size > std::numeric_limits<int>::max())
    library_failed(kTitle, "cudnnSetTensor4dDescriptor", "the size " + std::to_string(size) + " exceeds 31 bits");
  return static_cast<int>(size);
}

cudnnDataType_t type_of(DType dtype) {
  switch (dtype) {
    case DType::float64: return CUDNN_DATA_DOUBLE;
    case DType::float16: return CUDNN_DATA_HALF;
    case DType::bfloat16: return CUDNN_DATA_BFLOAT16;
    default: return CUDNN_DATA_FLOAT;
  }
}

TensorDesc tensor(cudnnTensorFormat_t format, cudnnDataType_t type, const std::array<std::int64_t, 4>& n) {
  cudnnTensorDescriptor_t raw{};
  check(functions().tensor_create(&raw), "cudnnCreateTensorDescriptor");
  TensorDesc desc(raw, functions().tensor_destroy);
  check(functions().tensor_set(raw, format, type, narrow(n[0]), narrow(n[1]), narrow(n[2]), narrow(n[3])),
        "cudnnSetTensor4dDescriptor");
  return desc;
}

FilterDesc filter(cudnnTensorFormat_t format, cudnnDataType_t type, const std::array<std::int64_t, 4>& n) {
  cudnnFilterDescriptor_t raw{};
  check(functions().filter_create(&raw), "cudnnCreateFilterDescriptor");
  FilterDesc desc(raw, functions().filter_destroy);
  check(functions().filter_set(raw, type, format, narrow(n[0]), narrow(n[1]), narrow(n[2]), narrow(n[3])),
        "cudnnSetFilter4dDescriptor");
  return desc;
}

ConvDesc convolution(const ConvKey& key) {
  cudnnConvolutionDescriptor_t raw{};
  check(functions().conv_create(&raw), "cudnnCreateConvolutionDescriptor");
  ConvDesc desc(raw, functions().conv_destroy);
  check(
      functions().conv_set(raw, narrow(key.padding[0]), narrow(key.padding[1]), narrow(key.stride[0]),
                           narrow(key.stride[1]), narrow(key.dilation[0]), narrow(key.dilation[1]),
                           CUDNN_CROSS_CORRELATION, key.dtype == DType::float64 ? CUDNN_DATA_DOUBLE : CUDNN_DATA_FLOAT),
      "cudnnSetConvolution2dDescriptor");
  check(functions().conv_set_groups(raw, narrow(key.groups)), "cudnnSetConvolutionGroupCount");
  return desc;
}

ActivationDesc identity() {
  cudnnActivationDescriptor_t raw{};
  check(functions().activation_create(&raw), "cudnnCreateActivationDescriptor");
  ActivationDesc desc(raw, functions().activation_destroy);
  check(functions().activation_set(raw, CUDNN_ACTIVATION_IDENTITY, CUDNN_PROPAGATE_NAN, 0.0),
        "cudnnSetActivationDescriptor");
  return desc;
}

cudnnTensorFormat_t format_of(const ConvKey& key) {
  return key.format == MemoryFormat::channels_last ? CUDNN_TENSOR_NHWC : CUDNN_TENSOR_NCHW;
}

}  // namespace

const Functions& functions() {
  static const Functions table = load();
  return table;
}

std::string last_error() {
  char text[1024] = "";
  functions().last_error_string(text, sizeof text);
  return text;
}

void check(cudnnStatus_t status, const char* function) {
  if (status == CUDNN_STATUS_SUCCESS) return;
  const std::string detail = last_error();
  library_failed(kTitle, function, functions().error_string(status) + (detail.empty() ? "" : ": " + detail));
}

Descriptors::Descriptors(const ConvKey& key)
    : x(tensor(format_of(key), type_of(key.dtype), key.x)),
      y(tensor(format_of(key), type_of(key.dtype), key.y)),
      bias(tensor(format_of(key), type_of(key.dtype), {1, key.w[0], 1, 1})),
      w(filter(format_of(key), type_of(key.dtype), key.w)),
      conv(convolution(key)),
      identity(cudnn::identity()) {}

}  // namespace minnow::cuda::cudnn
