#pragma once

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <minnow/capi/minnow_c.h>

/* Ends the program if a condition does not hold, or a call fails. */
#define CHECK(condition)                                                      \
  do {                                                                        \
    if (!(condition)) {                                                       \
      fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #condition); \
      exit(1);                                                                \
    }                                                                         \
  } while (0)

#define OK(call)                                                               \
  do {                                                                         \
    if (call) {                                                                \
      fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, minnow_last_error()); \
      exit(1);                                                                 \
    }                                                                          \
  } while (0)

/* The call fails with this status, a text that has the parts, and this line. */
#define FAILS(call, status, part, other)                                                                \
  do {                                                                                                  \
    const minnow_status got = (call);                                                                   \
    if (got != (status) || !strstr(minnow_last_error(), part) || !strstr(minnow_last_error(), other) || \
        minnow_last_error_line() != __LINE__ || strcmp(minnow_last_error_file(), __FILE__)) {           \
      fprintf(stderr, "%s:%d: status %d: %s\n", __FILE__, __LINE__, (int)got, minnow_last_error());     \
      exit(1);                                                                                          \
    }                                                                                                   \
  } while (0)

/* FOLDER/NAME, until the next call. */
static inline const char* path_of(const char* folder, const char* name) {
  static char path[4096];
  CHECK(snprintf(path, sizeof path, "%s/%s", folder, name) < (int)sizeof path);
  return path;
}

static inline minnow_tensor* matrix(const float* values, int64_t rows, int64_t columns) {
  const int64_t shape[] = {rows, columns};
  minnow_tensor* t;
  OK(minnow_tensor_new(values, MINNOW_FLOAT32, 2, shape, &t));
  return t;
}
