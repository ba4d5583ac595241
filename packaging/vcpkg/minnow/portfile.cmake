# An overlay port of the tree that it stands in: vcpkg install minnow --overlay-ports=packaging/vcpkg
cmake_path(SET SOURCE_PATH NORMALIZE "${CMAKE_CURRENT_LIST_DIR}/../../..")
vcpkg_check_features(
  OUT_FEATURE_OPTIONS features
  FEATURES onednn MINNOW_ONEDNN
  INVERTED_FEATURES vision CMAKE_DISABLE_FIND_PACKAGE_PNG text CMAKE_DISABLE_FIND_PACKAGE_Utf8proc
  tensorboard CMAKE_DISABLE_FIND_PACKAGE_Protozero)
vcpkg_cmake_configure(
  SOURCE_PATH "${SOURCE_PATH}"
  OPTIONS ${features} -DMINNOW_CUDA=OFF -DMINNOW_MPI=OFF -DMINNOW_BUILD_TESTS=OFF -DMINNOW_BUILD_TOOLS=OFF
          -DMINNOW_BUILD_EXAMPLES=OFF -DMINNOW_BUILD_BENCHMARKS=OFF)
vcpkg_cmake_install()
vcpkg_cmake_config_fixup(CONFIG_PATH lib/cmake/minnow)
vcpkg_fixup_pkgconfig()
file(REMOVE_RECURSE "${CURRENT_PACKAGES_DIR}/debug/include" "${CURRENT_PACKAGES_DIR}/debug/share")
vcpkg_install_copyright(FILE_LIST "${SOURCE_PATH}/LICENSE")
