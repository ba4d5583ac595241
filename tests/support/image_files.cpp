#include "image_files.h"

namespace minnow::test {

bool reads_png() { return MINNOW_TEST_PNG; }
bool reads_jpeg() { return MINNOW_TEST_JPEG; }

}  // namespace minnow::test
