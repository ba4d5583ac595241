# cmake -DMODE=installed|subdirectory -DWORK=dir -DMINNOW_BUILD=dir -DMINNOW_SOURCE=dir ... [-DFULL=1] -P run.cmake
# installed: installs the build into WORK, then builds and runs a project that finds the package there.
# subdirectory: configures a project that adds our folder and compiles its source; with FULL it also links and runs.

function(step what)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE status OUTPUT_VARIABLE output ERROR_VARIABLE output)
  if(NOT status EQUAL 0)
    message(FATAL_ERROR "${what} failed (${status}):\n${output}")
  endif()
  set(output "${output}" PARENT_SCOPE)
endfunction()

file(REMOVE_RECURSE "${WORK}")
file(MAKE_DIRECTORY "${WORK}")
set(configure "${CMAKE_COMMAND}" -S "${CMAKE_CURRENT_LIST_DIR}/${MODE}" -B "${WORK}/build" -G "${GENERATOR}"
              "-DCMAKE_CXX_COMPILER=${COMPILER}" "-DOneDNN_INCLUDE_DIR=${ONEDNN_INCLUDE}"
              "-DOneDNN_LIBRARY=${ONEDNN_LIBRARY}" -DCMAKE_BUILD_TYPE=Release)
if(MODE STREQUAL "installed")
  step("install" "${CMAKE_COMMAND}" --install "${MINNOW_BUILD}" --prefix "${WORK}/prefix")
  file(GLOB_RECURSE private "${WORK}/prefix/include/minnow/tensor/cpu/*" "${WORK}/prefix/include/minnow/tensor/cuda/*")
  if(private)
    message(FATAL_ERROR "installed headers that nobody may include: ${private}")
  endif()
  step("configure" ${configure} "-DCMAKE_PREFIX_PATH=${WORK}/prefix")
  step("build" "${CMAKE_COMMAND}" --build "${WORK}/build")
  step("run" "${WORK}/build/consumer")
else()
  step("configure" ${configure} "-DHOST_MINNOW_DIR=${MINNOW_SOURCE}")
  if(FULL)
    step("build" "${CMAKE_COMMAND}" --build "${WORK}/build" --target host)
    step("run" "${WORK}/build/host")
  else()
    step("build" "${CMAKE_COMMAND}" --build "${WORK}/build" --target host_objects)
  endif()
endif()
message(STATUS "${MODE}: ${output}")
