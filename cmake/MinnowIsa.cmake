# The kernels in tensor/cpu/isa, compiled once for each instruction set. MINNOW_ISA names the namespace of the variant;
# tensor/cpu/runtime/isa.cpp chooses one at run time, of those whose MINNOW_ISA_NAME is 1.

set(minnow_isa_variants baseline)
set(minnow_isa_x86 OFF)
if(CMAKE_SYSTEM_PROCESSOR MATCHES "^(x86_64|AMD64|amd64)$" AND CMAKE_SIZEOF_VOID_P EQUAL 8)
  list(APPEND minnow_isa_variants avx2 avx512)
  set(minnow_isa_x86 ON)
endif()
if(NOT MINNOW_INSTRUCTIONS MATCHES "^(ALL|NATIVE|AVX2|AVX512)$")
  message(FATAL_ERROR "MINNOW_INSTRUCTIONS=${MINNOW_INSTRUCTIONS}: it is ALL, NATIVE, AVX2 or AVX512 (with AVX2's loops)")
endif()
set(minnow_isa_chosen "${MINNOW_INSTRUCTIONS}")
if(NOT minnow_isa_x86)
  set(minnow_isa_chosen ALL)
elseif(MINNOW_INSTRUCTIONS STREQUAL "NATIVE")
  include(CheckCXXSourceRuns)
  # What isa.cpp asks for.
  check_cxx_source_runs("int main() { return __builtin_cpu_supports(\"avx2\") && __builtin_cpu_supports(\"fma\") ? 0 : 1; }"
                        MINNOW_HAS_AVX2)
  check_cxx_source_runs("int main() { return __builtin_cpu_supports(\"avx512f\") && __builtin_cpu_supports(\"avx512bw\") &&
    __builtin_cpu_supports(\"avx512dq\") && __builtin_cpu_supports(\"avx512vl\") ? 0 : 1; }" MINNOW_HAS_AVX512)
  if(MINNOW_HAS_AVX2 AND MINNOW_HAS_AVX512)
    set(minnow_isa_chosen AVX512)
  elseif(MINNOW_HAS_AVX2)
    set(minnow_isa_chosen AVX2)
  endif()
endif()
if(minnow_isa_chosen STREQUAL "AVX2")
  set(minnow_isa_variants avx2)
elseif(minnow_isa_chosen STREQUAL "AVX512")  # replaces a part of AVX2's loops
  set(minnow_isa_variants avx2 avx512)
endif()
list(GET minnow_isa_variants 0 minnow_isa_lowest)
set(minnow_isa_definitions "")
foreach(variant baseline avx2 avx512)
  string(TOUPPER ${variant} name)
  set(there 0)
  if(variant IN_LIST minnow_isa_variants)
    set(there 1)
  endif()
  list(APPEND minnow_isa_definitions MINNOW_ISA_${name}=${there})
endforeach()
# A user's -march=native holds for the rest of the library only.  (zig has another name for x86-64.)
set(minnow_isa_least "")
if(minnow_isa_x86)
  include(CheckCXXCompilerFlag)
  check_cxx_compiler_flag(-march=x86-64 MINNOW_HAS_MARCH)
  if(MINNOW_HAS_MARCH)
    set(minnow_isa_least -march=x86-64)
  endif()
endif()
set(minnow_isa_flags_avx2 ${minnow_isa_least} -mavx2 -mfma -mf16c)
set(minnow_isa_flags_avx512 ${minnow_isa_least} -mavx512f -mavx512bw -mavx512dq -mavx512vl -mfma -mf16c -mprefer-vector-width=512)

set_source_files_properties("${minnow_SOURCE_DIR}/tensor/cpu/runtime/isa.cpp" PROPERTIES COMPILE_DEFINITIONS
                            "${minnow_isa_definitions}")
# Random numbers have the same bits everywhere.
set_source_files_properties("${minnow_SOURCE_DIR}/tensor/cpu/isa/random.cpp" PROPERTIES COMPILE_OPTIONS -ffp-contract=off)
# Loops over elements are as fast with fewer copies of their bodies (-O3 unrolls remainders), and a third smaller.
# The others are not: without -O3 dropout takes 3 times as long, softmax of channels twice, grid_sample 1.4 times.
set(minnow_isa_small $<$<NOT:$<CONFIG:Debug>>:-O2> $<$<CXX_COMPILER_ID:GNU>:-fvect-cost-model=dynamic>)
foreach(source unary slope binary convert)
  set_source_files_properties("${minnow_SOURCE_DIR}/tensor/cpu/isa/${source}.cpp" PROPERTIES COMPILE_OPTIONS "${minnow_isa_small}")
endforeach()
if(minnow_isa_x86)  # few processors still run the baseline
  set(minnow_isa_flags_baseline ${minnow_isa_least} ${minnow_isa_small})
endif()
if(CMAKE_SYSTEM_PROCESSOR MATCHES "^(aarch64|arm64)$" AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # g++ would load all rows of a tile first, and keep three of its 24 sums in memory for that.
  set_source_files_properties("${minnow_SOURCE_DIR}/tensor/cpu/isa/gemm.cpp" "${minnow_SOURCE_DIR}/tensor/cpu/isa/own/conv.cpp"
                              PROPERTIES COMPILE_OPTIONS -fno-schedule-insns)
endif()
file(GLOB minnow_isa_sources CONFIGURE_DEPENDS "${minnow_SOURCE_DIR}/tensor/cpu/isa/*.cpp")
file(GLOB minnow_isa_own_sources CONFIGURE_DEPENDS "${minnow_SOURCE_DIR}/tensor/cpu/isa/own/*.cpp")
# Products and sums may be joined, but not between a sanitizer's checks: clang would join some of them, and the bits would
# depend on how work is divided.  So they would by clang 16's "fast", which joins other ones in a vector than in the rest behind it;
# "on" joins those of an expression.
set(minnow_isa_contract $<IF:$<CXX_COMPILER_ID:Clang>,on,fast>)
if(MINNOW_SANITIZE)
  set(minnow_isa_contract off)
endif()
# minnow_add_isa(TARGET VARIANT SOURCE...): objects of one instruction set.
function(minnow_add_isa target variant)
  add_library(${target} OBJECT ${ARGN})
  minnow_set_up(${target})
  target_include_directories(${target} PRIVATE "${minnow_include_dir}")
  target_compile_definitions(${target} PRIVATE MINNOW_ISA=${variant} ${minnow_isa_definitions}
                             $<$<STREQUAL:${variant},${minnow_isa_lowest}>:MINNOW_ISA_ONCE>)
  # Never -ffast-math: NaN, infinities and the order of sums keep their meaning.
  target_compile_options(${target} PRIVATE "$<$<NOT:$<CONFIG:Debug>>:-O3>" -fno-trapping-math -fno-math-errno
                                           -ffp-contract=${minnow_isa_contract} ${minnow_isa_flags_${variant}})
  # clang does not know `GCC ivdep`, and checks at run time for what it promises.
  target_compile_options(${target} PRIVATE "$<$<CXX_COMPILER_ID:Clang>:-Wno-unknown-pragmas>")
  target_compile_options(${target} PRIVATE ${minnow_sections})
  # Link-time optimization would take an inline function of one instruction set's for all of them.
  set_target_properties(${target} PROPERTIES INTERPROCEDURAL_OPTIMIZATION OFF)
  target_compile_options(${target} PRIVATE -fno-lto)
  if(WIN32 AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU") # whose stack is aligned to 16 bytes there (GCC bug 54412)
    target_compile_options(${target} PRIVATE -Wa,-muse-unaligned-vector-move)
  endif()
  target_link_libraries(${target} PRIVATE ${minnow_openmp})
  minnow_precompile(${target} minnow_isa_${variant} <minnow/tensor/cpu/isa/row_vectors.h>)
endfunction()
foreach(variant IN LISTS minnow_isa_variants)
  minnow_add_isa(minnow_isa_${variant} ${variant} ${minnow_isa_sources})
  list(APPEND minnow_objects_tensor $<TARGET_OBJECTS:minnow_isa_${variant}>)
endforeach()

# What stands in for oneDNN (tensor/cpu/runtime/library.h).  A build with oneDNN only tests it.
file(GLOB minnow_own_sources CONFIGURE_DEPENDS "${minnow_SOURCE_DIR}/tensor/cpu/own/*.cpp")
add_library(minnow_own OBJECT ${minnow_own_sources})
minnow_set_up(minnow_own)
target_include_directories(minnow_own PRIVATE "${minnow_include_dir}")
target_link_libraries(minnow_own PRIVATE ${minnow_openmp})
set(minnow_objects_own $<TARGET_OBJECTS:minnow_own>)
foreach(variant IN LISTS minnow_isa_variants)
  minnow_add_isa(minnow_own_${variant} ${variant} ${minnow_isa_own_sources})
  list(APPEND minnow_objects_own $<TARGET_OBJECTS:minnow_own_${variant}>)
  if(MINNOW_ONEDNN)
    set_target_properties(minnow_own_${variant} PROPERTIES EXCLUDE_FROM_ALL ON)
  endif()
endforeach()
if(MINNOW_ONEDNN)
  set_target_properties(minnow_own PROPERTIES EXCLUDE_FROM_ALL ON)
else()
  list(APPEND minnow_objects_tensor ${minnow_objects_own})
endif()
