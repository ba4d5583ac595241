# minnow::distributed, a library of its own: only programs of several processes link MPI.  minnow_with_mpi says whether it is
# built.

set(minnow_with_mpi OFF)
if(NOT MINNOW_MPI MATCHES "^(AUTO|ON|OFF)$")
  message(FATAL_ERROR "MINNOW_MPI is '${MINNOW_MPI}'; it may be AUTO, ON or OFF")
elseif(NOT MINNOW_MPI STREQUAL "OFF")
  set(MPI_CXX_SKIP_MPICXX ON)  # the C++ binding of MPI 2, which is gone from MPI 3
  find_package(MPI 3.0 QUIET GLOBAL COMPONENTS CXX)
  if(MPI_CXX_FOUND)
    set(minnow_with_mpi ON)
  elseif(MINNOW_MPI STREQUAL "ON")
    message(FATAL_ERROR "MINNOW_MPI=ON, but MPI was not found. On Debian: apt-get install libopenmpi-dev")
  else()
    message(STATUS "building without minnow::distributed: MPI was not found")
  endif()
endif()

if(minnow_with_mpi)
  file(GLOB_RECURSE minnow_distributed_sources CONFIGURE_DEPENDS "${minnow_SOURCE_DIR}/distributed/*.cpp")
  add_library(minnow_distributed_objects OBJECT ${minnow_distributed_sources})
  minnow_set_up(minnow_distributed_objects)
  target_compile_options(minnow_distributed_objects PRIVATE ${minnow_sections})
  minnow_join(minnow_distributed_objects ${minnow_distributed_sources})
  minnow_precompile(minnow_distributed_objects minnow_tensor)
  target_include_directories(minnow_distributed_objects PRIVATE "${minnow_include_dir}")
  string(REPLACE ";" ":" folders "${minnow_cuda_folders}")
  target_compile_definitions(minnow_distributed_objects PRIVATE "MINNOW_NCCL_FOLDERS=\"${folders}\"")
  target_link_libraries(minnow_distributed_objects PRIVATE MPI::MPI_CXX ${minnow_openmp} Threads::Threads fmt::fmt)
  # NCCL is loaded when the first collective of tensors on a GPU needs it.
  minnow_wing_library(distributed MPI::MPI_CXX Threads::Threads ${CMAKE_DL_LIBS})
endif()
