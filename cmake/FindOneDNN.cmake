# Finds oneDNN 2.6 or newer: OneDNN::OneDNN, OneDNN_VERSION. Hints: OneDNN_ROOT, CMAKE_PREFIX_PATH.
# Replaces Debian's package file, which requires OpenCL.

find_path(OneDNN_INCLUDE_DIR oneapi/dnnl/dnnl.hpp)
find_library(OneDNN_LIBRARY NAMES dnnl)
mark_as_advanced(OneDNN_INCLUDE_DIR OneDNN_LIBRARY)

if(OneDNN_INCLUDE_DIR AND EXISTS "${OneDNN_INCLUDE_DIR}/oneapi/dnnl/dnnl_version.h")
  file(STRINGS "${OneDNN_INCLUDE_DIR}/oneapi/dnnl/dnnl_version.h" onednn_lines
       REGEX "define DNNL_VERSION_(MAJOR|MINOR|PATCH) +[0-9]+")
  string(REGEX REPLACE "[^0-9;]*([0-9]+)" "\\1" onednn_numbers "${onednn_lines}")
  string(REPLACE ";" "." OneDNN_VERSION "${onednn_numbers}")
endif()

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(
  OneDNN REQUIRED_VARS OneDNN_LIBRARY OneDNN_INCLUDE_DIR VERSION_VAR OneDNN_VERSION
  REASON_FAILURE_MESSAGE "On Debian: apt-get install libdnnl-dev")
if(OneDNN_FOUND AND NOT TARGET OneDNN::OneDNN)
  add_library(OneDNN::OneDNN UNKNOWN IMPORTED)
  set_target_properties(OneDNN::OneDNN PROPERTIES IMPORTED_LOCATION "${OneDNN_LIBRARY}"
                                                  INTERFACE_INCLUDE_DIRECTORIES "${OneDNN_INCLUDE_DIR}")
endif()
