# include/minnow has a link to each source folder, so that <minnow/tensor/tensor.h> is tensor/tensor.h, also in an editor
# that never ran CMake, and minnow.h, which includes the public headers.

set(minnow_include_dir "${minnow_SOURCE_DIR}/include")
set(minnow_all_wings distributions vision text tensorboard onnx llm capi distributed)
set(minnow_folders tensor autograd ops nn optim data training interop ${minnow_all_wings})

# Tests check that each of these compiles alone, and that minnow.h includes the public ones.
file(GLOB minnow_headers CONFIGURE_DEPENDS RELATIVE "${minnow_SOURCE_DIR}"
     "${minnow_SOURCE_DIR}/tensor/*.h" "${minnow_SOURCE_DIR}/tensor/runtime/*.h" "${minnow_SOURCE_DIR}/tensor/profile/*.h"
     "${minnow_SOURCE_DIR}/tensor/raw/*.h"
     "${minnow_SOURCE_DIR}/tensor/io/*.h" "${minnow_SOURCE_DIR}/autograd/*.h" "${minnow_SOURCE_DIR}/ops/*.h"
     "${minnow_SOURCE_DIR}/ops/*/*.h" "${minnow_SOURCE_DIR}/nn/*/*.h"
     "${minnow_SOURCE_DIR}/optim/*.h" "${minnow_SOURCE_DIR}/data/*.h" "${minnow_SOURCE_DIR}/training/*.h")
file(GLOB minnow_wing_headers CONFIGURE_DEPENDS RELATIVE "${minnow_SOURCE_DIR}" "${minnow_SOURCE_DIR}/distributions/*.h"
     "${minnow_SOURCE_DIR}/vision/*.h" "${minnow_SOURCE_DIR}/text/*.h" "${minnow_SOURCE_DIR}/tensorboard/*.h"
     "${minnow_SOURCE_DIR}/onnx/*.h" "${minnow_SOURCE_DIR}/llm/*.h" "${minnow_SOURCE_DIR}/capi/*.h")
list(FILTER minnow_headers EXCLUDE REGEX "/detail/")
list(SORT minnow_headers)
