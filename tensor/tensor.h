#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <initializer_list>
#include <iosfwd>
#include <memory>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>
#include <minnow/tensor/checked.h>
#include <minnow/tensor/device.h>
#include <minnow/tensor/dtype.h>
#include <minnow/tensor/index.h>
#include <minnow/tensor/methods.h>
#include <minnow/tensor/scalar.h>
#include <minnow/tensor/shape.h>
#include <minnow/tensor/source_location.h>
#include <minnow/tensor/storage.h>
#include <minnow/tensor/view.h>

namespace minnow {

namespace autograd {
struct Slot;  // what autograd keeps for a tensor; opaque here
}

class Selection;

struct ToOptions {
  /// Return before the copy is done: from pinned memory to a device, or from a device to the host (the first read of
  /// the result on the host waits).  Pinned memory must not be written before its copy is done: synchronize().
  bool non_blocking = false;
  /// Copy even if device and dtype stay the same.
  bool copy = false;
};

struct BackwardOptions {
  bool retain_graph = false;  ///< keep the graph for another backward
  bool create_graph = false;  ///< record the computation of the gradients, for higher derivatives; retains the graph
};

namespace detail {

/// The state that all handles of a tensor share.
struct TensorImpl {
  View view;  // always defined
  std::shared_ptr<autograd::Slot> slot = nullptr;
  std::shared_ptr<const std::string> name = nullptr;
  bool held_by_graph = false;  // a saved value, counted in Storage::graph_references()

  TensorImpl(std::shared_ptr<Storage> storage, DType dtype, const Shape& shape, const Strides& strides,
             std::int64_t offset)
      : view(std::move(storage), dtype, shape, strides, offset) {}
  TensorImpl(const TensorImpl&) = delete;
  TensorImpl& operator=(const TensorImpl&) = delete;
  ~TensorImpl() {
    if (held_by_graph) view.storage()->add_graph_reference(-1);
  }
};

/// The view of an undefined tensor.
inline constinit const View kNoView = {};  // g++ 14 takes {} alone for a temporary

/// A C++ number type, to which elements are converted.
struct NumberType {
  enum class Kind : std::uint8_t { kBool, kSigned, kUnsigned, kFloating };

  Kind kind;
  std::size_t size;
};
template <class T> constexpr NumberType number_type() {
  using enum NumberType::Kind;
  return {std::is_same_v<T, bool>       ? kBool
          : std::is_floating_point_v<T> ? kFloating
          : std::is_signed_v<T>         ? kSigned
                                        : kUnsigned,
          sizeof(T)};
}

}  // namespace detail

/// An n-dimensional array on one device: a cheap handle to storage, shape, strides, dtype and device.  Copying shares,
/// clone() copies.  A const Tensor is a handle that cannot be given another tensor; the elements can still be written.
/// Threads may read a tensor at the same time; writes must be synchronized by the caller.
class Tensor : public detail::Methods {
 public:
  /// An undefined tensor: no storage; defined() is false and most operations refuse it.
  Tensor() = default;
  Tensor(const Tensor&) = default;
  Tensor(Tensor&&) noexcept = default;
  Tensor& operator=(const Tensor&) & = default;
  Tensor& operator=(Tensor&&) & noexcept = default;
  // Assigning to a result would be lost.  To write elements: x(0) = y, copy_(); a gradient: set_grad().
  Tensor& operator=(const Tensor&) && = delete;  // it would be lost: write x(0) = y, x.copy_(y) or x.set_grad(g)
  ~Tensor() = default;
  explicit Tensor(std::shared_ptr<detail::TensorImpl> impl) : impl_(std::move(impl)) {}
  /// A view of storage, not recorded.  Shape, strides and offset are not checked.
  Tensor(std::shared_ptr<Storage> storage, DType dtype, const Shape& shape, const Strides& strides,
         std::int64_t offset = 0);

  bool defined() const { return impl_ != nullptr; }
  // Members below throw ValueError for an undefined tensor unless they say otherwise.
  const Shape& shape(SourceLocation where = SourceLocation::current()) const {
    return impl("shape", where)->view.shape();
  }
  /// The same as shape(); PyTorch's name in C++.
  const Shape& sizes(SourceLocation where = SourceLocation::current()) const {
    return impl("sizes", where)->view.shape();
  }
  const Strides& strides(SourceLocation where = SourceLocation::current()) const {
    return impl("strides", where)->view.strides();
  }
  /// The size of a dimension; negative ones count from the end.  IndexError if out of range.
  std::int64_t size(int dim, SourceLocation where = SourceLocation::current()) const;
  std::int64_t stride(int dim, SourceLocation where = SourceLocation::current()) const;
  int dim(SourceLocation where = SourceLocation::current()) const { return impl("dim", where)->view.dim(); }
  std::int64_t numel(SourceLocation where = SourceLocation::current()) const {
    return impl("numel", where)->view.numel();
  }
  DType dtype(SourceLocation where = SourceLocation::current()) const { return impl("dtype", where)->view.dtype(); }
  Device device(SourceLocation where = SourceLocation::current()) const { return impl("device", where)->view.device(); }
  std::size_t itemsize(SourceLocation where = SourceLocation::current()) const {
    return impl("itemsize", where)->view.itemsize();
  }
  std::int64_t nbytes(SourceLocation where = SourceLocation::current()) const {
    return impl("nbytes", where)->view.nbytes();
  }
  std::int64_t storage_offset(SourceLocation where = SourceLocation::current()) const {
    return impl("storage_offset", where)->view.storage_offset();
  }
  const std::shared_ptr<Storage>& storage(SourceLocation where = SourceLocation::current()) const {
    return impl("storage", where)->view.storage();
  }
  bool is_contiguous(SourceLocation where = SourceLocation::current()) const {
    return impl("is_contiguous", where)->view.is_contiguous();
  }
  bool is_contiguous(MemoryFormat format, SourceLocation where = SourceLocation::current()) const;
  bool is_floating_point(SourceLocation where = SourceLocation::current()) const {
    return impl("is_floating_point", where)->view.is_floating_point();
  }
  bool is_pinned(SourceLocation where = SourceLocation::current()) const {
    return impl("is_pinned", where)->view.is_pinned();
  }
  /// Whether a non-blocking copy into this tensor's host memory has finished.
  bool is_ready(SourceLocation where = SourceLocation::current()) const {
    return impl("is_ready", where)->view.storage()->is_ready();
  }
  /// Whether both handles refer to the same tensor, or to tied parameters; values are not compared.
  bool is_same(const Tensor& other) const {
    if (!impl_ || !other.impl_) return impl_ == other.impl_;
    return impl_ == other.impl_ || (impl_->slot && impl_->slot == other.impl_->slot);
  }

  /// Whether this handle is the only one of the tensor and of its memory, so that nobody else can see a write.
  bool is_unique() const { return impl_.use_count() == 1 && impl_->view.storage().use_count() == 1; }

  /// Shown in error messages.  A module's parameters have their path as a name, "fc1.weight".
  const std::string& name(SourceLocation where = SourceLocation::current()) const;
  void set_name(std::string name, SourceLocation where = SourceLocation::current());

  // Host access.  DeviceError unless the tensor is on the CPU, DTypeError unless T is the C++ type of the dtype.  Waits
  // for a non-blocking copy into this tensor.

  /// The address of the first element; strides() leads to the others.
  template <class T> T* data(SourceLocation where = SourceLocation::current()) const {
    return static_cast<T*>(host_data(dtype_of<T>(), where));
  }
  /// All elements of a contiguous tensor.  ShapeError for others.
  template <class T> std::span<T> span(SourceLocation where = SourceLocation::current()) const {
    require_contiguous("span", where);
    return {data<T>(where), static_cast<std::size_t>(numel())};
  }
  /// A copy of the elements in row-major order, from any device and strides, converted to T (any number type; truncated
  /// for an integer T).  ValueError for a number that an integer T cannot hold; OutOfMemoryError.
  template <class T> [[nodiscard]] std::vector<T> to_vector(SourceLocation where = SourceLocation::current()) const {
    static_assert(std::is_arithmetic_v<T>, "to_vector<T>() returns numbers: T must be a number type");
    require_defined("to_vector", where);
    std::vector<T> values;
    std::unique_ptr<bool[]> flags;
    try {
      values.resize(static_cast<std::size_t>(numel()));
      if constexpr (std::is_same_v<T, bool>) flags.reset(new bool[values.size()]);
    } catch (const std::exception&) {  // std::bad_alloc, std::length_error
      refuse_vector(sizeof(T), where);
    }
    if constexpr (std::is_same_v<T, bool>) {
      copy_out("to_vector", flags.get(), detail::number_type<bool>(), where);
      values.assign(flags.get(), flags.get() + values.size());
    } else {
      copy_out("to_vector", values.data(), detail::number_type<T>(), where);
    }
    return values;
  }
  /// The value of a tensor with one element, converted as by to_vector().  Waits for the device.  ShapeError for
  /// others.
  template <class T = double> T item(SourceLocation where = SourceLocation::current()) const {
    static_assert(std::is_arithmetic_v<T>, "item<T>() returns a number: T must be a number type");
    require_one_element(where);
    T value{};
    copy_out("item", &value, detail::number_type<T>(), where);
    return value;
  }
  /// Whether the only element is not 0, for conditions: if (x.sum() > 0).  Waits for the device.  ValueError for an
  /// undefined tensor, and for another number of elements.
  explicit operator bool() const;
  /// The address of the first element on any device, unchecked and without waiting.  For backends.
  void* raw_data() const { return impl_->view.raw_data(); }
  /// Memory and layout, the operand of a backend's call; an undefined view for an undefined tensor.  set_data() changes
  /// it.
  const detail::View& layout() const { return impl_ ? impl_->view : detail::kNoView; }
  operator const detail::View&() const { return layout(); }

  // Views: they share storage and are recorded.  Negative dimensions count from the end.

  /// The same elements in row-major order, with another shape; one size may be -1.  A view if the strides allow it,
  /// otherwise a copy.  ShapeError if the numbers of elements differ.
  [[nodiscard]] Tensor reshape(const Shape& shape, SourceLocation where = SourceLocation::current()) const;
  /// The same, but ShapeError if a copy is needed.
  [[nodiscard]] Tensor view(const Shape& shape, SourceLocation where = SourceLocation::current()) const;
  [[nodiscard]] Tensor transpose(int dim0, int dim1, SourceLocation where = SourceLocation::current()) const;
  /// Swaps the last two dimensions: transposes each matrix of a batch.  ShapeError below two dimensions.
  [[nodiscard]] Tensor mT(SourceLocation where = SourceLocation::current()) const;
  /// The transpose of a matrix; a vector stays as it is.  ShapeError for more dimensions (use mT()).
  [[nodiscard]] Tensor t(SourceLocation where = SourceLocation::current()) const;
  [[nodiscard]] Tensor permute(const Shape& dims, SourceLocation where = SourceLocation::current()) const;
  [[nodiscard]] Tensor squeeze(SourceLocation where = SourceLocation::current()) const;
  [[nodiscard]] Tensor squeeze(int dim, SourceLocation where = SourceLocation::current()) const;
  [[nodiscard]] Tensor unsqueeze(int dim, SourceLocation where = SourceLocation::current()) const;
  /// Repeats dimensions of size 1 without copying; -1 keeps a size.  ShapeError for other sizes.
  [[nodiscard]] Tensor expand(const Shape& shape, SourceLocation where = SourceLocation::current()) const;
  [[nodiscard]] Tensor expand_as(const Tensor& other, SourceLocation where = SourceLocation::current()) const {
    return expand(other.shape(where), where);
  }
  [[nodiscard]] Tensor view_as(const Tensor& other, SourceLocation where = SourceLocation::current()) const {
    return view(other.shape(where), where);
  }
  [[nodiscard]] Tensor flatten(int start = 0, int end = -1, SourceLocation where = SourceLocation::current()) const;
  /// `length` elements of a dimension, from `start` on.  IndexError if they are not in the dimension.
  [[nodiscard]] Tensor narrow(int dim, std::int64_t start, std::int64_t length,
                              SourceLocation where = SourceLocation::current()) const;
  /// The slice at one index of a dimension, without that dimension.  IndexError.
  [[nodiscard]] Tensor select(int dim, std::int64_t index, SourceLocation where = SourceLocation::current()) const;
  /// t(0, all, slice(1, 9), newaxis, ellipsis) is a view.  Index tensors, t(rows) or t(all, columns), and masks, t(t >
  /// 0), give a copy of the selected elements, as in PyTorch.  Negative indices count from the end; IndexError for one
  /// out of range. Assigning to the result writes to this tensor: t(0) = row; t(mask) = 0.
  template <class... More> [[nodiscard]] Selection operator()(Index first, const More&... more) const;
  /// The same as t(i).
  [[nodiscard]] Selection operator[](Index i) const;
  /// The same for any number of indices.
  [[nodiscard]] Selection index(std::span<const Index> indices, SourceLocation where = SourceLocation::current()) const;
  [[nodiscard]] Selection index(std::initializer_list<Index> indices,
                                SourceLocation where = SourceLocation::current()) const;
  /// t(...) = source, or with `accumulate` source is added, all of those that go to one element.
  Tensor index_put_(std::initializer_list<Index> indices, const Tensor& source, bool accumulate = false,
                    SourceLocation where = SourceLocation::current()) const;
  /// A copy of this tensor with index_put_().
  [[nodiscard]] Tensor index_put(std::initializer_list<Index> indices, const Tensor& source, bool accumulate = false,
                                 SourceLocation where = SourceLocation::current()) const;

  class Iterator;
  /// for (const Tensor& row : t) iterates over the slices along dimension 0.  ShapeError for a 0-dim tensor.
  Iterator begin() const;
  Iterator end() const;

  // Copies to another device, dtype or layout.  `to` returns this tensor if nothing changes (unless .copy), and never
  // changes it in place.  They are recorded: the gradient returns to the source's device and dtype.

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
  /// A copy in page-locked host memory, from which non-blocking copies are possible; this tensor if it is pinned
  /// already. DeviceError unless it is on the CPU, and without a device that copies from pinned memory.
  [[nodiscard]] Tensor pin_memory(SourceLocation where = SourceLocation::current()) const;
  /// This tensor if its memory is in that order already, otherwise a copy.
  [[nodiscard]] Tensor contiguous(MemoryFormat format = MemoryFormat::contiguous,
                                  SourceLocation where = SourceLocation::current()) const;
  /// A dense copy with its own storage, in the same order of dimensions.
  [[nodiscard]] Tensor clone(SourceLocation where = SourceLocation::current()) const;

  // Autograd.

  /// A tensor of the same storage that is not in the graph.
  [[nodiscard]] Tensor detach(SourceLocation where = SourceLocation::current()) const;
  bool requires_grad(SourceLocation where = SourceLocation::current()) const;
  /// Makes a leaf require a gradient, or not.  AutogradError for `false` on a non-leaf, DTypeError unless
  /// floating-point.
  Tensor& requires_grad_(bool on = true, SourceLocation where = SourceLocation::current());
  /// Whether this is not the result of a recorded operation.
  bool is_leaf(SourceLocation where = SourceLocation::current()) const;
  /// The accumulated gradient; undefined before the first backward and after zero_grad().
  Tensor grad(SourceLocation where = SourceLocation::current()) const;
  /// Replaces the gradient; an undefined tensor removes it.  It needs this tensor's shape, dtype and device.
  void set_grad(const Tensor& grad, SourceLocation where = SourceLocation::current()) const;
  /// Makes backward keep the gradient of a non-leaf in grad().
  void retain_grad(SourceLocation where = SourceLocation::current()) const;
  /// Adds the gradient of this tensor, which has one element, to grad() of every leaf that it depends on.
  /// AutogradError if it depends on no leaf that requires a gradient, has more elements, or its graph was freed.
  void backward(BackwardOptions options = {}, SourceLocation where = SourceLocation::current()) const;
  /// The same for a tensor of any shape, given its gradient.
  void backward(const Tensor& gradient, BackwardOptions options = {},
                SourceLocation where = SourceLocation::current()) const;

  // For the library.

  /// Gives this tensor the storage, shape, strides, dtype and device of another one, for all its handles.  The autograd
  /// slot and the name stay.  Does not allocate, and does not throw if both are defined.
  void set_data(const Tensor& other, SourceLocation where = SourceLocation::current()) const;
  const std::shared_ptr<autograd::Slot>& slot(SourceLocation where = SourceLocation::current()) const {
    return impl("slot", where)->slot;
  }
  void set_slot(std::shared_ptr<autograd::Slot> slot, SourceLocation where = SourceLocation::current()) const {
    impl("set_slot", where)->slot = std::move(slot);
  }
  /// ValueError with the operation and the user's line for an undefined tensor.
  void require_defined(const char* op = "", SourceLocation where = {}) const {
    if (!impl_) throw_undefined(op, where);
  }
  const std::shared_ptr<detail::TensorImpl>& handle() const { return impl_; }
  /// A weak reference to the tensor.
  std::weak_ptr<detail::TensorImpl> weak() const { return impl_; }
  /// The identity of the tensor, as a key of maps.
  const void* id() const { return impl_.get(); }
  /// The shared state; ValueError for an undefined tensor.
  detail::TensorImpl* impl(const char* op = "Tensor", SourceLocation where = SourceLocation::current()) const {
    if (!impl_) throw_undefined(op, where);
    return impl_.get();
  }

 private:
  [[noreturn]] static void throw_undefined(const char* op, SourceLocation where);
  void* host_data(DType expected, SourceLocation where) const;
  void require_one_element(SourceLocation where) const;
  void copy_out(const char* op, void* to, detail::NumberType type, SourceLocation where) const;
  /// OutOfMemoryError.
  [[noreturn]] void refuse_vector(std::size_t bytes_of_number, SourceLocation where) const;
  void require_contiguous(const char* op, SourceLocation where) const;

  std::shared_ptr<detail::TensorImpl> impl_;
};

/// The result of x(...): a tensor that can be assigned to.  `x(0) = y` writes y, broadcast and converted, to x; so do
/// `x(mask) = 0` and `x(rows) += y`, where the last of equal rows counts.  If the write is recorded, no other tensor
/// may share x's memory (AutogradError).  `auto row = x(0); row = y;` gives the handle another tensor, as for any
/// Tensor.
class Selection : public Tensor {
 public:
  Selection(const Selection&) = default;
  Selection(Selection&&) noexcept = default;
  Selection& operator=(const Selection& other) & = default;
  Selection& operator=(Selection&&) & noexcept = default;
  Selection& operator=(const Tensor& other) &;
  ~Selection() = default;

  void operator=(const Selection& source) && { write(source); }
  void operator=(const Tensor& source) && { write(source); }
  void operator=(Scalar value) && { write(value); }
  void operator+=(const TensorLike& other) &&;
  void operator-=(const TensorLike& other) &&;
  void operator*=(const TensorLike& other) &&;
  void operator/=(const TensorLike& other) &&;

 private:
  friend class Tensor;
  /// Selected as a view.
  Selection(Tensor view, const Tensor& source, const Slices& slices, SourceLocation where);
  /// Selected as a copy.
  Selection(Tensor values, const Tensor& source, std::span<const Index> indices, SourceLocation where);
  void write(const Tensor& source);
  void write(Scalar value);
  void update(Tensor (*in_place)(const In&, const TensorLike&),
              Tensor (*function)(const TensorLike&, const TensorLike&), const TensorLike& other);
  Tensor target() const;

  std::weak_ptr<detail::TensorImpl> source_;
  Slices slices_;
  std::shared_ptr<const std::vector<Index>> indices_;  // set if some of them are tensors
  SourceLocation where_;
};

template <class... More> Selection Tensor::operator()(Index first, const More&... more) const {
  static_assert((std::is_convertible_v<const More&, Index> && ...),
                "an index is an integer, slice(...), all, newaxis, ellipsis, an index tensor or a mask");
  const SourceLocation where = first.where;
  return index(std::array<Index, 1 + sizeof...(More)>{std::move(first), Index(more, where)...}, where);
}
inline Selection Tensor::operator[](Index i) const { return index({&i, 1}, i.where); }
inline Selection Tensor::index(std::initializer_list<Index> indices, SourceLocation where) const {
  return index(std::span(indices.begin(), indices.size()), where);
}

/// Iterates over dimension 0.
class Tensor::Iterator {
 public:
  Iterator(const Tensor* tensor, std::int64_t at) : tensor_(tensor), at_(at) {}
  Tensor operator*() const { return tensor_->select(0, at_); }
  Iterator& operator++() { return ++at_, *this; }
  bool operator==(const Iterator& other) const { return at_ == other.at_; }

 private:
  const Tensor* tensor_;
  std::int64_t at_;
};

inline Index::Index(const Tensor& indices, SourceLocation l)
    : kind(Kind::kTensor), tensor(indices.handle()), where(l) {}

/// An operand as messages show it: "float32[64, 784] on cpu   parameter 'fc1.weight'".
std::string describe(const Tensor& tensor);
/// The same without a name.
std::string describe(const detail::View& view);

/// The values as PyTorch prints them, and dtype, device and requires_grad unless they are the default.  (operator<< is
/// in in.h.)
std::string to_string(const Tensor& tensor, SourceLocation where = SourceLocation::current());

}  // namespace minnow
