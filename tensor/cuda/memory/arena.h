#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>
#include <minnow/tensor/cuda/memory/driver.h>
#include <minnow/tensor/internal.h>
#include <minnow/tensor/runtime/free_lists.h>

namespace minnow::cuda {

struct Arena;

/// A piece of memory from the driver: divided into small blocks, or one large block.
struct Slab {
  char* base = nullptr;
  std::size_t bytes = 0;
  std::size_t used = 0;
  Arena* arena = nullptr;
  int busy = 0;  ///< blocks that are not in a free list
};

/// A part of a slab.  Its size does not change.
struct Block {
  char* base = nullptr;
  std::size_t size = 0;
  Slab* slab = nullptr;
  Arena* arena = nullptr;
  StreamHandle stream = nullptr;    ///< the stream in whose order it is reused
  std::vector<StreamHandle> users;  ///< other streams that used it since it was allocated
  bool live = false;

  // In the debug mode.
  bool guarded = false;  ///< there are guard bytes around the `requested` bytes
  std::size_t requested = 0;
  std::string maker, last_user;  ///< names of operations
};

/// Free blocks by stream and size class.
struct Arena {
  struct Lists {
    StreamHandle stream = nullptr;
    Slab* open = nullptr;  ///< the slab from which small blocks are taken
    FreeLists<Block> free;
  };

  Lists& of(StreamHandle stream);
  /// A free block; nullptr if there is none.
  Block* take(StreamHandle stream, std::size_t size);
  void put(Block* block);

  std::vector<std::unique_ptr<Lists>> lists;  // one for each stream
};

}  // namespace minnow::cuda
