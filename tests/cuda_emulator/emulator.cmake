# The CUDA backend compiled as ordinary C++ against CUDA's headers and the runtime beside this file.

find_path(MINNOW_CUDA_INCLUDE_DIR cuda_runtime_api.h HINTS "$ENV{CUDA_PATH}/include" /usr/local/cuda/include REQUIRED)
mark_as_advanced(MINNOW_CUDA_INCLUDE_DIR)

function(minnow_emulate_cuda target)
  set(here "${minnow_SOURCE_DIR}/tests/cuda_emulator")
  add_subdirectory("${here}" "${minnow_BINARY_DIR}/tests/cuda_emulator_runtime")
  target_sources(${target} PRIVATE ${minnow_cuda_sources})
  # Before the build's own include folder: one of the backend's headers is replaced.
  target_include_directories(${target} BEFORE PRIVATE "${here}/include")
  set(kernels ${minnow_cuda_sources})
  list(FILTER kernels INCLUDE REGEX "\\.cu$")
  set_source_files_properties(
    ${kernels} PROPERTIES LANGUAGE CXX COMPILE_OPTIONS
    "-x;c++;-Wno-unknown-pragmas;-D__shared__=static;-D__launch_bounds__(...)=;-include;${here}/include/emulator/device.h")
  add_dependencies(${target} minnow_emulated_cublasLt minnow_emulated_cudnn)
  target_link_libraries(${target} PRIVATE minnow_cuda_emulator ${CMAKE_DL_LIBS})
endfunction()
