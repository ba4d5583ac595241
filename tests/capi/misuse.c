/* misuse FOLDER: wrong calls are errors with the function, the reason and the line, and change nothing. */
#include "check.h"

static int deleted = 0;
static void count_deletion(void* context) {
  (void)context;
  ++deleted;
}

static void test_tensors(void) {
  const float values[] = {1, 2, 3, 4, 5, 6};
  const int64_t shape[] = {2, 3}, negative[] = {-1}, huge[] = {INT64_MAX, INT64_MAX};
  int64_t sizes[2];
  minnow_tensor *t, *other = (minnow_tensor*)values;
  FAILS(minnow_tensor_new(values, MINNOW_FLOAT32, 2, NULL, &other), MINNOW_VALUE_ERROR, "minnow_tensor_new",
        "shape is NULL");
  CHECK(!other);
  FAILS(minnow_tensor_new(NULL, MINNOW_FLOAT32, 2, shape, &t), MINNOW_VALUE_ERROR, "minnow_tensor_new", "null");
  FAILS(minnow_tensor_new(values, MINNOW_FLOAT32, 2, shape, NULL), MINNOW_VALUE_ERROR, "result is NULL", "address");
  FAILS(minnow_tensor_new(values, 10, 2, shape, &t), MINNOW_DTYPE_ERROR, "10", "minnow_dtype");
  FAILS(minnow_tensor_new(values, -1, 2, shape, &t), MINNOW_DTYPE_ERROR, "-1", "minnow_dtype");
  FAILS(minnow_tensor_new(values, MINNOW_FLOAT32, -1, shape, &t), MINNOW_SHAPE_ERROR, "-1", "dimensions");
  FAILS(minnow_tensor_new(values, MINNOW_FLOAT32, 1000, shape, &t), MINNOW_SHAPE_ERROR, "1000", "dimensions");
  FAILS(minnow_tensor_new(values, MINNOW_FLOAT32, 1, negative, &t), MINNOW_SHAPE_ERROR, "-1", "from_blob");
  CHECK(minnow_tensor_new(values, MINNOW_FLOAT32, 2, huge, &t) != MINNOW_OK);
  FAILS(minnow_tensor_view((char*)values + 1, MINNOW_FLOAT32, 1, shape, count_deletion, NULL, &t), MINNOW_VALUE_ERROR,
        "multiple", "minnow_tensor_new");
  FAILS(minnow_tensor_view(NULL, MINNOW_FLOAT32, 1, shape, count_deletion, NULL, &t), MINNOW_VALUE_ERROR, "null",
        "from_blob");
  CHECK(deleted == 0);

  OK(minnow_tensor_new(values, MINNOW_FLOAT32, 2, shape, &t));
  double item = 1;
  float few[5];
  void* data;
  FAILS(minnow_tensor_item(t, &item), MINNOW_SHAPE_ERROR, "minnow_tensor_item", "[2, 3]");
  CHECK(item == 0);
  FAILS(minnow_tensor_copy_out(t, few, sizeof few), MINNOW_SHAPE_ERROR, "24 bytes", "20 bytes");
  FAILS(minnow_tensor_copy_out(t, NULL, 24), MINNOW_VALUE_ERROR, "minnow_tensor_copy_out", "NULL");
  FAILS(minnow_tensor_shape(t, sizes, 1), MINNOW_SHAPE_ERROR, "[2, 3]", "capacity  1");
  FAILS(minnow_tensor_shape(t, NULL, 2), MINNOW_VALUE_ERROR, "minnow_tensor_shape", "NULL");
  FAILS(minnow_tensor_to(t, "gpu", &other), MINNOW_DEVICE_ERROR, "minnow_tensor_to", "gpu");
  FAILS(minnow_tensor_to(t, "sim:99", &other), MINNOW_DEVICE_ERROR, "minnow_tensor_to", "sim:99");
  FAILS(minnow_tensor_to(t, NULL, &other), MINNOW_VALUE_ERROR, "minnow_tensor_to", "device is NULL");
  FAILS(minnow_tensor_to_dtype(t, 77, &other), MINNOW_DTYPE_ERROR, "77", "minnow_dtype");
  FAILS(minnow_tensor_backward(t), MINNOW_AUTOGRAD_ERROR, "minnow_tensor_backward", "gradient");
  OK(minnow_tensor_to(t, "sim:0", &other));
  FAILS(minnow_tensor_data(other, &data), MINNOW_DEVICE_ERROR, "sim:0", "minnow_tensor_copy_out");
  minnow_tensor_free(other);

  /* What was freed, and what never was a handle. */
  minnow_tensor_free(t);
  minnow_tensor_free(t);
  minnow_tensor_free(NULL);
  FAILS(minnow_tensor_item(t, &item), MINNOW_VALUE_ERROR, "minnow_tensor_item", "freed");
  FAILS(minnow_tensor_item((minnow_tensor*)values, &item), MINNOW_VALUE_ERROR, "minnow_tensor_item", "no handle");
  FAILS(minnow_tensor_item(NULL, &item), MINNOW_VALUE_ERROR, "minnow_tensor_item", "tensor is NULL");
}

static void test_modules(const char* folder) {
  minnow_module* net = (minnow_module*)folder;
  FAILS(minnow_module_load(NULL, &net), MINNOW_VALUE_ERROR, "minnow_module_load", "path is NULL");
  CHECK(!net);
  FAILS(minnow_module_load(path_of(folder, "gone.onnx"), &net), MINNOW_IO_ERROR, "minnow_module_load", "gone.onnx");
  FILE* file = fopen(path_of(folder, "damaged.onnx"), "wb");
  CHECK(file);
  fputs("no model at all, but a text", file);
  fclose(file);
  FAILS(minnow_module_load(path_of(folder, "damaged.onnx"), &net), MINNOW_FORMAT_ERROR, "minnow_module_load",
        "damaged.onnx");

  OK(minnow_module_load(path_of(folder, "affine.onnx"), &net));
  const float values[] = {1, 2, 3};
  const char* name;
  minnow_tensor *x = matrix(values, 1, 3), *y = x, *two[] = {x, NULL}, *loss;
  const minnow_tensor* const* in = (const minnow_tensor* const*)&x;
  FAILS(minnow_module_forward(net, in, 1, &y, 1), MINNOW_SHAPE_ERROR, "minnow_module_forward", "[1, 3]");
  CHECK(!y);
  FAILS(minnow_module_forward(net, in, 0, &y, 1), MINNOW_VALUE_ERROR, "1 inputs", "0 were given");
  FAILS(minnow_module_forward(net, in, 1, two, 2), MINNOW_VALUE_ERROR, "1 outputs", "2 were given");
  two[0] = NULL;
  FAILS(minnow_module_forward(net, (const minnow_tensor* const*)two, 1, &y, 1), MINNOW_VALUE_ERROR, "inputs[0]",
        "NULL");
  FAILS(minnow_module_forward(net, NULL, 1, &y, 1), MINNOW_VALUE_ERROR, "minnow_module_forward", "inputs is NULL");
  FAILS(minnow_module_forward(net, in, 1, NULL, 1), MINNOW_VALUE_ERROR, "minnow_module_forward", "outputs is NULL");
  FAILS(minnow_module_forward((minnow_module*)x, in, 1, &y, 1), MINNOW_VALUE_ERROR, "handle of a module",
        "another kind");
  FAILS(minnow_module_input_name(net, 1, &name), MINNOW_INDEX_ERROR, "minnow_module_input_name", "index  1");
  FAILS(minnow_module_parameter_name(net, -1, &name), MINNOW_INDEX_ERROR, "minnow_module_parameter_name", "-1");
  FAILS(minnow_module_parameter(net, "gone", &y), MINNOW_INDEX_ERROR, "'gone'", "weight");
  FAILS(minnow_module_save(net, path_of(folder, "no/such.safetensors")), MINNOW_IO_ERROR, "minnow_module_save", "such");
  FAILS(minnow_module_save(net, path_of(folder, "net.txt")), MINNOW_VALUE_ERROR, "minnow_module_save", "safetensors");
  FAILS(minnow_module_load_weights(net, path_of(folder, "gone.safetensors")), MINNOW_IO_ERROR, "gone",
        "minnow_module_load_weights");
  FAILS(minnow_module_to(net, "cuda:99"), MINNOW_DEVICE_ERROR, "minnow_module_to", "cuda:99");

  minnow_optimizer* optimizer;
  FAILS(minnow_optimizer_new(net, "adamax", 1, 0, &optimizer), MINNOW_VALUE_ERROR, "'adamax'", "adamw");
  FAILS(minnow_optimizer_new(net, "sgd", -1, 0, &optimizer), MINNOW_VALUE_ERROR, "minnow_optimizer_new", "lr");
  FAILS(minnow_optimizer_new(net, "sgd", NAN, 0, &optimizer), MINNOW_VALUE_ERROR, "minnow_optimizer_new", "lr");
  FAILS(minnow_optimizer_step(optimizer), MINNOW_VALUE_ERROR, "minnow_optimizer_step", "optimizer is NULL");
  FAILS(minnow_loss("hinge", x, x, &loss), MINNOW_VALUE_ERROR, "'hinge'", "cross_entropy");
  FAILS(minnow_loss("cross_entropy", x, x, NULL), MINNOW_VALUE_ERROR, "minnow_loss", "NULL");
  FAILS(minnow_loss("cross_entropy", x, NULL, &loss), MINNOW_VALUE_ERROR, "minnow_loss", "target is NULL");
  const int64_t one[] = {1}, beyond[] = {3};
  minnow_tensor* target;
  OK(minnow_tensor_new(beyond, MINNOW_INT64, 1, one, &target));
  FAILS(minnow_loss("cross_entropy", x, target, &loss), MINNOW_INDEX_ERROR, "cross_entropy", "3");
  minnow_tensor_free(target);

  /* An optimizer and a tensor keep what they need of a module that was freed. */
  OK(minnow_optimizer_new(net, "sgd", 0.1, 0, &optimizer));
  minnow_module_free(net);
  minnow_module_free(net);
  OK(minnow_optimizer_zero_grad(optimizer));
  FAILS(minnow_module_train(net, 1), MINNOW_VALUE_ERROR, "minnow_module_train", "freed");
  minnow_optimizer_free(optimizer);
  minnow_tensor_free(x);
}

int main(int argc, char** argv) {
  CHECK(argc == 2);
  CHECK(!strcmp(minnow_last_error(), ""));
  int count;
  FAILS(minnow_set_num_threads(0), MINNOW_VALUE_ERROR, "set_num_threads", "0");
  FAILS(minnow_device_count("gpu", &count), MINNOW_DEVICE_ERROR, "'gpu'", "cuda");
  test_tensors();
  test_modules(argv[1]);
  CHECK(minnow_live_handles() == 0);
  return 0;
}
