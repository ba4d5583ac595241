#pragma once

#include <cstddef>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>
#include <minnow/tensor/cuda/memory/driver.h>
#include <minnow/tensor/internal.h>
#include <minnow/tensor/runtime/free_lists.h>

namespace minnow::cuda {

struct Arena;

/// A piece of memory from the driver: divided into small blocks, or made for one large block.
struct Slab {
  char* base = nullptr;
  std::size_t bytes = 0;
  std::size_t used = 0;
  Arena* arena = nullptr;
  int busy = 0;  ///< blocks that are not in a free list
};

/// A part of a slab.  The size of a small one does not change; a large one that is free can be split, and is joined
/// with its neighbours that are free.
struct Block {
  char* base = nullptr;
  std::size_t size = 0;
  Slab* slab = nullptr;
  Arena* arena = nullptr;
  Block *before = nullptr, *after = nullptr;  ///< neighbours in the slab; none for small ones
  StreamHandle stream = nullptr;              ///< the stream in whose order it is reused
  std::vector<StreamHandle> users;            ///< other streams that used it since it was allocated
  bool live = false;
  bool is_free = false;  ///< among the large ones of its arena

  // In the debug mode.
  bool guarded = false;  ///< there are guard bytes around the `requested` bytes
  std::size_t requested = 0;
  std::string maker, last_user;  ///< names of operations
};

/// Free blocks by stream, small ones by size class.
struct Arena {
  static constexpr std::size_t kLargestSmall = std::size_t{256} << 10;
  struct Smaller {
    bool operator()(const Block* a, const Block* b) const {
      return std::pair(a->size, a->base) < std::pair(b->size, b->base);
    }
  };
  struct Lists {
    StreamHandle stream = nullptr;
    Slab* open = nullptr;  ///< the slab from which small blocks are taken
    FreeLists<Block> small;
    std::set<Block*, Smaller> large;
  };

  Lists& of(StreamHandle stream);
  /// A free block: a small one has the size, a large one is the smallest that is large enough.  nullptr if there is
  /// none.
  Block* take(StreamHandle stream, std::size_t size);
  void put(Block* block);
  /// Takes a large block out.
  void remove(Block* block);

  std::vector<std::unique_ptr<Lists>> lists;  // one for each stream
};

}  // namespace minnow::cuda
