# Sets minnow_with_cuda, from MINNOW_CUDA, the compiler and the headers that are found; where it is off, minnow_why_no_cuda
# says why, and so do programs (cuda::why_not).

include(MinnowCudaSearch)
file(GLOB_RECURSE minnow_cuda_sources CONFIGURE_DEPENDS "${minnow_SOURCE_DIR}/tensor/cuda/*.cu"
     "${minnow_SOURCE_DIR}/tensor/cuda/*.cpp")
list(FILTER minnow_cuda_sources EXCLUDE REGEX "/tensor/cuda/memory/")
set(minnow_with_cuda OFF)
set(minnow_why_no_cuda "")
# Binary code for every generation, and PTX for newer GPUs.
set(minnow_cuda_architectures 80-real 90-real 100-real 120-real 90-virtual)

if(NOT MINNOW_CUDA MATCHES "^(AUTO|ON|OFF)$")
  message(FATAL_ERROR "MINNOW_CUDA is '${MINNOW_CUDA}'; it may be AUTO, ON or OFF")
elseif(MINNOW_CUDA STREQUAL "OFF")
  set(minnow_why_no_cuda "${MINNOW_CUDA_OFF_BECAUSE}")
else()
  minnow_python_folders(python)
  set(nvcc_of_python ${python})
  list(TRANSFORM nvcc_of_python APPEND "/bin")
  find_program(MINNOW_NVCC nvcc HINTS "$ENV{CUDA_PATH}/bin" PATHS /usr/local/cuda/bin ${nvcc_of_python})
  mark_as_advanced(MINNOW_NVCC)
  if(NOT CMAKE_CUDA_COMPILER)
    unset(CMAKE_CUDA_COMPILER CACHE)  # an earlier search without success
    if(MINNOW_NVCC AND NOT DEFINED ENV{CUDACXX})
      set(ENV{CUDACXX} "${MINNOW_NVCC}")
    endif()
    if(DEFINED ENV{CUDACXX})
      include(CheckLanguage)
      check_language(CUDA)
    endif()
  endif()
  if(CMAKE_CUDA_COMPILER)
    if(NOT MINNOW_CUDA_ARCHITECTURES STREQUAL "AUTO")
      set(minnow_cuda_architectures ${MINNOW_CUDA_ARCHITECTURES})
    else()
      minnow_known_architectures(minnow_cuda_architectures "${CMAKE_CUDA_COMPILER}" ${minnow_cuda_architectures})
    endif()
    set(CMAKE_CUDA_ARCHITECTURES ${minnow_cuda_architectures})
    enable_language(CUDA)
    find_package(CUDAToolkit QUIET GLOBAL)
    if(CMAKE_CUDA_COMPILER_VERSION VERSION_LESS 12)
      set(minnow_why_no_cuda "nvcc ${CMAKE_CUDA_COMPILER_VERSION} does not know C++20: install version 13 of the toolkit")
    elseif(NOT CUDAToolkit_FOUND OR NOT TARGET CUDA::cudart_static)
      set(minnow_why_no_cuda "CUDA's runtime library was not found beside ${CMAKE_CUDA_COMPILER} (libcudart_static.a)")
    else()
      minnow_find_cuda_headers(minnow_why_no_cuda "${CUDAToolkit_INCLUDE_DIRS}" "${python}")
      minnow_find_cuda_libraries(minnow_cuda_folders "${python}" "${CUDAToolkit_LIBRARY_DIR}")
    endif()
  elseif(DEFINED ENV{CUDACXX})
    set(minnow_why_no_cuda "$ENV{CUDACXX} cannot build a program here (cmake -DCMAKE_CUDA_COMPILER=$ENV{CUDACXX} shows its \
errors, CMAKE_CUDA_HOST_COMPILER names another C++ compiler for it)")
  else()
    set(minnow_why_no_cuda "nvcc was not found (install version 13 of the CUDA toolkit, or set CMAKE_CUDA_COMPILER to \
nvcc's path)")
  endif()
  if(NOT minnow_why_no_cuda)
    set(minnow_with_cuda ON)
  elseif(MINNOW_CUDA STREQUAL "ON")
    message(FATAL_ERROR "MINNOW_CUDA=ON, but ${minnow_why_no_cuda}")
  elseif(CMAKE_CUDA_COMPILER)
    message(WARNING "building without CUDA: ${minnow_why_no_cuda}")
  else()
    message(STATUS "building without CUDA: ${minnow_why_no_cuda}")
  endif()
endif()
set(MINNOW_WHY_NO_CUDA "${minnow_why_no_cuda}" CACHE INTERNAL "Read by ./run")

# minnow_describe_cuda(TARGET ARCHITECTURES FOLDERS): tells the backend what it was built for, and where libraries may be.
function(minnow_describe_cuda target architectures folders)
  string(REPLACE ";" " " architectures "${architectures}")
  string(REPLACE ";" ":" folders "${folders}")
  target_compile_definitions(
    ${target} PRIVATE "$<$<COMPILE_LANGUAGE:CXX>:MINNOW_CUDA_ARCHITECTURES=\"${architectures}\">"
                      "$<$<COMPILE_LANGUAGE:CXX>:MINNOW_CUDA_FOLDERS=\"${folders}\">")
endfunction()

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
  set_target_properties(${target} PROPERTIES CUDA_ARCHITECTURES "${minnow_cuda_architectures}")
  minnow_describe_cuda(${target} "${minnow_cuda_architectures}" "${minnow_cuda_folders}")
  target_include_directories(${target} SYSTEM PRIVATE "${MINNOW_CUDNN_INCLUDE_DIR}" "${MINNOW_CUBLASLT_INCLUDE_DIR}")
  # cuBLASLt and cuDNN are loaded when the first operation needs them.
  target_link_libraries(${target} PRIVATE CUDA::cudart_static ${CMAKE_DL_LIBS})
endfunction()
