#pragma once

#include <array>
#include <cstdint>
#include <iosfwd>
#include <memory>
#include <span>
#include <string>
#include <vector>
#include <minnow/tensor/device.h>
#include <minnow/tensor/dtype.h>
#include <minnow/tensor/index.h>
#include <minnow/tensor/scalar.h>
#include <minnow/tensor/shape.h>
#include <minnow/tensor/source_location.h>
#include <minnow/tensor/storage.h>

namespace minnow {

namespace autograd {
struct Slot;  // what autograd/ keeps with a tensor; opaque here
}

class Tensor;

/// Order of the dimensions of an image batch in memory; its logical shape is [N, C, H, W] in both.
enum class MemoryFormat { contiguous, channels_last };

struct ToOptions {
  /// Copy without waiting: from pinned memory to a device, or from a device to the host (the result's first
  /// host read waits for the copy).
  bool non_blocking = false;
  /// Copy even when nothing changes.
  bool copy = false;
};

struct BackwardOptions {
  bool retain_graph = false;
  bool create_graph = false;
};

namespace detail {

/// What the handles of one tensor share.
struct TensorImpl {
  std::shared_ptr<Storage> storage;
  Shape shape;
  Strides strides;
  std::int64_t offset = 0;  // in elements
  std::int64_t numel = 0;
  DType dtype = DType::float32;
  bool contiguous = true;
  std::shared_ptr<autograd::Slot> slot;
  std::shared_ptr<const std::string> name;
  bool held_by_graph = false;  // a saved value: counted by the storage

  TensorImpl() = default;
  TensorImpl(const TensorImpl&) = delete;
  TensorImpl& operator=(const TensorImpl&) = delete;
  ~TensorImpl() {
    if (held_by_graph) storage->add_graph_reference(-1);
  }
};

}  // namespace detail

/// An n-dimensional array on one device: a cheap handle to storage, shape, strides, dtype and device. Copying
/// shares; clone() copies.  Reading one tensor from several threads is safe; writing needs the caller's
/// order.
class Tensor {
 public:
  /// An undefined tensor: no storage; defined() is false and most operations refuse it.
  Tensor() = default;
  explicit Tensor(std::shared_ptr<detail::TensorImpl> impl) : impl_(std::move(impl)) {}
  /// A view of storage; never records.  Sizes are the caller's responsibility.
  Tensor(std::shared_ptr<Storage> storage, DType dtype, const Shape& shape, const Strides& strides,
         std::int64_t offset = 0);

  bool defined() const { return impl_ != nullptr; }
  // Of an undefined tensor they are a ValueError, as all that follows.
  const Shape& shape(SourceLocation where = SourceLocation::current()) const { return impl("shape", where)->shape; }
  const Strides& strides(SourceLocation where = SourceLocation::current()) const {
    return impl("strides", where)->strides;
  }
  /// Size of a dimension; negative counts from the end.  IndexError.
  std::int64_t size(int dim, SourceLocation where = SourceLocation::current()) const;
  std::int64_t stride(int dim, SourceLocation where = SourceLocation::current()) const;
  int dim(SourceLocation where = SourceLocation::current()) const { return impl("dim", where)->shape.rank(); }
  std::int64_t numel(SourceLocation where = SourceLocation::current()) const { return impl("numel", where)->numel; }
  DType dtype(SourceLocation where = SourceLocation::current()) const { return impl("dtype", where)->dtype; }
  Device device(SourceLocation where = SourceLocation::current()) const {
    return impl("device", where)->storage->device();
  }
  std::size_t itemsize(SourceLocation where = SourceLocation::current()) const {
    return size_of(impl("itemsize", where)->dtype);
  }
  std::int64_t nbytes(SourceLocation where = SourceLocation::current()) const {
    const detail::TensorImpl& t = *impl("nbytes", where);
    return t.numel * static_cast<std::int64_t>(size_of(t.dtype));
  }
  std::int64_t storage_offset(SourceLocation where = SourceLocation::current()) const {
    return impl("storage_offset", where)->offset;
  }
  const std::shared_ptr<Storage>& storage(SourceLocation where = SourceLocation::current()) const {
    return impl("storage", where)->storage;
  }
  bool is_contiguous(SourceLocation where = SourceLocation::current()) const {
    return impl("is_contiguous", where)->contiguous;
  }
  bool is_contiguous(MemoryFormat format, SourceLocation where = SourceLocation::current()) const;
  bool is_floating_point(SourceLocation where = SourceLocation::current()) const {
    return is_floating(impl("is_floating_point", where)->dtype);
  }
  bool is_pinned(SourceLocation where = SourceLocation::current()) const {
    return impl("is_pinned", where)->storage->is_pinned();
  }
  /// Whether a non-blocking copy into this tensor's host memory has finished.
  bool is_ready(SourceLocation where = SourceLocation::current()) const {
    return impl("is_ready", where)->storage->is_ready();
  }
  /// Whether both handles are the same tensor (not: equal values).
  bool is_same(const Tensor& other) const { return impl_ == other.impl_; }

  /// Whether this handle alone holds the tensor and its memory, so that it may be written without anyone
  /// seeing it.
  bool is_unique() const { return impl_.use_count() == 1 && impl_->storage.use_count() == 1; }

  /// Shown in error messages; parameters of modules carry their path, "fc1.weight".
  const std::string& name(SourceLocation where = SourceLocation::current()) const;
  void set_name(std::string name, SourceLocation where = SourceLocation::current());

  // Host access.  DeviceError for a device tensor, naming .cpu(); DTypeError unless T is the dtype's own
  // type. Waits for a non-blocking copy that is under way.

  /// The first element; elements follow by strides().
  template <class T> T* data(SourceLocation where = SourceLocation::current()) const {
    return static_cast<T*>(host_data(dtype_of<T>(), where));
  }
  /// All elements of a contiguous tensor.  ShapeError for others.
  template <class T> std::span<T> span(SourceLocation where = SourceLocation::current()) const {
    require_contiguous("span", where);
    return {data<T>(where), static_cast<std::size_t>(numel())};
  }
  /// The elements in row-major order, copied to the host from any device and strides, converted to T.  ValueError for
  /// a number that an integer T does not hold; others are truncated.
  template <class T> std::vector<T> to_vector(SourceLocation where = SourceLocation::current()) const;
  /// The value of a one-element tensor, converted to T as by to_vector.  Waits for the device.
  template <class T = double> T item(SourceLocation where = SourceLocation::current()) const;
  /// Memory of any device, unchecked and not waited for: for backends.
  void* raw_data() const {
    return static_cast<char*>(impl_->storage->data()) + impl_->offset * static_cast<std::int64_t>(itemsize());
  }

  // Views share storage; they record.  Dimensions may be negative.

  /// Same elements in row-major order, one size may be -1; a view where strides allow it, else a copy.
  Tensor reshape(const Shape& shape, SourceLocation where = SourceLocation::current()) const;
  /// As reshape, but ShapeError where a copy would be needed.
  Tensor view(const Shape& shape, SourceLocation where = SourceLocation::current()) const;
  Tensor transpose(int dim0, int dim1, SourceLocation where = SourceLocation::current()) const;
  /// Transpose of a matrix (of the last two dimensions where there are more).
  Tensor t(SourceLocation where = SourceLocation::current()) const;
  Tensor permute(const Shape& dims, SourceLocation where = SourceLocation::current()) const;
  Tensor squeeze(SourceLocation where = SourceLocation::current()) const;
  Tensor squeeze(int dim, SourceLocation where = SourceLocation::current()) const;
  Tensor unsqueeze(int dim, SourceLocation where = SourceLocation::current()) const;
  /// Repeats dimensions of size 1 without copying; -1 keeps a size.
  Tensor expand(const Shape& shape, SourceLocation where = SourceLocation::current()) const;
  Tensor flatten(int start = 0, int end = -1, SourceLocation where = SourceLocation::current()) const;
  /// `length` elements of a dimension from `start`.
  Tensor narrow(int dim, std::int64_t start, std::int64_t length,
                SourceLocation where = SourceLocation::current()) const;
  /// One index of a dimension, which disappears.
  Tensor select(int dim, std::int64_t index, SourceLocation where = SourceLocation::current()) const;
  /// t(0, all, slice(1, 9), newaxis, ellipsis)
  Tensor operator()(Index a) const { return index({&a, 1}, a.where); }
  Tensor operator()(Index a, Index b) const { return index(std::array{a, b}, a.where); }
  Tensor operator()(Index a, Index b, Index c) const { return index(std::array{a, b, c}, a.where); }
  Tensor operator()(Index a, Index b, Index c, Index d) const { return index(std::array{a, b, c, d}, a.where); }
  Tensor operator()(Index a, Index b, Index c, Index d, Index e) const {
    return index(std::array{a, b, c, d, e}, a.where);
  }
  /// The same for any number of indices.
  Tensor index(std::span<const Index> indices, SourceLocation where = SourceLocation::current()) const;

  // Copies and moves.  `to` returns this very tensor when nothing changes (unless .copy); it never changes
  // the tensor in place.  They record: the gradient returns to the source's device and dtype.

  [[nodiscard]] Tensor to(Device device, ToOptions options = {},
                          SourceLocation where = SourceLocation::current()) const;
  [[nodiscard]] Tensor to(DType dtype, ToOptions options = {}, SourceLocation where = SourceLocation::current()) const;
  [[nodiscard]] Tensor to(Device device, DType dtype, ToOptions options = {},
                          SourceLocation where = SourceLocation::current()) const;
  [[nodiscard]] Tensor to(const Tensor& other, ToOptions options = {},
                          SourceLocation where = SourceLocation::current()) const;
  [[nodiscard]] Tensor cpu(SourceLocation where = SourceLocation::current()) const;
  [[nodiscard]] Tensor cuda(SourceLocation where = SourceLocation::current()) const;
  [[nodiscard]] Tensor cuda(int index, SourceLocation where = SourceLocation::current()) const;
  /// A copy in page-locked host memory, from which devices copy without waiting; itself if it is pinned.
  [[nodiscard]] Tensor pin_memory(SourceLocation where = SourceLocation::current()) const;
  /// Itself if the memory is in that order already, else a copy.
  [[nodiscard]] Tensor contiguous(MemoryFormat format = MemoryFormat::contiguous,
                                  SourceLocation where = SourceLocation::current()) const;
  /// A copy with its own storage, dense, in the same order of dimensions.
  [[nodiscard]] Tensor clone(SourceLocation where = SourceLocation::current()) const;

  // Autograd.

  /// The same storage, outside the graph.
  [[nodiscard]] Tensor detach(SourceLocation where = SourceLocation::current()) const;
  bool requires_grad(SourceLocation where = SourceLocation::current()) const;
  /// Marks a leaf as one that gets a gradient.  AutogradError for a non-leaf, DTypeError unless floating.
  Tensor& requires_grad_(bool on = true, SourceLocation where = SourceLocation::current());
  /// Not the result of a recorded operation.
  bool is_leaf(SourceLocation where = SourceLocation::current()) const;
  /// The accumulated gradient; undefined before the first backward.
  Tensor grad(SourceLocation where = SourceLocation::current()) const;
  void set_grad(const Tensor& grad, SourceLocation where = SourceLocation::current()) const;
  /// Keeps the gradient of a non-leaf in grad() at the next backward.
  void retain_grad(SourceLocation where = SourceLocation::current()) const;
  /// Adds the gradient of this one-element tensor to the grad() of every leaf it depends on.
  void backward(BackwardOptions options = {}, SourceLocation where = SourceLocation::current()) const;
  /// The same for a tensor of any shape, given the gradient that arrives at it.
  void backward(const Tensor& gradient, BackwardOptions options = {},
                SourceLocation where = SourceLocation::current()) const;

  // For the layers above.

  /// Takes over other's value (storage, shape, strides, dtype, device); every handle of this tensor sees it,
  /// the autograd slot and the name stay.
  void set_data(const Tensor& other, SourceLocation where = SourceLocation::current()) const;
  const std::shared_ptr<autograd::Slot>& slot(SourceLocation where = SourceLocation::current()) const {
    return impl("slot", where)->slot;
  }
  void set_slot(std::shared_ptr<autograd::Slot> slot, SourceLocation where = SourceLocation::current()) const {
    impl("set_slot", where)->slot = std::move(slot);
  }
  /// ValueError naming the operation and the user's line for an undefined tensor.
  void require_defined(const char* op, SourceLocation where) const {
    if (!impl_) throw_undefined(op, where);
  }
  /// The tensor, as long as somebody else holds it.
  std::weak_ptr<detail::TensorImpl> weak() const { return impl_; }
  /// Identity of the tensor, for maps.
  const void* id() const { return impl_.get(); }
  /// The handle's own implementation; throws for an undefined tensor.
  detail::TensorImpl* impl(const char* op = "Tensor", SourceLocation where = SourceLocation::current()) const {
    if (!impl_) throw_undefined(op, where);
    return impl_.get();
  }

 private:
  [[noreturn]] static void throw_undefined(const char* op, SourceLocation where);
  void* host_data(DType expected, SourceLocation where) const;
  void require_contiguous(const char* op, SourceLocation where) const;

  std::shared_ptr<detail::TensorImpl> impl_;
};

/// "float32[64, 784] on cpu   parameter 'fc1.weight'": how messages show an operand.
std::string describe(const Tensor& tensor);

/// Prints like PyTorch: values, and shape, dtype and device where they are not the usual ones.
std::ostream& operator<<(std::ostream& out, const Tensor& tensor);
std::string to_string(const Tensor& tensor);

}  // namespace minnow
