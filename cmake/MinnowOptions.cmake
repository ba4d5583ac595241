# Options, and settings of every target. Nothing here sets a variable of a project that adds this folder.

set(MINNOW_CUDA AUTO CACHE STRING "Build the CUDA backend: AUTO (where nvcc is found), ON or OFF")
set_property(CACHE MINNOW_CUDA PROPERTY STRINGS AUTO ON OFF)
set(MINNOW_CUDA_OFF_BECAUSE "MINNOW_CUDA=OFF was set when it was configured"
    CACHE STRING "What programs say of a build with MINNOW_CUDA=OFF")
mark_as_advanced(MINNOW_CUDA_OFF_BECAUSE)
set(MINNOW_CUDA_ARCHITECTURES AUTO
    CACHE STRING "Architectures of the CUDA backend; AUTO: those of 8.0, 9.0, 10.0 and 12.0 that nvcc knows, and PTX for others")
# In a project that adds this folder only if it asks for it: the search sets cache variables of the whole build.
set(minnow_mpi OFF)
if(PROJECT_IS_TOP_LEVEL)
  set(minnow_mpi AUTO)
endif()
set(MINNOW_MPI ${minnow_mpi} CACHE STRING "Build minnow::distributed: AUTO (where MPI is found), ON or OFF")
set_property(CACHE MINNOW_MPI PROPERTY STRINGS AUTO ON OFF)
set(MINNOW_INSTRUCTIONS ALL
    CACHE STRING "Loops of the CPU for ALL processors of x86-64, this machine's (NATIVE), or those with AVX2 or AVX512 alone")
set_property(CACHE MINNOW_INSTRUCTIONS PROPERTY STRINGS ALL NATIVE AVX2 AVX512)
set(minnow_onednn ON)
if(NOT CMAKE_SYSTEM_PROCESSOR MATCHES "^(x86_64|AMD64|amd64)$") # elsewhere Debian's has plain loops
  set(minnow_onednn OFF)
endif()
option(MINNOW_ONEDNN "Products and convolutions on CPUs by oneDNN; without it, by loops of our own" ${minnow_onednn})
option(MINNOW_OPENMP "Threads that heed the program's OpenMP settings; oneDNN needs it" ON)
set(MINNOW_SANITIZE "" CACHE STRING "Sanitizers of our targets, as for -fsanitize=, e.g. address,undefined")
option(MINNOW_CUDA_EMULATOR "Run the tests also with the CUDA backend on an emulated GPU; needs CUDA's headers" OFF)
mark_as_advanced(MINNOW_CUDA_EMULATOR)
option(MINNOW_FUZZ "Build programs that try random files on the readers (tests/fuzz); needs clang" OFF)
mark_as_advanced(MINNOW_FUZZ)
option(MINNOW_WERROR "Warnings are errors" OFF)
# Most of the time goes into the headers and templates that they share.
set(MINNOW_LIBRARY_BATCH 6 CACHE STRING "How many sources of a folder of the library are compiled as one; 1: each by itself")
option(MINNOW_PRECOMPILE "Precompile the headers that most of our sources include" ON)
option(MINNOW_BUILD_TESTS "Build the tests" ${PROJECT_IS_TOP_LEVEL})
option(MINNOW_BUILD_TOOLS "Build the programs for users: minnow-inspect" ${PROJECT_IS_TOP_LEVEL})
option(MINNOW_BUILD_EXAMPLES "Build the examples" ${PROJECT_IS_TOP_LEVEL})
option(MINNOW_BUILD_BENCHMARKS "Build the benchmarks" ${PROJECT_IS_TOP_LEVEL})
option(MINNOW_PYTHON "Build the Python module; needs nanobind, and minnow::onnx, minnow::text and minnow::llm" OFF)
option(MINNOW_INSTALL "Install the library, its headers and its CMake package" ${PROJECT_IS_TOP_LEVEL})

if(PROJECT_IS_TOP_LEVEL)
  get_property(minnow_multi_config GLOBAL PROPERTY GENERATOR_IS_MULTI_CONFIG)
  if(NOT CMAKE_BUILD_TYPE AND NOT minnow_multi_config)
    set(CMAKE_BUILD_TYPE Release CACHE STRING "Build type" FORCE)
  endif()
  set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
endif()

# Language level, warnings and sanitizers of a target.
function(minnow_set_up target)
  set_target_properties(${target} PROPERTIES CXX_EXTENSIONS OFF POSITION_INDEPENDENT_CODE ON)
  target_compile_features(${target} PRIVATE cxx_std_20)
  target_compile_options(${target} PRIVATE "$<$<COMPILE_LANGUAGE:CXX>:-Wall;-Wextra;-Wpedantic;-Wconversion;-Wshadow>")
  # Random numbers and others that promise the same bits everywhere rely on it; g++ joins products and sums by default.
  target_compile_options(${target} PRIVATE "$<$<COMPILE_LANGUAGE:CXX>:-ffp-contract=off>")
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
    # g++ 12 warns of "text" + std::string in its own headers (GCC bug 105651).
    target_compile_options(${target} PRIVATE "$<$<COMPILE_LANGUAGE:CXX>:-Wno-restrict>")
  endif()
  if(MINNOW_WERROR)
    target_compile_options(${target} PRIVATE "$<$<COMPILE_LANGUAGE:CXX>:-Werror>")
  endif()
  if(MINNOW_SANITIZE)
    target_compile_options(${target} PRIVATE -fsanitize=${MINNOW_SANITIZE} -fno-sanitize-recover=all
                                             -fno-omit-frame-pointer)
    target_link_options(${target} PUBLIC -fsanitize=${MINNOW_SANITIZE})
  endif()
endfunction()

# A program that is linked with --gc-sections then has what it calls alone.
set(minnow_sections -ffunction-sections -fdata-sections)

# minnow_precompile(TARGET OWNER HEADER...): the sources of TARGET start with these headers, of which most of them include
# some. They are compiled once, with OWNER's compile options, which must be those of TARGET.
set(minnow_standard_headers
    <algorithm> <array> <atomic> <chrono> <cmath> <cstring> <functional> <limits> <map> <memory> <mutex> <numeric> <optional>
    <span> <sstream> <string> <unordered_map> <unordered_set> <utility> <vector>)
set(CMAKE_PCH_PROLOGUE "// No pragma makes system headers of these: compilers shall warn of ours.")
function(minnow_precompile target owner)
  if(NOT MINNOW_PRECOMPILE)
    return()
  endif()
  # For a compiler cache, whose copy may be older than the headers: clang compares contents, not times.
  target_compile_options(${target} PRIVATE "$<$<CXX_COMPILER_ID:Clang>:SHELL:-Xclang -fno-pch-timestamp>")
  if(target STREQUAL owner)
    target_precompile_headers(${target} PRIVATE ${ARGN})
  else()
    target_precompile_headers(${target} REUSE_FROM ${owner})
  endif()
endfunction()

# minnow_join(TARGET SOURCE...): compiles as many sources of a folder as one as MINNOW_LIBRARY_BATCH says, but not those that
# use a name for different things, or stand on another floor than their folder (tests/check_floors.py).
set(minnow_sources_apart
    autograd/gradient_sum autograd/tensor_grad tensor/create tensor/device tensor/dtype tensor/error tensor/shape tensor/text
    tensor/runtime/call_site tensor/runtime/calling_thread tensor/runtime/captured_step tensor/runtime/memory
    tensor/profile/module_table tensor/profile/observers tensor/runtime/stream tensor/runtime/system_windows tensor/io/file_windows
    tensor/profile/trace tensor/profile/tracer data/synthetic_digits distributed/sharded onnx/kernels_.+ onnx/onnx_load onnx/onnx_save
    onnx/rules_.+ nn/module/clone nn/module/quantize nn/module/summary
    ops/products/attention
    ops/convolution/conv ops/convolution/pool_adaptive ops/convolution/pool_forms ops/reductions/reduce optim/muon
    optim/optimizer_state tensor/cpu/.+ tensor/io/detail/pickle tensor/io/save tensor/raw/reduce)
if(MINNOW_FUZZ)  # which replaces objects of the library
  list(APPEND minnow_sources_apart data/.* tensorboard/.* text/.* vision/.* tensor/io/.*)
endif()
list(JOIN minnow_sources_apart "|" minnow_sources_apart)
function(minnow_join target)
  if(MINNOW_LIBRARY_BATCH LESS_EQUAL 1)
    return()
  endif()
  foreach(source IN LISTS ARGN)
    if(source MATCHES "/(${minnow_sources_apart})\\.cpp$")
      continue()
    endif()
    cmake_path(GET source PARENT_PATH folder)
    file(RELATIVE_PATH name "${minnow_SOURCE_DIR}" "${folder}")
    string(REPLACE "/" "_" name "${name}")
    list(APPEND of_${name} "${source}")
    list(LENGTH of_${name} count)
    math(EXPR batch "(${count} - 1) / ${MINNOW_LIBRARY_BATCH}")
    set_source_files_properties("${source}" PROPERTIES UNITY_GROUP "${name}_${batch}")
  endforeach()
  set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP)
  # g++ takes sources that are included for headers, which would need their unnamed namespaces elsewhere too.
  target_compile_options(${target} PRIVATE $<$<CXX_COMPILER_ID:GNU>:-Wno-subobject-linkage>)
endfunction()
