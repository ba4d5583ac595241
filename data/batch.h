#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>
#include <minnow/tensor/allocator.h>
#include <minnow/tensor/tensor.h>

namespace minnow::data {

/// Where the loader lets a dataset write one batch: the memory of an earlier batch that nobody holds any
/// more, in pinned memory where the batch goes to a device.
class BatchBuffer {
 public:
  /// Uses ordinary host memory.
  BatchBuffer() : BatchBuffer(minnow::detail::cpu_allocator(), false) {}
  /// Uses memory of this allocator, `pinned` when devices can copy from it by themselves.
  BatchBuffer(minnow::detail::Allocator& allocator, bool pinned, Device device = {})
      : allocator_(&allocator), device_(device), pinned_(pinned) {}

  /// The tensor of field `field` (0, 1, ... in the sample's order): contiguous, of unspecified content; on
  /// the host for a dataset.  ValueError unless field is in [0, 1024), ShapeError for a negative size,
  /// OutOfMemoryError.
  Tensor make(int field, DType dtype, const Shape& shape, SourceLocation where = SourceLocation::current());

  /// The fields that were made for this batch.
  const std::vector<Tensor>& tensors() const { return tensors_; }
  /// Hands the tensors over and keeps their memory, to be used again once it is free.
  std::vector<Tensor> take();
  /// Leaves the memory to its tensors and its allocator, which knows of copies that still read it.
  void forget() { storages_.clear(); }
  /// Whether a tensor made here, or a view of one, is alive outside of the buffer.
  bool is_shared() const;

 private:
  minnow::detail::Allocator* allocator_;
  Device device_;
  bool pinned_;
  std::vector<std::shared_ptr<Storage>> storages_;
  std::vector<Tensor> tensors_;
};

}  // namespace minnow::data
