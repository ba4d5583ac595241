#pragma once

#include <minnow/tensor/tensor.h>

namespace minnow::nn {

namespace detail {

/// A tensor that a module registered.  Copies share it, except inside clone(), where a copy refers to the cloned
/// tensor.  Not assignable: the module would not know the new tensor.  Change the value instead, by copy_() or
/// set_data().
class RegisteredTensor : public Tensor {
 public:
  RegisteredTensor() = default;
  RegisteredTensor(const RegisteredTensor& other) : Tensor(shared_or_cloned(other)) {}
  RegisteredTensor& operator=(const RegisteredTensor&) = delete;

 protected:
  explicit RegisteredTensor(const Tensor& tensor) : Tensor(tensor) {}
  void become(const RegisteredTensor& other) { Tensor::operator=(other); }

 private:
  static Tensor shared_or_cloned(const Tensor& tensor);
};

}  // namespace detail

/// A trainable tensor of a module, made by Module::parameter(), in the initializer of the member or in the body of the
/// constructor; undefined when default-constructed (a layer without bias).
///
///     nn::Parameter scale = parameter("scale", ones({3}));
///     nn::Parameter shift;
///     Net() { shift = parameter("shift", zeros({3})); }
class Parameter : public detail::RegisteredTensor {
 public:
  Parameter() = default;
  Parameter(const Parameter&) = default;
  /// Ties this parameter to another one, for all layers and modules that hold them: one value, one gradient, two names.
  ///
  ///     Net() { decoder.weight = embedding.weight; }
  ///
  /// parameters() lists it once, so that an optimizer updates it once; state_dict() lists both names, as in PyTorch;
  /// to() and clone() keep the tie.  Optimizers that were made before hold the former value of this parameter.
  /// ValueError if one of them is undefined (a layer without bias), ShapeError for another shape, AutogradError for a
  /// parameter that is computed (weight_norm).
  Parameter& operator=(const Parameter& other) &;
  /// An undefined parameter becomes the one that parameter() has made; otherwise as above.
  Parameter& operator=(Parameter&& other) &;

 private:
  friend class Module;
  explicit Parameter(const Tensor& tensor) : RegisteredTensor(tensor) {}
};

/// A tensor that belongs to a module and is not trained (running statistics), made by Module::buffer() as a Parameter
/// is by parameter().
class Buffer : public detail::RegisteredTensor {
 public:
  Buffer() = default;
  Buffer(const Buffer&) = default;
  Buffer& operator=(const Buffer&) = delete;  // copy_() gives it other values
  /// An undefined buffer becomes the one that buffer() has made.  ValueError for a defined one.
  Buffer& operator=(Buffer&& other) &;

 private:
  friend class Module;
  explicit Buffer(const Tensor& tensor) : RegisteredTensor(tensor) {}
};

}  // namespace minnow::nn
