/* A user's program in C. */
#include <stdio.h>
#include <string.h>
#include <minnow/capi/minnow_c.h>

int main(void) {
  const float values[] = {1, 2, 3};
  const int64_t shape[] = {3};
  minnow_tensor* x;
  minnow_module* net;
  double last = 0;
  if (minnow_tensor_new(values, MINNOW_FLOAT32, 1, shape, &x) || minnow_tensor_item(x, &last) != MINNOW_SHAPE_ERROR)
    return 1;
  minnow_tensor_free(x);
  if (minnow_module_load("gone.onnx", &net) != MINNOW_IO_ERROR) return 2;
  printf("minnow %s: %s\n", minnow_version(), minnow_last_error());
  return strstr(minnow_last_error(), "capi.c:") ? 0 : 3;
}
