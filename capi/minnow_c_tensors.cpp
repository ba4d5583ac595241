#include <cstring>
#include <minnow/capi/detail/call.h>
#include <minnow/tensor/create.h>
#include <minnow/tensor/device.h>
#include <minnow/tensor/shape.h>

namespace minnow::capi {
namespace {

Shape shape_of(const Call& call, int ndim, const int64_t* sizes) {
  if (ndim < 0 || ndim > kMaxRank)
    throw ShapeError(std::string(call.op) + ": a tensor has 0 to " + std::to_string(kMaxRank) +
                         " dimensions\n  ndim  " + std::to_string(ndim),
                     call.where);
  Shape shape;
  for (int d = 0; d < ndim; ++d) shape.push_back(call.given(sizes, "shape")[d]);
  return shape;
}

void put(const Call& call, Tensor tensor, minnow_tensor** result) {
  call.put(std::make_shared<Tensor>(std::move(tensor)), result);
}

/// Calls the deleter, once it was given to the tensor.
struct Deleter {
  void (*function)(void*);
  void* context;
  bool armed = false;
};

}  // namespace
}  // namespace minnow::capi

using namespace minnow;
using namespace minnow::capi;

minnow_status minnow_tensor_new(const void* data, minnow_dtype dtype, int ndim, const int64_t* shape,
                                minnow_tensor** result) {
  return run(__func__, result, [&](const Call& call) {
    const BlobOptions options{.dtype = call.dtype(dtype)};
    put(call, from_blob(data, shape_of(call, ndim, shape), options, call.where).clone(call.where), result);
  });
}

minnow_status minnow_tensor_view(void* data, minnow_dtype dtype, int ndim, const int64_t* shape,
                                 void (*deleter)(void* context), void* context, minnow_tensor** result) {
  return run(__func__, result, [&](const Call& call) {
    BlobOptions options{.dtype = call.dtype(dtype)};
    if (reinterpret_cast<std::uintptr_t>(data) % size_of(*options.dtype) != 0)
      call.refuse("the address is not a multiple of the elements' size\ncopy the elements: minnow_tensor_new()");
    const auto own = std::make_shared<Deleter>(Deleter{deleter, context});
    options.deleter = [own](void*) {
      if (own->armed && own->function) own->function(own->context);
    };
    put(call, from_blob(data, shape_of(call, ndim, shape), options, call.where), result);
    own->armed = true;
  });
}

void minnow_tensor_free(minnow_tensor* tensor) { handles().tensors.remove(reinterpret_cast<std::uintptr_t>(tensor)); }

minnow_status minnow_tensor_dtype(const minnow_tensor* tensor, minnow_dtype* dtype) {
  return run(__func__, dtype,
             [&](const Call& call) { *dtype = static_cast<minnow_dtype>(call.get(tensor)->dtype(call.where)); });
}

minnow_status minnow_tensor_ndim(const minnow_tensor* tensor, int* ndim) {
  return run(__func__, ndim, [&](const Call& call) { *ndim = call.get(tensor)->dim(call.where); });
}

minnow_status minnow_tensor_shape(const minnow_tensor* tensor, int64_t* shape, int capacity) {
  return run(__func__, [&](const Call& call) {
    const Shape own = call.get(tensor)->shape(call.where);
    if (own.rank() > capacity)
      throw ShapeError(std::string(call.op) + ": there is memory for fewer sizes than the tensor has\n  tensor    " +
                           own.str() + "\n  capacity  " + std::to_string(capacity),
                       call.where);
    for (int d = 0; d < own.rank(); ++d) call.given(shape, "shape")[d] = own[d];
  });
}

minnow_status minnow_tensor_numel(const minnow_tensor* tensor, int64_t* numel) {
  return run(__func__, numel, [&](const Call& call) { *numel = call.get(tensor)->numel(call.where); });
}

minnow_status minnow_tensor_device(const minnow_tensor* tensor, const char** device) {
  return run(__func__, device, [&](const Call& call) { *device = kept(call.get(tensor)->device(call.where).str()); });
}

minnow_status minnow_tensor_data(const minnow_tensor* tensor, void** data) {
  return run(__func__, data, [&](const Call& call) {
    const Tensor t = *call.get(tensor);
    if (!t.device().is_cpu())
      throw DeviceError(std::string(call.op) + ": the tensor is on " + t.device().str() +
                            "\ncopy it: minnow_tensor_copy_out(), or minnow_tensor_to(tensor, \"cpu\", ...)",
                        call.where);
    if (!t.is_contiguous())
      throw ShapeError(std::string(call.op) + ": the elements are not in row-major order\n  tensor  " +
                           t.shape().str() + "\ncopy them: minnow_tensor_copy_out()",
                       call.where);
    t.storage()->wait_ready();
    *data = t.raw_data();
  });
}

minnow_status minnow_tensor_copy_out(const minnow_tensor* tensor, void* memory, size_t bytes) {
  return run(__func__, [&](const Call& call) {
    const Tensor t = call.get(tensor)->detach(call.where);
    if (bytes != static_cast<std::size_t>(t.nbytes()))
      throw ShapeError(std::string(call.op) + ": the memory has another size than the tensor\n  tensor  " +
                           t.shape().str() + ", " + std::to_string(t.nbytes()) + " bytes\n  memory  " +
                           std::to_string(bytes) + " bytes",
                       call.where);
    if (!bytes) return;
    call.given(memory, "memory");
    const Tensor host = t.cpu(call.where).contiguous(MemoryFormat::contiguous, call.where);
    host.storage()->wait_ready();
    std::memcpy(memory, host.raw_data(), bytes);
  });
}

minnow_status minnow_tensor_item(const minnow_tensor* tensor, double* value) {
  return run(__func__, value, [&](const Call& call) { *value = call.get(tensor)->item<double>(call.where); });
}

minnow_status minnow_tensor_to(const minnow_tensor* tensor, const char* device, minnow_tensor** result) {
  return run(__func__, result, [&](const Call& call) {
    put(call, call.get(tensor)->to(call.device(device), ToOptions{}, call.where), result);
  });
}

minnow_status minnow_tensor_to_dtype(const minnow_tensor* tensor, minnow_dtype dtype, minnow_tensor** result) {
  return run(__func__, result, [&](const Call& call) {
    put(call, call.get(tensor)->to(call.dtype(dtype), ToOptions{}, call.where), result);
  });
}

minnow_status minnow_tensor_backward(const minnow_tensor* loss) {
  return run(__func__, [&](const Call& call) { call.get(loss, "loss")->backward(BackwardOptions{}, call.where); });
}

minnow_status minnow_tensor_grad(const minnow_tensor* tensor, minnow_tensor** grad) {
  return run(__func__, grad, [&](const Call& call) {
    if (const Tensor own = call.get(tensor)->grad(call.where); own.defined()) put(call, own, grad);
  });
}
