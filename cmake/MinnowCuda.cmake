# Sets minnow_with_cuda, from MINNOW_CUDA, the compiler and the headers that are found.

file(GLOB_RECURSE minnow_cuda_sources CONFIGURE_DEPENDS "${minnow_SOURCE_DIR}/tensor/cuda/*.cu"
     "${minnow_SOURCE_DIR}/tensor/cuda/*.cpp")
list(FILTER minnow_cuda_sources EXCLUDE REGEX "/tensor/cuda/memory/")
set(minnow_with_cuda OFF)
if(NOT MINNOW_CUDA MATCHES "^(AUTO|ON|OFF)$")
  message(FATAL_ERROR "MINNOW_CUDA is '${MINNOW_CUDA}'; it may be AUTO, ON or OFF")
elseif(MINNOW_CUDA STREQUAL "ON" AND NOT minnow_cuda_sources)
  message(FATAL_ERROR "MINNOW_CUDA=ON, but this version of minnow has no CUDA backend (tensor/cuda has no sources); "
                      "configure with MINNOW_CUDA=AUTO or OFF")
elseif(NOT MINNOW_CUDA STREQUAL "OFF" AND minnow_cuda_sources)
  include(CheckLanguage)
  if(NOT CMAKE_CUDA_COMPILER)
    find_program(MINNOW_NVCC nvcc HINTS "$ENV{CUDA_PATH}/bin" /usr/local/cuda/bin)
    mark_as_advanced(MINNOW_NVCC)
    if(MINNOW_NVCC)
      set(CMAKE_CUDA_COMPILER "${MINNOW_NVCC}")
    endif()
  endif()
  check_language(CUDA)
  if(CMAKE_CUDA_COMPILER)
    set(CMAKE_CUDA_ARCHITECTURES ${MINNOW_CUDA_ARCHITECTURES})
    enable_language(CUDA)
    find_package(CUDAToolkit REQUIRED GLOBAL)
    find_path(MINNOW_CUDNN_INCLUDE_DIR cudnn.h HINTS "$ENV{CUDNN_PATH}/include" ${CUDAToolkit_INCLUDE_DIRS})
    mark_as_advanced(MINNOW_CUDNN_INCLUDE_DIR)
    if(MINNOW_CUDNN_INCLUDE_DIR)
      set(minnow_with_cuda ON)
    else()
      set(hint "cudnn.h of cuDNN 9 was not found, which the CUDA backend is built with (the library itself is loaded "
               "when the first convolution needs it). Install its headers (pip install nvidia-cudnn-cu13, or apt "
               "install cudnn9-cuda-13 from NVIDIA's repository) and set MINNOW_CUDNN_INCLUDE_DIR to their folder")
      string(JOIN "" hint ${hint})
      if(MINNOW_CUDA STREQUAL "ON")
        message(FATAL_ERROR "MINNOW_CUDA=ON, but ${hint}")
      endif()
      message(WARNING "building without CUDA: ${hint}")
    endif()
  elseif(MINNOW_CUDA STREQUAL "ON")
    message(FATAL_ERROR "MINNOW_CUDA=ON, but no CUDA compiler was found; set CMAKE_CUDA_COMPILER to nvcc's path")
  endif()
endif()

# Adds the CUDA sources to the library; they replace backend/no_cuda.cpp.
function(minnow_add_cuda target)
  target_sources(${target} PRIVATE ${minnow_cuda_sources})
  # By a flag, since CMake 3.25 does not know the features of newer versions of nvcc.
  target_compile_options(
    ${target} PRIVATE "$<$<COMPILE_LANGUAGE:CUDA>:-std=c++20;--expt-relaxed-constexpr;-Wno-deprecated-gpu-targets>"
                      "$<$<COMPILE_LANGUAGE:CUDA>:-Xcompiler=-Wall,-Wextra,-Wconversion,-Wshadow,-Wno-restrict>")
  if(MINNOW_WERROR)
    target_compile_options(${target} PRIVATE "$<$<COMPILE_LANGUAGE:CUDA>:--Werror=all-warnings;-Xcompiler=-Werror>")
  endif()
  set_target_properties(${target} PROPERTIES CUDA_ARCHITECTURES "${MINNOW_CUDA_ARCHITECTURES}")
  target_include_directories(${target} SYSTEM PRIVATE "${MINNOW_CUDNN_INCLUDE_DIR}")
  # cuBLASLt and cuDNN are loaded when the first operation needs them.
  target_link_libraries(${target} PRIVATE CUDA::cudart_static ${CMAKE_DL_LIBS})
endfunction()
