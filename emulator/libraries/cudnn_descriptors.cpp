// cuDNN's descriptors and their checks.

#include "cudnn_state.h"

#include <algorithm>
#include <cstdio>
#include <memory>

using namespace emulator;

namespace {

thread_local std::string last_refusal;

bool known(cudnnDataType_t type) {
  return type == CUDNN_DATA_FLOAT || type == CUDNN_DATA_DOUBLE || type == CUDNN_DATA_HALF ||
         type == CUDNN_DATA_BFLOAT16;
}

cudnnStatus_t set_block(Block4& block, cudnnTensorFormat_t format, cudnnDataType_t type, int a, int b, int c, int d) {
  if (a <= 0 || b <= 0 || c <= 0 || d <= 0) return refuse(CUDNN_STATUS_BAD_PARAM, "a dimension is not positive");
  if (!known(type)) return refuse(CUDNN_STATUS_NOT_SUPPORTED, "a type that the emulated cuDNN does not have");
  if (format != CUDNN_TENSOR_NCHW && format != CUDNN_TENSOR_NHWC) return refuse(CUDNN_STATUS_BAD_PARAM, "the format");
  block = {type, format, {a, b, c, d}, {}};
  block.pack();
  return CUDNN_STATUS_SUCCESS;
}

}  // namespace

namespace emulator {

cudnnStatus_t refuse(cudnnStatus_t status, const char* why) {
  last_refusal = why;
  return status;
}

}  // namespace emulator

extern "C" {

cudnnStatus_t cudnnCreate(cudnnHandle_t* handle) {
  auto context = std::make_unique<cudnnContext>();
  if (cudaGetDevice(&context->device) != cudaSuccess) return refuse(CUDNN_STATUS_NOT_INITIALIZED, "no device");
  // Handles need memory on the device, so making one fails without it.
  void* memory = nullptr;
  if (cudaMalloc(&memory, 256) != cudaSuccess || cudaFree(memory) != cudaSuccess)
    return refuse(CUDNN_STATUS_INTERNAL_ERROR_DEVICE_ALLOCATION_FAILED, "the handle's memory");
  *handle = context.release();
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnDestroy(cudnnHandle_t handle) {
  delete handle;
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnSetStream(cudnnHandle_t handle, cudaStream_t stream) {
  int device = -1;
  if (stream && (cudaStreamGetDevice(stream, &device) != cudaSuccess || device != handle->device))
    return refuse(CUDNN_STATUS_BAD_PARAM_STREAM_MISMATCH, "a stream of another device, or none");
  handle->stream = stream;
  return CUDNN_STATUS_SUCCESS;
}

std::size_t cudnnGetVersion() { return CUDNN_VERSION; }

const char* cudnnGetErrorString(cudnnStatus_t status) {
  switch (status) {
    case CUDNN_STATUS_SUCCESS: return "CUDNN_STATUS_SUCCESS";
    case CUDNN_STATUS_NOT_INITIALIZED: return "CUDNN_STATUS_NOT_INITIALIZED";
    case CUDNN_STATUS_BAD_PARAM: return "CUDNN_STATUS_BAD_PARAM";
    case CUDNN_STATUS_NOT_SUPPORTED: return "CUDNN_STATUS_NOT_SUPPORTED";
    case CUDNN_STATUS_EXECUTION_FAILED: return "CUDNN_STATUS_EXECUTION_FAILED";
    default: return "CUDNN_STATUS of another kind";
  }
}

void cudnnGetLastErrorString(char* message, std::size_t bytes) {
  if (bytes) std::snprintf(message, bytes, "%s", last_refusal.c_str());
}

cudnnStatus_t cudnnCreateTensorDescriptor(cudnnTensorDescriptor_t* made) {
  *made = new cudnnTensorStruct;
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnDestroyTensorDescriptor(cudnnTensorDescriptor_t descriptor) {
  delete descriptor;
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnSetTensor4dDescriptor(cudnnTensorDescriptor_t descriptor, cudnnTensorFormat_t format,
                                         cudnnDataType_t type, int n, int c, int h, int w) {
  return set_block(descriptor->block, format, type, n, c, h, w);
}
cudnnStatus_t cudnnSetTensor4dDescriptorEx(cudnnTensorDescriptor_t descriptor, cudnnDataType_t type, int n, int c,
                                           int h, int w, int n_stride, int c_stride, int h_stride, int w_stride) {
  const cudnnStatus_t status = set_block(descriptor->block, CUDNN_TENSOR_NCHW, type, n, c, h, w);
  const int strides[4] = {n_stride, c_stride, h_stride, w_stride};
  std::copy(strides, strides + 4, descriptor->block.stride);
  return status;
}

cudnnStatus_t cudnnCreateFilterDescriptor(cudnnFilterDescriptor_t* made) {
  *made = new cudnnFilterStruct;
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnDestroyFilterDescriptor(cudnnFilterDescriptor_t descriptor) {
  delete descriptor;
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnSetFilter4dDescriptor(cudnnFilterDescriptor_t descriptor, cudnnDataType_t type,
                                         cudnnTensorFormat_t format, int k, int c, int h, int w) {
  return set_block(descriptor->block, format, type, k, c, h, w);
}

cudnnStatus_t cudnnCreateConvolutionDescriptor(cudnnConvolutionDescriptor_t* made) {
  *made = new cudnnConvolutionStruct;
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnDestroyConvolutionDescriptor(cudnnConvolutionDescriptor_t descriptor) {
  delete descriptor;
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnSetConvolution2dDescriptor(cudnnConvolutionDescriptor_t descriptor, int pad_h, int pad_w, int u,
                                              int v, int dilation_h, int dilation_w, cudnnConvolutionMode_t mode,
                                              cudnnDataType_t compute) {
  if (pad_h < 0 || pad_w < 0 || u <= 0 || v <= 0 || dilation_h <= 0 || dilation_w <= 0)
    return refuse(CUDNN_STATUS_BAD_PARAM, "padding, stride or dilation");
  Movement& m = descriptor->movement;
  m = {{pad_h, pad_w}, {u, v}, {dilation_h, dilation_w}, m.groups, mode, compute, m.math};
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnSetConvolutionGroupCount(cudnnConvolutionDescriptor_t descriptor, int groups) {
  if (groups <= 0) return refuse(CUDNN_STATUS_BAD_PARAM, "the number of groups");
  descriptor->movement.groups = groups;
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnSetConvolutionMathType(cudnnConvolutionDescriptor_t descriptor, cudnnMathType_t math) {
  descriptor->movement.math = math;
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnCreateActivationDescriptor(cudnnActivationDescriptor_t* made) {
  *made = new cudnnActivationStruct;
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnDestroyActivationDescriptor(cudnnActivationDescriptor_t descriptor) {
  delete descriptor;
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnSetActivationDescriptor(cudnnActivationDescriptor_t descriptor, cudnnActivationMode_t mode,
                                           cudnnNanPropagation_t, double) {
  descriptor->mode = mode;
  return CUDNN_STATUS_SUCCESS;
}

}  // extern "C"
