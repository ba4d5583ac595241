# cmake --install: the library, the headers (but for those of one device's code) and a package for find_package(minnow).

include(GNUInstallDirs)
include(CMakePackageConfigHelpers)
set(minnow_package_dir "${CMAKE_INSTALL_LIBDIR}/cmake/minnow")

if(MINNOW_ONEDNN)
  set(minnow_pc_onednn "${OneDNN_LIBRARY}")
endif()
set(minnow_pc_requires_core "zlib fmt")
if(minnow_with_cuda)
  set(minnow_pc_cuda "${CUDAToolkit_LIBRARY_DIR}/libcudart_static.a -lrt")
endif()
set(minnow_pc_system -ldl)
if(WIN32)
  set(minnow_pc_system -lsynchronization)
endif()
set(minnow_pc_libraries_core "${minnow_pc_onednn} ${minnow_pc_cuda} ${OpenMP_CXX_FLAGS} -pthread ${minnow_pc_system}")
set(minnow_pc_requires_vision " libpng libjpeg")
set(minnow_pc_requires_text " libutf8proc")
set(minnow_pc_libraries_distributed "-lmpi")
set(minnow_pc_requires_capi " minnow-onnx")
set(minnow_pc_libraries_capi "-lstdc++")  # of programs in C
file(RELATIVE_PATH minnow_pc_up "/${CMAKE_INSTALL_LIBDIR}/pkgconfig" /)
# Components: core and each wing (what a program needs to run), dev (the rest, to build one), models.
foreach(wing IN ITEMS core LISTS minnow_wings)
  set(target minnow_${wing})
  if(wing STREQUAL "core")
    set(target minnow)
  else()
    set_target_properties(${target} PROPERTIES INSTALL_RPATH "$ORIGIN")
  endif()
  install(
    TARGETS ${target} EXPORT minnowTargets
    ARCHIVE DESTINATION "${CMAKE_INSTALL_LIBDIR}" COMPONENT dev
    LIBRARY DESTINATION "${CMAKE_INSTALL_LIBDIR}" COMPONENT ${wing} NAMELINK_COMPONENT dev)
  # pkg-config minnow-vision: of a static library with all that it needs.
  set(minnow_pc_name minnow-${wing})
  set(minnow_pc_description "${wing} for minnow")
  set(minnow_pc_requires minnow)
  if(wing STREQUAL "core")
    set(minnow_pc_name minnow)
    set(minnow_pc_description "${minnow_DESCRIPTION}")
    set(minnow_pc_requires "")
  endif()
  string(REPLACE - _ minnow_pc_library ${minnow_pc_name})
  set(minnow_pc_libraries "")
  if(minnow_is_static)
    string(APPEND minnow_pc_requires "${minnow_pc_requires_${wing}}")
    set(minnow_pc_libraries "${minnow_pc_libraries_${wing}}")
  endif()
  configure_file("${minnow_SOURCE_DIR}/cmake/minnow.pc.in" "${minnow_BINARY_DIR}/${minnow_pc_name}.pc" @ONLY)
  install(FILES "${minnow_BINARY_DIR}/${minnow_pc_name}.pc" DESTINATION "${CMAKE_INSTALL_LIBDIR}/pkgconfig"
          COMPONENT dev)
endforeach()
foreach(folder IN LISTS minnow_folders)
  if(folder IN_LIST minnow_all_wings AND NOT folder IN_LIST minnow_wings)
    continue()  # its library is not built
  endif()
  install(DIRECTORY "${minnow_SOURCE_DIR}/${folder}" DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}/minnow" COMPONENT dev
          FILES_MATCHING PATTERN "*.h" PATTERN "*.f90" PATTERN "cpu" EXCLUDE PATTERN "cuda" EXCLUDE PATTERN "sim" EXCLUDE)
endforeach()
# Networks in headers alone, <minnow/models/resnet.h>: cmake --install BUILD --component models
install(DIRECTORY "${minnow_SOURCE_DIR}/examples/models" DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}/minnow" COMPONENT models
        FILES_MATCHING PATTERN "*.h")
install(FILES "${minnow_include_dir}/minnow/minnow.h" DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}/minnow" COMPONENT dev)

install(FILES "${minnow_SOURCE_DIR}/share/minnow-gdb.py" DESTINATION "${CMAKE_INSTALL_DATADIR}/minnow" COMPONENT dev)

configure_package_config_file("${minnow_SOURCE_DIR}/cmake/minnowConfig.cmake.in" "${minnow_BINARY_DIR}/minnowConfig.cmake"
                              INSTALL_DESTINATION "${minnow_package_dir}" PATH_VARS CMAKE_INSTALL_INCLUDEDIR)
write_basic_package_version_file("${minnow_BINARY_DIR}/minnowConfigVersion.cmake" COMPATIBILITY SameMinorVersion)
install(FILES "${minnow_BINARY_DIR}/minnowConfig.cmake" "${minnow_BINARY_DIR}/minnowConfigVersion.cmake"
        "${minnow_SOURCE_DIR}/cmake/FindOneDNN.cmake" "${minnow_SOURCE_DIR}/cmake/FindUtf8proc.cmake"
        DESTINATION "${minnow_package_dir}" COMPONENT dev)
install(EXPORT minnowTargets NAMESPACE minnow:: DESTINATION "${minnow_package_dir}" COMPONENT dev)
