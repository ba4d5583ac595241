# What the CUDA backend is built with: where nvcc, headers and libraries are, and which architectures nvcc knows.

# The folders of NVIDIA's packages for python3, as pip makes them: .../nvidia/cudnn, .../nvidia/cu13 and others.
function(minnow_python_folders out)
  find_program(python python3 NO_CACHE)
  set(${out} "" PARENT_SCOPE)
  if(python)
    execute_process(
      COMMAND "${python}" -c "import nvidia, os
for place in nvidia.__path__:
    for name in sorted(os.listdir(place)):
        print(os.path.join(place, name))"
      OUTPUT_VARIABLE found ERROR_QUIET OUTPUT_STRIP_TRAILING_WHITESPACE)
    string(REPLACE "\n" ";" found "${found}")
    set(${out} "${found}" PARENT_SCOPE)
  endif()
endfunction()

# Sets MINNOW_CUDNN_INCLUDE_DIR and MINNOW_CUBLASLT_INCLUDE_DIR: of the toolkit, whose folders are given, of the system, or
# of python3.  The reason, in `why`, if there is none, or a version that is too old.
function(minnow_find_cuda_headers why toolkit python)
  set(python_include ${python})
  list(TRANSFORM python_include APPEND "/include")
  find_path(MINNOW_CUDNN_INCLUDE_DIR cudnn.h HINTS "$ENV{CUDNN_PATH}/include" ${toolkit} PATHS ${python_include})
  find_path(MINNOW_CUBLASLT_INCLUDE_DIR cublasLt.h HINTS ${toolkit} PATHS ${python_include})
  mark_as_advanced(MINNOW_CUDNN_INCLUDE_DIR MINNOW_CUBLASLT_INCLUDE_DIR)
  set(${why} "" PARENT_SCOPE)
  if(NOT MINNOW_CUBLASLT_INCLUDE_DIR)
    set(${why} "cublasLt.h of cuBLAS was not found (pip install nvidia-cublas, or the toolkit's libcublas-dev)" PARENT_SCOPE)
  elseif(NOT MINNOW_CUDNN_INCLUDE_DIR)
    set(${why} "cudnn.h of cuDNN 9 was not found (pip install nvidia-cudnn-cu13, or apt install cudnn9-cuda-13 from \
NVIDIA's repository, or set MINNOW_CUDNN_INCLUDE_DIR to its folder)" PARENT_SCOPE)
  elseif(EXISTS "${MINNOW_CUDNN_INCLUDE_DIR}/cudnn_version.h")
    file(STRINGS "${MINNOW_CUDNN_INCLUDE_DIR}/cudnn_version.h" version REGEX "^#define CUDNN_MAJOR")
    string(REGEX REPLACE "[^0-9]" "" version "${version}")
    if(version AND version LESS 9)
      set(${why} "cudnn.h in ${MINNOW_CUDNN_INCLUDE_DIR} is of cuDNN ${version}, and cuDNN 9 is needed" PARENT_SCOPE)
    endif()
  endif()
endfunction()

# Folders that have libcublasLt, libcudnn or libnccl, among those given and the lib folders beside the headers and of python3.  A
# program looks there when the loader does not know these libraries.
function(minnow_find_cuda_libraries out python)
  set(places ${ARGN})
  foreach(folder IN LISTS MINNOW_CUDNN_INCLUDE_DIR MINNOW_CUBLASLT_INCLUDE_DIR)
    cmake_path(GET folder PARENT_PATH folder)
    list(APPEND places "${folder}/lib64" "${folder}/lib")
  endforeach()
  foreach(folder IN LISTS python)
    list(APPEND places "${folder}/lib")
  endforeach()
  set(found "")
  foreach(place IN LISTS places)
    file(GLOB libraries "${place}/libcublasLt.so.*" "${place}/libcudnn.so.*" "${place}/libcufft.so.*" "${place}/libnccl.so.*")
    if(libraries)
      list(APPEND found "${place}")
    endif()
  endforeach()
  list(REMOVE_DUPLICATES found)
  set(${out} "${found}" PARENT_SCOPE)
endfunction()

# Those of the architectures that this nvcc compiles for.
function(minnow_known_architectures out nvcc)
  execute_process(COMMAND "${nvcc}" --list-gpu-code OUTPUT_VARIABLE known ERROR_QUIET RESULT_VARIABLE status)
  set(${out} "${ARGN}" PARENT_SCOPE)
  if(status EQUAL 0 AND known MATCHES "sm_")
    string(REGEX MATCHALL "sm_[0-9]+" known "${known}")
    set(chosen "")
    foreach(architecture IN LISTS ARGN)
      string(REGEX MATCH "[0-9]+" number "${architecture}")
      if("sm_${number}" IN_LIST known)
        list(APPEND chosen "${architecture}")
      endif()
    endforeach()
    set(${out} "${chosen}" PARENT_SCOPE)
  endif()
endfunction()
