#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>
#include <minnow/tensor/cuda/memory/driver.h>

namespace minnow::cuda {

struct Arena;

/// What the driver gave in one piece: cut into small blocks, or one large block.
struct Slab {
  char* base = nullptr;
  std::size_t bytes = 0;
  std::size_t used = 0;
  Arena* arena = nullptr;
  int busy = 0;  ///< blocks that are not in a free list
};

/// A piece of a slab, of one size for as long as the slab lives.
struct Block {
  char* base = nullptr;
  std::size_t size = 0;
  Slab* slab = nullptr;
  Arena* arena = nullptr;
  StreamHandle stream = nullptr;    ///< in whose order it is reused
  std::vector<StreamHandle> users;  ///< other streams that used it since it was allocated
  bool live = false;

  // In the debug mode.
  bool guarded = false;  ///< there are canaries around the `requested` bytes
  std::size_t requested = 0;
  std::string maker, last_user;  ///< operations
};

/// Free blocks by stream and size class.
struct Arena {
  struct Lists {
    StreamHandle stream = nullptr;
    Slab* open = nullptr;  ///< small blocks are cut from its rest
    std::vector<std::vector<Block*>> free;
  };

  Lists& of(StreamHandle stream);
  /// A free block; nullptr when there is none.
  Block* take(StreamHandle stream, std::size_t size);
  void put(Block* block);

  std::vector<std::unique_ptr<Lists>> lists;  // few: one for each stream
};

}  // namespace minnow::cuda
