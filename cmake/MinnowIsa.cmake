# The kernels in tensor/cpu/isa, compiled once for each instruction set. MINNOW_ISA names the namespace of the variant;
# tensor/cpu/runtime/isa.cpp chooses one at run time (MINNOW_ISA_X86: there is more than one).

set(minnow_isa_variants baseline)
set(minnow_isa_x86 0)
if(CMAKE_SYSTEM_PROCESSOR MATCHES "^(x86_64|AMD64|amd64)$" AND CMAKE_SIZEOF_VOID_P EQUAL 8)
  list(APPEND minnow_isa_variants avx2 avx512)
  set(minnow_isa_x86 1)
endif()
set(minnow_isa_flags_baseline)
set(minnow_isa_flags_avx2 -mavx2 -mfma -mf16c)
set(minnow_isa_flags_avx512 -mavx512f -mavx512bw -mavx512dq -mavx512vl -mfma -mf16c -mprefer-vector-width=512)

set_source_files_properties("${minnow_SOURCE_DIR}/tensor/cpu/runtime/isa.cpp" PROPERTIES COMPILE_DEFINITIONS
                            MINNOW_ISA_X86=${minnow_isa_x86})
# Random numbers have the same bits everywhere.
set_source_files_properties("${minnow_SOURCE_DIR}/tensor/cpu/isa/random.cpp" PROPERTIES COMPILE_OPTIONS -ffp-contract=off)
# Loops over elements are as fast with fewer copies of their bodies (-O3 unrolls remainders), and a third smaller.
set(minnow_isa_small $<$<NOT:$<CONFIG:Debug>>:-O2> $<$<CXX_COMPILER_ID:GNU>:-fvect-cost-model=dynamic>)
foreach(source unary slope binary convert)
  set_source_files_properties("${minnow_SOURCE_DIR}/tensor/cpu/isa/${source}.cpp" PROPERTIES COMPILE_OPTIONS "${minnow_isa_small}")
endforeach()
if(minnow_isa_x86)  # few processors still run the baseline
  set(minnow_isa_flags_baseline ${minnow_isa_small})
endif()
file(GLOB minnow_isa_sources CONFIGURE_DEPENDS "${minnow_SOURCE_DIR}/tensor/cpu/isa/*.cpp")
if(NOT MINNOW_ONEDNN)
  file(GLOB minnow_isa_own CONFIGURE_DEPENDS "${minnow_SOURCE_DIR}/tensor/cpu/isa/own/*.cpp")
  list(APPEND minnow_isa_sources ${minnow_isa_own})
endif()
# Products and sums may be joined, but not between a sanitizer's checks: clang would join some of them, and the bits would
# depend on how work is divided.
set(minnow_isa_contract fast)
if(MINNOW_SANITIZE)
  set(minnow_isa_contract off)
endif()
if(minnow_isa_sources)
  foreach(variant IN LISTS minnow_isa_variants)
    add_library(minnow_isa_${variant} OBJECT ${minnow_isa_sources})
    minnow_set_up(minnow_isa_${variant})
    target_include_directories(minnow_isa_${variant} PRIVATE "${minnow_include_dir}")
    target_compile_definitions(minnow_isa_${variant} PRIVATE MINNOW_ISA=${variant} MINNOW_ISA_X86=${minnow_isa_x86}
                               $<$<STREQUAL:${variant},baseline>:MINNOW_ISA_ONCE>)
    # Never -ffast-math: NaN, infinities and the order of sums keep their meaning.
    target_compile_options(minnow_isa_${variant} PRIVATE "$<$<NOT:$<CONFIG:Debug>>:-O3>" -fno-trapping-math
                                                         -fno-math-errno -ffp-contract=${minnow_isa_contract}
                                                         ${minnow_isa_flags_${variant}})
    # clang does not know `GCC ivdep`, and checks at run time for what it promises.
    target_compile_options(minnow_isa_${variant} PRIVATE "$<$<CXX_COMPILER_ID:Clang>:-Wno-unknown-pragmas>")
    target_link_libraries(minnow_isa_${variant} PRIVATE OpenMP::OpenMP_CXX)
    list(APPEND minnow_objects_tensor $<TARGET_OBJECTS:minnow_isa_${variant}>)
  endforeach()
endif()
