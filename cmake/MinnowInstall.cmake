# cmake --install: the library, the headers (but for those of one device's code) and a package for find_package(minnow).

include(GNUInstallDirs)
include(CMakePackageConfigHelpers)
set(minnow_package_dir "${CMAKE_INSTALL_LIBDIR}/cmake/minnow")

install(TARGETS minnow EXPORT minnowTargets ARCHIVE DESTINATION "${CMAKE_INSTALL_LIBDIR}")
foreach(wing IN LISTS minnow_wings)
  install(TARGETS minnow_${wing} EXPORT minnowTargets ARCHIVE DESTINATION "${CMAKE_INSTALL_LIBDIR}")
endforeach()
foreach(folder IN LISTS minnow_folders)
  if(folder IN_LIST minnow_all_wings AND NOT folder IN_LIST minnow_wings)
    continue()  # its library is not built
  endif()
  install(DIRECTORY "${minnow_SOURCE_DIR}/${folder}" DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}/minnow"
          FILES_MATCHING PATTERN "*.h" PATTERN "cpu" EXCLUDE PATTERN "cuda" EXCLUDE PATTERN "sim" EXCLUDE)
endforeach()
# Networks in headers alone, <minnow/models/resnet.h>: cmake --install BUILD --component models
install(DIRECTORY "${minnow_SOURCE_DIR}/examples/models" DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}/minnow" COMPONENT models
        FILES_MATCHING PATTERN "*.h")
install(FILES "${minnow_include_dir}/minnow/minnow.h" DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}/minnow")

install(FILES "${minnow_SOURCE_DIR}/share/minnow-gdb.py" DESTINATION "${CMAKE_INSTALL_DATADIR}/minnow")

configure_package_config_file("${minnow_SOURCE_DIR}/cmake/minnowConfig.cmake.in" "${minnow_BINARY_DIR}/minnowConfig.cmake"
                              INSTALL_DESTINATION "${minnow_package_dir}" PATH_VARS CMAKE_INSTALL_INCLUDEDIR)
write_basic_package_version_file("${minnow_BINARY_DIR}/minnowConfigVersion.cmake" COMPATIBILITY SameMinorVersion)
install(FILES "${minnow_BINARY_DIR}/minnowConfig.cmake" "${minnow_BINARY_DIR}/minnowConfigVersion.cmake"
              "${minnow_SOURCE_DIR}/cmake/FindOneDNN.cmake" "${minnow_SOURCE_DIR}/cmake/FindUtf8proc.cmake"
              DESTINATION "${minnow_package_dir}")
install(EXPORT minnowTargets NAMESPACE minnow:: DESTINATION "${minnow_package_dir}")
