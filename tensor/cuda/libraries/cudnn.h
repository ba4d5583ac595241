#pragma once

#include <cudnn.h>
#include <mutex>
#include <minnow/tensor/cuda/libraries/conv_layout.h>
#include <minnow/tensor/cuda/runtime/call.h>
#include <minnow/tensor/cuda/runtime/handle.h>
#include <minnow/tensor/internal.h>

namespace minnow::cuda::cudnn {

/// The functions of cuDNN 9 that are used: its convolutions with descriptors and algorithms.
struct Functions {
  decltype(&::cudnnCreate) create;
  decltype(&::cudnnSetStream) set_stream;
  decltype(&::cudnnGetErrorString) error_string;
  decltype(&::cudnnGetLastErrorString) last_error_string;

  decltype(&::cudnnCreateTensorDescriptor) tensor_create;
  decltype(&::cudnnDestroyTensorDescriptor) tensor_destroy;
  decltype(&::cudnnSetTensor4dDescriptor) tensor_set;
  decltype(&::cudnnCreateFilterDescriptor) filter_create;
  decltype(&::cudnnDestroyFilterDescriptor) filter_destroy;
  decltype(&::cudnnSetFilter4dDescriptor) filter_set;
  decltype(&::cudnnCreateConvolutionDescriptor) conv_create;
  decltype(&::cudnnDestroyConvolutionDescriptor) conv_destroy;
  decltype(&::cudnnSetConvolution2dDescriptor) conv_set;
  decltype(&::cudnnSetConvolutionGroupCount) conv_set_groups;
  decltype(&::cudnnSetConvolutionMathType) conv_set_math;
  decltype(&::cudnnCreateActivationDescriptor) activation_create;
  decltype(&::cudnnDestroyActivationDescriptor) activation_destroy;
  decltype(&::cudnnSetActivationDescriptor) activation_set;

  decltype(&::cudnnGetConvolutionForwardAlgorithm_v7) forward_get;
  decltype(&::cudnnFindConvolutionForwardAlgorithmEx) forward_find;
  decltype(&::cudnnGetConvolutionForwardWorkspaceSize) forward_workspace;
  decltype(&::cudnnConvolutionForward) forward;
  decltype(&::cudnnConvolutionBiasActivationForward) forward_bias;

  decltype(&::cudnnGetConvolutionBackwardDataAlgorithm_v7) input_get;
  decltype(&::cudnnFindConvolutionBackwardDataAlgorithmEx) input_find;
  decltype(&::cudnnGetConvolutionBackwardDataWorkspaceSize) input_workspace;
  decltype(&::cudnnConvolutionBackwardData) input;

  decltype(&::cudnnGetConvolutionBackwardFilterAlgorithm_v7) weight_get;
  decltype(&::cudnnFindConvolutionBackwardFilterAlgorithmEx) weight_find;
  decltype(&::cudnnGetConvolutionBackwardFilterWorkspaceSize) weight_workspace;
  decltype(&::cudnnConvolutionBackwardFilter) weight;
};

/// Loads the library at the first call.  BackendError if it cannot be loaded.  Thread-safe.
const Functions& functions();

/// BackendError with the function, cuDNN's message and the open operation, unless the status is success.
void check(cudnnStatus_t status, const char* function);

/// Whether a status means that cuDNN or the device does not support a convolution, as opposed to a failure.  Some
/// functions return BAD_PARAM for what they do not support.
inline bool unsupported(cudnnStatus_t status) {
  const auto category = CUDNN_STATUS_CATEGORY(status);
  return category == CUDNN_STATUS_NOT_SUPPORTED || category == CUDNN_STATUS_BAD_PARAM;
}

/// cuDNN's message about its last error on this thread.
std::string last_error();

using TensorDesc = Handle<cudnnTensorDescriptor_t, cudnnStatus_t>;
using FilterDesc = Handle<cudnnFilterDescriptor_t, cudnnStatus_t>;
using ConvDesc = Handle<cudnnConvolutionDescriptor_t, cudnnStatus_t>;
using ActivationDesc = Handle<cudnnActivationDescriptor_t, cudnnStatus_t>;

/// The descriptors of a convolution; `bias` is [1, O, 1, 1].
struct Descriptors {
  explicit Descriptors(const ConvKey& key);

  TensorDesc x, y, bias;
  FilterDesc w;
  ConvDesc conv;
  ActivationDesc identity;
};

}  // namespace minnow::cuda::cudnn
