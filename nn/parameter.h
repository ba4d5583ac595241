#pragma once

#include <minnow/tensor/tensor.h>

namespace minnow::nn {

namespace detail {

/// A tensor that a module registered.  Copying shares it, except inside clone(), where the copy holds the twin.
/// Not assignable: a new tensor in the member would be one that the module does not know.  Change the value instead,
/// by copy_() or set_data().
class Held : public Tensor {
 public:
  Held() = default;
  Held(const Held& other) : Tensor(twin_of(other)) {}
  Held& operator=(const Held&) = delete;

 protected:
  explicit Held(const Tensor& tensor) : Tensor(tensor) {}

 private:
  static Tensor twin_of(const Tensor& tensor);
};

}  // namespace detail

/// A trainable tensor of a module, made by Module::parameter(); undefined when default-made (a layer without bias).
class Parameter : public detail::Held {
 public:
  Parameter() = default;

 private:
  friend class Module;
  explicit Parameter(const Tensor& tensor) : Held(tensor) {}
};

/// A tensor that belongs to a module and is not trained (running statistics), made by Module::buffer().
class Buffer : public detail::Held {
 public:
  Buffer() = default;

 private:
  friend class Module;
  explicit Buffer(const Tensor& tensor) : Held(tensor) {}
};

}  // namespace minnow::nn
