/* training FOLDER: a model learns which points are in the unit circle; weights are saved and loaded. */
#include "check.h"

enum { POINTS = 200 };

static double loss_of(minnow_module* net, minnow_tensor* x, minnow_tensor* target, minnow_optimizer* optimizer) {
  minnow_tensor *scores, *loss;
  double value;
  OK(minnow_module_forward(net, (const minnow_tensor* const*)&x, 1, &scores, 1));
  OK(minnow_loss("cross_entropy", scores, target, &loss));
  OK(minnow_tensor_item(loss, &value));
  if (optimizer) {
    OK(minnow_optimizer_zero_grad(optimizer));
    OK(minnow_tensor_backward(loss));
    OK(minnow_optimizer_step(optimizer));
  }
  minnow_tensor_free(scores);
  minnow_tensor_free(loss);
  return value;
}

static double train(const char* folder, const char* name, double lr, minnow_tensor* x, minnow_tensor* target) {
  minnow_module* net;
  minnow_optimizer* optimizer;
  OK(minnow_module_load(path_of(folder, "net.onnx"), &net));
  OK(minnow_module_train(net, 1));
  OK(minnow_optimizer_new(net, name, lr, 0.001, &optimizer));
  const double before = loss_of(net, x, target, NULL);
  for (int step = 0; step < 300; ++step) loss_of(net, x, target, optimizer);
  OK(minnow_set_grad_enabled(0));
  const double after = loss_of(net, x, target, NULL);
  OK(minnow_set_grad_enabled(1));
  CHECK(before > 0.5 && after < 0.3);

  /* Another model with these weights has this loss. */
  minnow_module* other;
  OK(minnow_module_save(net, path_of(folder, "trained.safetensors")));
  OK(minnow_module_load(path_of(folder, "net.onnx"), &other));
  CHECK(loss_of(other, x, target, NULL) == before);
  OK(minnow_module_load_weights(other, path_of(folder, "trained.safetensors")));
  CHECK(loss_of(other, x, target, NULL) == after);
  minnow_module_free(other);
  minnow_optimizer_free(optimizer);
  minnow_module_free(net);
  return after;
}

static void test_parameters(const char* folder) {
  minnow_module* net;
  minnow_optimizer* optimizer;
  minnow_tensor *weight, *grad, *y, *loss;
  int count, found = 0;
  OK(minnow_module_load(path_of(folder, "affine.onnx"), &net));
  OK(minnow_module_num_parameters(net, &count));
  CHECK(count == 2);
  const char* name;
  char weight_name[256] = "";
  for (int i = 0; i < count; ++i) {
    OK(minnow_module_parameter_name(net, i, &name));
    minnow_tensor* p;
    int ndim;
    OK(minnow_module_parameter(net, name, &p));
    OK(minnow_tensor_ndim(p, &ndim));
    if (ndim == 2) snprintf(weight_name, sizeof weight_name, "%s", name), ++found;
    minnow_tensor_free(p);
  }
  CHECK(found == 1);
  OK(minnow_module_parameter(net, weight_name, &weight));
  OK(minnow_tensor_grad(weight, &grad));
  CHECK(!grad);

  /* loss = the mean of y² for x = [1, 0], where y = [1.5, 2.5]: dloss / dw[0][0] = 1.5. */
  const float x[] = {1, 0}, zeros[] = {0, 0};
  minnow_tensor *input = matrix(x, 1, 2), *target = matrix(zeros, 1, 2);
  OK(minnow_optimizer_new(net, "sgd", 0.5, 0, &optimizer));
  OK(minnow_optimizer_set_momentum(optimizer, 0.9));
  OK(minnow_module_forward(net, (const minnow_tensor* const*)&input, 1, &y, 1));
  OK(minnow_loss("mse_loss", y, target, &loss));
  double value;
  OK(minnow_tensor_item(loss, &value));
  CHECK(value == (1.5 * 1.5 + 2.5 * 2.5) / 2);
  OK(minnow_tensor_backward(loss));
  OK(minnow_tensor_grad(weight, &grad));
  float g[4], w[4];
  OK(minnow_tensor_copy_out(grad, g, sizeof g));
  CHECK(g[0] == 1.5F);
  OK(minnow_optimizer_set_lr(optimizer, 1));
  OK(minnow_optimizer_step(optimizer));
  OK(minnow_tensor_copy_out(weight, w, sizeof w));
  CHECK(w[0] == -0.5F);
  minnow_tensor* all[] = {weight, grad, y, loss, input, target};
  for (size_t i = 0; i < sizeof all / sizeof *all; ++i) minnow_tensor_free(all[i]);
  minnow_optimizer_free(optimizer);
  minnow_module_free(net);
}

int main(int argc, char** argv) {
  CHECK(argc == 2);
  OK(minnow_manual_seed(1));
  OK(minnow_set_num_threads(1));
  float points[2 * POINTS];
  int64_t inside[POINTS];
  for (int i = 0; i < POINTS; ++i) {
    const double radius = 0.1 * (i % 20), angle = 0.7 * i;
    points[2 * i] = (float)(radius * cos(angle));
    points[2 * i + 1] = (float)(radius * sin(angle));
    inside[i] = radius < 1;
  }
  const int64_t rows[] = {POINTS};
  minnow_tensor *x = matrix(points, POINTS, 2), *target;
  OK(minnow_tensor_new(inside, MINNOW_INT64, 1, rows, &target));
  train(argv[1], "sgd", 1, x, target);
  train(argv[1], "adam", 0.02, x, target);
  train(argv[1], "adamw", 0.02, x, target);
  minnow_tensor_free(x);
  minnow_tensor_free(target);
  test_parameters(argv[1]);
  CHECK(minnow_live_handles() == 0);
  return 0;
}
