#pragma once

/* minnow for C: a model of ONNX is loaded, called and trained.  docs/c-and-python.md has a program.
 *
 * A function returns 0, or the kind of its error; minnow_last_error() then has the text, with the C program's line.  No
 * C++ exception leaves a function, and none of them ends the program.  What a pointer at the end receives is NULL or 0
 * after an error.
 *
 * A handle (minnow_tensor *, ...) is a number that is used once: a function that gets one that was freed, is NULL or is
 * of another kind, returns MINNOW_VALUE_ERROR.  Each handle that a function gives is freed by its minnow_..._free().
 *
 * Threads: as in C++, threads may read a tensor and call a module at once, and what changes them is ordered by the
 * caller.  Errors and the grad mode are those of a thread. */

#include <stddef.h> /* NOLINT(modernize-deprecated-headers): of C, as the others */
#include <stdint.h> /* NOLINT(modernize-deprecated-headers) */

#ifdef __cplusplus
extern "C" {
#endif

typedef struct minnow_tensor minnow_tensor;
typedef struct minnow_module minnow_module;
typedef struct minnow_optimizer minnow_optimizer;

/* The kinds of minnow's errors; MINNOW_MEMORY_ERROR for a device or a host without memory. */
typedef enum minnow_status {
  MINNOW_OK = 0,
  MINNOW_SHAPE_ERROR = 1,
  MINNOW_DTYPE_ERROR = 2,
  MINNOW_DEVICE_ERROR = 3,
  MINNOW_INDEX_ERROR = 4,
  MINNOW_VALUE_ERROR = 5,
  MINNOW_AUTOGRAD_ERROR = 6,
  MINNOW_FORMAT_ERROR = 7,
  MINNOW_IO_ERROR = 8,
  MINNOW_MEMORY_ERROR = 9,
  MINNOW_BACKEND_ERROR = 10,
  MINNOW_OTHER_ERROR = 11
} minnow_status;

enum {
  MINNOW_FLOAT32 = 0,
  MINNOW_FLOAT64 = 1,
  MINNOW_FLOAT16 = 2,
  MINNOW_BFLOAT16 = 3,
  MINNOW_INT64 = 4,
  MINNOW_INT32 = 5,
  MINNOW_INT16 = 6,
  MINNOW_INT8 = 7,
  MINNOW_UINT8 = 8,
  MINNOW_BOOL = 9
};
typedef int minnow_dtype; /* one of these; others are errors */

/* "0.3.0": the version of the library. */
const char* minnow_version(void);
/* The text of this thread's last error, "" before the first; it is valid until the thread's next error. */
const char* minnow_last_error(void);
/* The file ("" if it is not known) and the line (0) that the error names. */
const char* minnow_last_error_file(void);
int minnow_last_error_line(void);
/* How many handles are not freed. */
size_t minnow_live_handles(void);
/* The line of the program that the next call of this thread is for.  The macros at the end of this file call it, for C.
 * The name of the file must live as long as the program. */
void minnow_at(const char* file, int line);

/* The seed of all random numbers. */
minnow_status minnow_manual_seed(uint64_t seed);
/* Threads of operations on the CPU.  VALUE: below 1 or too many. */
minnow_status minnow_set_num_threads(int threads);
/* The number of devices of a type: "cpu", "cuda", "sim".  DEVICE: another type. */
minnow_status minnow_device_count(const char* type, int* count);
/* Whether calls of this thread are recorded for backward; they are until it is set to 0. */
minnow_status minnow_set_grad_enabled(int on);

/* Tensors. */

/* A copy of elements in row-major order.  shape: ndim sizes, or NULL if ndim is 0.  DTYPE, SHAPE, VALUE, MEMORY. */
minnow_status minnow_tensor_new(const void* data, minnow_dtype dtype, int ndim, const int64_t* shape,
                                minnow_tensor** result);
/* The caller's memory itself, aligned to its elements.  When its last user is gone, deleter(context) is called, in any
 * thread; deleter may be NULL.  After an error the memory is still the caller's, and the deleter is not called. */
minnow_status minnow_tensor_view(void* data, minnow_dtype dtype, int ndim, const int64_t* shape,
                                 void (*deleter)(void* context), void* context, minnow_tensor** result);
/* Nothing happens for NULL and for what was freed before. */
void minnow_tensor_free(minnow_tensor* tensor);

minnow_status minnow_tensor_dtype(const minnow_tensor* tensor, minnow_dtype* dtype);
minnow_status minnow_tensor_ndim(const minnow_tensor* tensor, int* ndim);
/* The first `capacity` sizes, which must be at least ndim.  SHAPE: they are not. */
minnow_status minnow_tensor_shape(const minnow_tensor* tensor, int64_t* shape, int capacity);
minnow_status minnow_tensor_numel(const minnow_tensor* tensor, int64_t* numel);
/* "cpu", "cuda:0"; valid until this thread asks for the next name. */
minnow_status minnow_tensor_device(const minnow_tensor* tensor, const char** device);
/* The address of the elements in row-major order, valid while the tensor lives and is not moved.  DEVICE: not on the
 * CPU; SHAPE: other strides.  minnow_tensor_copy_out() reads every tensor. */
minnow_status minnow_tensor_data(const minnow_tensor* tensor, void** data);
/* Copies all elements, in row-major order, from any device.  SHAPE: the tensor does not have that many bytes. */
minnow_status minnow_tensor_copy_out(const minnow_tensor* tensor, void* memory, size_t bytes);
/* The value of a tensor with one element.  SHAPE: it has another number. */
minnow_status minnow_tensor_item(const minnow_tensor* tensor, double* value);
/* On another device, or of another dtype; a handle of the same tensor if nothing changes. */
minnow_status minnow_tensor_to(const minnow_tensor* tensor, const char* device, minnow_tensor** result);
minnow_status minnow_tensor_to_dtype(const minnow_tensor* tensor, minnow_dtype dtype, minnow_tensor** result);

/* Adds the gradient of this one number to all parameters that it depends on.  AUTOGRAD. */
minnow_status minnow_tensor_backward(const minnow_tensor* loss);
/* The gradient that backward added up; NULL, which is no error, if there is none. */
minnow_status minnow_tensor_grad(const minnow_tensor* tensor, minnow_tensor** grad);

/* Modules. */

/* Reads a model of ONNX (.onnx), which trains as other modules.  It is in eval mode.  FORMAT, IO, MEMORY. */
minnow_status minnow_module_load(const char* path, minnow_module** result);
void minnow_module_free(minnow_module* module);

minnow_status minnow_module_num_inputs(const minnow_module* module, int* count);
minnow_status minnow_module_num_outputs(const minnow_module* module, int* count);
/* Valid until this thread asks for the next name.  INDEX. */
minnow_status minnow_module_input_name(const minnow_module* module, int index, const char** name);
minnow_status minnow_module_output_name(const minnow_module* module, int index, const char** name);
/* Calls the module, and gives its first `num_outputs` outputs.  VALUE: a number of inputs or outputs that it does not
 * have; the errors of its operations. */
minnow_status minnow_module_forward(const minnow_module* module, const minnow_tensor* const* inputs, int num_inputs,
                                    minnow_tensor** outputs, int num_outputs);
/* Train mode (1) or eval mode (0). */
minnow_status minnow_module_train(minnow_module* module, int on);
/* Moves all parameters and buffers. */
minnow_status minnow_module_to(minnow_module* module, const char* device);

minnow_status minnow_module_num_parameters(const minnow_module* module, int* count);
minnow_status minnow_module_parameter_name(const minnow_module* module, int index, const char** name);
/* The parameter or buffer of a name; it shares memory with the module.  INDEX: there is none. */
minnow_status minnow_module_parameter(const minnow_module* module, const char* name, minnow_tensor** result);
/* Parameters and buffers in a file of safetensors.  IO. */
minnow_status minnow_module_save(const minnow_module* module, const char* path);
/* Reads them, from a file of safetensors, NumPy (.npz) or PyTorch (.pt).  VALUE: names or shapes that do not fit;
 * nothing has changed then.  FORMAT, IO. */
minnow_status minnow_module_load_weights(minnow_module* module, const char* path);

/* Training. */

/* The mean loss of x, what a module gave: "cross_entropy" and "nll_loss", whose target are class numbers (int64), or
 * "mse_loss", "l1_loss", "binary_cross_entropy_with_logits" with a target of the shape of x.  VALUE: another name. */
minnow_status minnow_loss(const char* name, const minnow_tensor* x, const minnow_tensor* target,
                          minnow_tensor** result);

/* "sgd", "adam" or "adamw" for all parameters of a module.  VALUE: another name, or numbers out of range. */
minnow_status minnow_optimizer_new(const minnow_module* module, const char* name, double lr, double weight_decay,
                                   minnow_optimizer** result);
void minnow_optimizer_free(minnow_optimizer* optimizer);
minnow_status minnow_optimizer_step(minnow_optimizer* optimizer);
minnow_status minnow_optimizer_zero_grad(minnow_optimizer* optimizer);
minnow_status minnow_optimizer_set_lr(minnow_optimizer* optimizer, double lr);
/* The momentum of SGD, or Adam's first beta. */
minnow_status minnow_optimizer_set_momentum(minnow_optimizer* optimizer, double momentum);

#ifdef __cplusplus
}
#endif

/* Errors name the line of these calls.  MINNOW_NO_LINES leaves them out. */
#if !defined(MINNOW_NO_LINES) && !defined(__cplusplus)
/* clang-format off */
#define minnow_manual_seed(...) (minnow_at(__FILE__, __LINE__), minnow_manual_seed(__VA_ARGS__))
#define minnow_set_num_threads(...) (minnow_at(__FILE__, __LINE__), minnow_set_num_threads(__VA_ARGS__))
#define minnow_device_count(...) (minnow_at(__FILE__, __LINE__), minnow_device_count(__VA_ARGS__))
#define minnow_set_grad_enabled(...) (minnow_at(__FILE__, __LINE__), minnow_set_grad_enabled(__VA_ARGS__))
#define minnow_tensor_new(...) (minnow_at(__FILE__, __LINE__), minnow_tensor_new(__VA_ARGS__))
#define minnow_tensor_view(...) (minnow_at(__FILE__, __LINE__), minnow_tensor_view(__VA_ARGS__))
#define minnow_tensor_dtype(...) (minnow_at(__FILE__, __LINE__), minnow_tensor_dtype(__VA_ARGS__))
#define minnow_tensor_ndim(...) (minnow_at(__FILE__, __LINE__), minnow_tensor_ndim(__VA_ARGS__))
#define minnow_tensor_shape(...) (minnow_at(__FILE__, __LINE__), minnow_tensor_shape(__VA_ARGS__))
#define minnow_tensor_numel(...) (minnow_at(__FILE__, __LINE__), minnow_tensor_numel(__VA_ARGS__))
#define minnow_tensor_device(...) (minnow_at(__FILE__, __LINE__), minnow_tensor_device(__VA_ARGS__))
#define minnow_tensor_data(...) (minnow_at(__FILE__, __LINE__), minnow_tensor_data(__VA_ARGS__))
#define minnow_tensor_copy_out(...) (minnow_at(__FILE__, __LINE__), minnow_tensor_copy_out(__VA_ARGS__))
#define minnow_tensor_item(...) (minnow_at(__FILE__, __LINE__), minnow_tensor_item(__VA_ARGS__))
#define minnow_tensor_to(...) (minnow_at(__FILE__, __LINE__), minnow_tensor_to(__VA_ARGS__))
#define minnow_tensor_to_dtype(...) (minnow_at(__FILE__, __LINE__), minnow_tensor_to_dtype(__VA_ARGS__))
#define minnow_tensor_backward(...) (minnow_at(__FILE__, __LINE__), minnow_tensor_backward(__VA_ARGS__))
#define minnow_tensor_grad(...) (minnow_at(__FILE__, __LINE__), minnow_tensor_grad(__VA_ARGS__))
#define minnow_module_load(...) (minnow_at(__FILE__, __LINE__), minnow_module_load(__VA_ARGS__))
#define minnow_module_num_inputs(...) (minnow_at(__FILE__, __LINE__), minnow_module_num_inputs(__VA_ARGS__))
#define minnow_module_num_outputs(...) (minnow_at(__FILE__, __LINE__), minnow_module_num_outputs(__VA_ARGS__))
#define minnow_module_input_name(...) (minnow_at(__FILE__, __LINE__), minnow_module_input_name(__VA_ARGS__))
#define minnow_module_output_name(...) (minnow_at(__FILE__, __LINE__), minnow_module_output_name(__VA_ARGS__))
#define minnow_module_forward(...) (minnow_at(__FILE__, __LINE__), minnow_module_forward(__VA_ARGS__))
#define minnow_module_train(...) (minnow_at(__FILE__, __LINE__), minnow_module_train(__VA_ARGS__))
#define minnow_module_to(...) (minnow_at(__FILE__, __LINE__), minnow_module_to(__VA_ARGS__))
#define minnow_module_num_parameters(...) (minnow_at(__FILE__, __LINE__), minnow_module_num_parameters(__VA_ARGS__))
#define minnow_module_parameter_name(...) (minnow_at(__FILE__, __LINE__), minnow_module_parameter_name(__VA_ARGS__))
#define minnow_module_parameter(...) (minnow_at(__FILE__, __LINE__), minnow_module_parameter(__VA_ARGS__))
#define minnow_module_save(...) (minnow_at(__FILE__, __LINE__), minnow_module_save(__VA_ARGS__))
#define minnow_module_load_weights(...) (minnow_at(__FILE__, __LINE__), minnow_module_load_weights(__VA_ARGS__))
#define minnow_loss(...) (minnow_at(__FILE__, __LINE__), minnow_loss(__VA_ARGS__))
#define minnow_optimizer_new(...) (minnow_at(__FILE__, __LINE__), minnow_optimizer_new(__VA_ARGS__))
#define minnow_optimizer_step(...) (minnow_at(__FILE__, __LINE__), minnow_optimizer_step(__VA_ARGS__))
#define minnow_optimizer_zero_grad(...) (minnow_at(__FILE__, __LINE__), minnow_optimizer_zero_grad(__VA_ARGS__))
#define minnow_optimizer_set_lr(...) (minnow_at(__FILE__, __LINE__), minnow_optimizer_set_lr(__VA_ARGS__))
#define minnow_optimizer_set_momentum(...) (minnow_at(__FILE__, __LINE__), minnow_optimizer_set_momentum(__VA_ARGS__))
/* clang-format on */
#endif
