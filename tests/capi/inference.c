/* inference FOLDER: models are loaded and called; tensors go in and out. */
#include "check.h"

static int deleted = 0;
static void count_deletion(void* context) {
  CHECK(context == &deleted);
  ++deleted;
}

static void test_forward(const char* folder) {
  minnow_module* net;
  OK(minnow_module_load(path_of(folder, "affine.onnx"), &net));
  const float x[] = {1, 1, 2, 0, 0, -1};
  minnow_tensor *input = matrix(x, 3, 2), *output;
  OK(minnow_module_forward(net, (const minnow_tensor* const*)&input, 1, &output, 1));

  int ndim;
  int64_t shape[2], numel;
  minnow_dtype dtype;
  const char* device;
  void* data;
  OK(minnow_tensor_ndim(output, &ndim));
  OK(minnow_tensor_shape(output, shape, 2));
  OK(minnow_tensor_numel(output, &numel));
  OK(minnow_tensor_dtype(output, &dtype));
  OK(minnow_tensor_device(output, &device));
  CHECK(ndim == 2 && shape[0] == 3 && shape[1] == 2 && numel == 6 && dtype == MINNOW_FLOAT32);
  CHECK(!strcmp(device, "cpu"));
  const float expected[] = {3.5F, 6.5F, 2.5F, 5.5F, -1.5F, -4.5F};
  float y[6];
  OK(minnow_tensor_copy_out(output, y, sizeof y));
  OK(minnow_tensor_data(output, &data));
  for (int i = 0; i < 6; ++i) CHECK(y[i] == expected[i] && ((float*)data)[i] == expected[i]);
  minnow_tensor_free(output);

  /* On another device. */
  OK(minnow_module_to(net, "sim:0"));
  minnow_tensor* moved;
  OK(minnow_tensor_to(input, "sim:0", &moved));
  OK(minnow_module_forward(net, (const minnow_tensor* const*)&moved, 1, &output, 1));
  OK(minnow_tensor_device(output, &device));
  CHECK(!strcmp(device, "sim:0"));
  memset(y, 0, sizeof y);
  OK(minnow_tensor_copy_out(output, y, sizeof y));
  for (int i = 0; i < 6; ++i) CHECK(y[i] == expected[i]);
  minnow_tensor_free(output);
  minnow_tensor_free(moved);
  minnow_tensor_free(input);
  minnow_module_free(net);
}

static void test_several_inputs_and_outputs(const char* folder) {
  minnow_module* net;
  OK(minnow_module_load(path_of(folder, "two.onnx"), &net));
  int inputs, outputs;
  const char* name;
  OK(minnow_module_num_inputs(net, &inputs));
  OK(minnow_module_num_outputs(net, &outputs));
  CHECK(inputs == 2 && outputs == 2);
  OK(minnow_module_input_name(net, 1, &name));
  CHECK(!strcmp(name, "b"));
  OK(minnow_module_output_name(net, 1, &name));
  CHECK(!strcmp(name, "difference"));
  const float a[] = {1, 2, 3}, b[] = {10, 20, 30};
  minnow_tensor *x[] = {matrix(a, 1, 3), matrix(b, 1, 3)}, *y[2];
  OK(minnow_module_forward(net, (const minnow_tensor* const*)x, 2, y, 2));
  float sum[3], difference[3];
  OK(minnow_tensor_copy_out(y[0], sum, sizeof sum));
  OK(minnow_tensor_copy_out(y[1], difference, sizeof difference));
  for (int i = 0; i < 3; ++i) CHECK(sum[i] == a[i] + b[i] && difference[i] == a[i] - b[i]);
  for (int i = 0; i < 2; ++i) minnow_tensor_free(x[i]), minnow_tensor_free(y[i]);
  minnow_module_free(net);
}

static void test_memory_of_the_caller(void) {
  int32_t values[] = {1, 2, 3};
  const int64_t shape[] = {3};
  minnow_tensor *shared, *copy, *wide;
  OK(minnow_tensor_view(values, MINNOW_INT32, 1, shape, count_deletion, &deleted, &shared));
  OK(minnow_tensor_new(values, MINNOW_INT32, 1, shape, &copy));
  values[0] = 7;
  void* data;
  OK(minnow_tensor_data(shared, &data));
  CHECK(data == values);
  OK(minnow_tensor_data(copy, &data));
  CHECK(*(int32_t*)data == 1);
  OK(minnow_tensor_to_dtype(shared, MINNOW_FLOAT64, &wide));
  double numbers[3];
  OK(minnow_tensor_copy_out(wide, numbers, sizeof numbers));
  CHECK(numbers[0] == 7 && numbers[2] == 3);
  CHECK(deleted == 0);
  minnow_tensor_free(shared);
  CHECK(deleted == 1);
  minnow_tensor_free(copy);
  minnow_tensor_free(wide);

  /* Of no dimensions, and of no elements. */
  const double number = 2.5;
  double item;
  minnow_tensor* scalar;
  OK(minnow_tensor_new(&number, MINNOW_FLOAT64, 0, NULL, &scalar));
  OK(minnow_tensor_item(scalar, &item));
  CHECK(item == 2.5);
  minnow_tensor_free(scalar);
  const int64_t none[] = {0};
  OK(minnow_tensor_new(NULL, MINNOW_FLOAT32, 1, none, &scalar));
  OK(minnow_tensor_copy_out(scalar, NULL, 0));
  minnow_tensor_free(scalar);
}

int main(int argc, char** argv) {
  CHECK(argc == 2);
  CHECK(strlen(minnow_version()) >= 5);
  int count;
  OK(minnow_set_num_threads(1));
  OK(minnow_device_count("cpu", &count));
  CHECK(count == 1);
  test_forward(argv[1]);
  test_several_inputs_and_outputs(argv[1]);
  test_memory_of_the_caller();
  CHECK(minnow_live_handles() == 0);
  return 0;
}
