# BUILD_SHARED_LIBS=ON: shared libraries of the same objects as the static ones.  minnow_library_type: STATIC or SHARED.

set(minnow_library_type STATIC)
set(minnow_is_static ON)
if(BUILD_SHARED_LIBS)
  set(minnow_library_type SHARED)
  set(minnow_is_static OFF)
endif()

# minnow_share(TARGET WING OBJECT...): its versions, and what it exports (exports.cmake).  Calls inside of it are bound when
# it is linked: they do not go through a table.
function(minnow_share target wing)
  # Before 1.0 a minor version may change the ABI.
  set_target_properties(
    ${target} PROPERTIES LINKER_LANGUAGE CXX VERSION ${minnow_VERSION}
                         SOVERSION ${minnow_VERSION_MAJOR}.${minnow_VERSION_MINOR})
  set(scope "")
  if(wing STREQUAL "distributed")
    set(scope 4dist)
  elseif(wing)
    string(LENGTH "${wing}" length)
    set(scope "${length}${wing}")
  endif()
  set(map "${minnow_BINARY_DIR}/${target}.map")
  set(objects ${ARGN})
  file(GENERATE OUTPUT "${map}.objects" CONTENT "$<JOIN:$<FILTER:${objects},EXCLUDE,/cmake_pch>,\n>\n")
  add_custom_command(
    OUTPUT "${map}" DEPENDS ${objects} "${minnow_SOURCE_DIR}/cmake/exports.cmake"
    COMMAND "${CMAKE_COMMAND}" "-DNM=${CMAKE_NM}" "-DOBJECTS=${map}.objects" "-DSCOPE=${scope}" "-DMAP=${map}" -P
            "${minnow_SOURCE_DIR}/cmake/exports.cmake"
    COMMENT "Listing what ${target} exports" VERBATIM)
  target_sources(${target} PRIVATE "${map}")
  set_property(TARGET ${target} APPEND PROPERTY LINK_DEPENDS "${map}")
  target_link_options(${target} PRIVATE "LINKER:--version-script=${map}" LINKER:-Bsymbolic-functions)
endfunction()
