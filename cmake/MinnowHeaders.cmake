# include/minnow has a link to each source folder, so that <minnow/tensor/tensor.h> is tensor/tensor.h, in an editor that
# never ran CMake too, and minnow.h, which includes all that is for users.

set(minnow_include_dir "${minnow_SOURCE_DIR}/include")
set(minnow_folders tensor autograd ops nn optim data)

# Each of these compiles alone: a test checks it, and that minnow.h has those that are public.
file(GLOB minnow_headers CONFIGURE_DEPENDS RELATIVE "${minnow_SOURCE_DIR}"
     "${minnow_SOURCE_DIR}/tensor/*.h" "${minnow_SOURCE_DIR}/tensor/raw/*.h" "${minnow_SOURCE_DIR}/tensor/io/*.h"
     "${minnow_SOURCE_DIR}/autograd/*.h" "${minnow_SOURCE_DIR}/ops/*.h" "${minnow_SOURCE_DIR}/nn/*.h"
     "${minnow_SOURCE_DIR}/optim/*.h" "${minnow_SOURCE_DIR}/data/*.h")
list(SORT minnow_headers)
