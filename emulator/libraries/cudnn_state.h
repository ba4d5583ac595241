#pragma once

#include <cuda_runtime_api.h>
#include <cudnn.h>
#include <string>

#include "convolution.h"

// The structs that cuDNN's header only declares.

struct cudnnContext {
  int device = 0;
  cudaStream_t stream = nullptr;
};
struct cudnnTensorStruct {
  emulator::Block4 block;
};
struct cudnnFilterStruct {
  emulator::Block4 block;
};
struct cudnnConvolutionStruct {
  emulator::Movement movement;
};
struct cudnnActivationStruct {
  cudnnActivationMode_t mode = CUDNN_ACTIVATION_IDENTITY;
};

namespace emulator {

/// The status, with a text for cudnnGetLastErrorString.
cudnnStatus_t refuse(cudnnStatus_t status, const char* why);

}  // namespace emulator
