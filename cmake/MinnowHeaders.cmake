# build/include/minnow: links to the source folders, and the umbrella header of all public headers that exist.

set(minnow_folders tensor autograd nn optim data)
file(MAKE_DIRECTORY "${minnow_BINARY_DIR}/include/minnow")
foreach(folder IN LISTS minnow_folders)
  file(CREATE_LINK "${minnow_SOURCE_DIR}/${folder}" "${minnow_BINARY_DIR}/include/minnow/${folder}" SYMBOLIC)
endforeach()

# Public: what stands directly in these folders. backend/, kernels/, cpu/, cuda/, sim/ and detail/ are our own.
file(GLOB minnow_public_headers CONFIGURE_DEPENDS RELATIVE "${minnow_SOURCE_DIR}"
     "${minnow_SOURCE_DIR}/tensor/*.h" "${minnow_SOURCE_DIR}/tensor/ops/*.h" "${minnow_SOURCE_DIR}/tensor/io/*.h"
     "${minnow_SOURCE_DIR}/autograd/*.h" "${minnow_SOURCE_DIR}/autograd/ops/*.h" "${minnow_SOURCE_DIR}/nn/*.h"
     "${minnow_SOURCE_DIR}/optim/*.h" "${minnow_SOURCE_DIR}/data/*.h")
list(SORT minnow_public_headers)

set(minnow_includes "")
foreach(header IN LISTS minnow_public_headers)
  string(APPEND minnow_includes "#include <minnow/${header}>\n")
endforeach()
configure_file("${minnow_SOURCE_DIR}/cmake/minnow.h.in" "${minnow_BINARY_DIR}/include/minnow/minnow.h" @ONLY)
