#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>
#include <minnow/tensor/runtime/allocator.h>
#include <minnow/tensor/tensor.h>

namespace minnow::data {

/// Memory that the data loader gives a dataset for one batch.  It is used again when no tensor of an earlier batch
/// holds it, and it is pinned where the batch goes to a device.
class BatchBuffer {
 public:
  /// Uses ordinary host memory.
  BatchBuffer() : BatchBuffer(minnow::detail::cpu_allocator(), false) {}
  /// Uses memory of this allocator; `pinned`: it is pinned memory; `to_device`: the batch is copied to a device.
  BatchBuffer(minnow::detail::Allocator& allocator, bool pinned, Device device = {}, bool to_device = false)
      : allocator_(&allocator), device_(device), pinned_(pinned), to_device_(to_device) {}

  /// A new tensor for field `field` (0, 1, ... in the sample's order): contiguous, uninitialized; on the host where a
  /// dataset calls it.  ValueError unless field is in [0, 1024), ShapeError for a negative size, OutOfMemoryError.
  Tensor make(int field, DType dtype, const Shape& shape, SourceLocation where = SourceLocation::current());
  /// As make(), uint8, for a float32 field whose elements are byte * scale + shift: the loader computes them on the
  /// device, after a copy of a quarter of the size.  ValueError unless goes_to_device().
  Tensor make_bytes(int field, const Shape& shape, float scale, float shift,
                    SourceLocation where = SourceLocation::current());
  /// Whether the loader copies the batch to a device, so that make_bytes() can be used.
  bool goes_to_device() const { return to_device_; }

  /// The tensors that make() and make_bytes() returned for this batch, by field.
  const std::vector<Tensor>& tensors() const { return tensors_; }
  /// A field of bytes, and what is computed from them.
  struct Bytes {
    int field;
    float scale, shift;
  };
  /// Those that make_bytes() made for this batch.
  const std::vector<Bytes>& bytes() const { return bytes_; }
  /// Returns the tensors; their memory is used again when they are gone.
  std::vector<Tensor> take();
  /// Gives the memory up: the tensors own it, and their allocator waits for copies that still read it.
  void forget() { storages_.clear(); }
  /// Whether a tensor of this buffer, or a view of one, is held outside of it.
  bool is_shared() const;

 private:
  minnow::detail::Allocator* allocator_;
  Device device_;
  bool pinned_, to_device_ = false;
  std::vector<std::shared_ptr<Storage>> storages_;
  std::vector<Tensor> tensors_;
  std::vector<Bytes> bytes_;
};

}  // namespace minnow::data
