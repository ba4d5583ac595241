#include <minnow/distributed/detail/transfer.h>

#include <algorithm>
#include <cstring>
#include <vector>
#include <minnow/distributed/detail/combine.h>

namespace minnow::dist {
namespace {

constexpr std::int64_t kSegmentBytes = 16 << 20;

/// Room for a segment of each rank, kept by the thread of the engine.
std::byte* room(std::size_t bytes, int which) {
  thread_local std::vector<std::byte> rooms[2];
  std::vector<std::byte>& own = rooms[which];
  if (own.size() < bytes) own.resize(bytes);
  return own.data();
}

}  // namespace

void all_reduce_bytes(Communicator& c, ReduceOp op, DType dtype, std::byte* data, std::int64_t n) {
  const int ranks = c.size();
  if (ranks == 1) return;
  const auto size = static_cast<std::int64_t>(size_of(dtype));
  // Each rank combines a part of the segment; the last part is filled up.
  const std::int64_t most = std::max<std::int64_t>(1, kSegmentBytes / size / ranks) * ranks;
  for (std::int64_t at = 0; at < n; at += most) {
    const std::int64_t some = std::min(most, n - at), part = (some + ranks - 1) / ranks;
    const auto bytes = static_cast<std::size_t>(part * size), all = bytes * static_cast<std::size_t>(ranks);
    std::byte *const mine = room(all, 0), *const theirs = room(all, 1);
    std::memcpy(mine, data + at * size, static_cast<std::size_t>(some * size));
    std::memset(mine + some * size, 0, all - static_cast<std::size_t>(some * size));
    c.exchange(mine, theirs, bytes);
    combine(op, dtype, theirs, ranks, part, mine + static_cast<std::size_t>(c.rank()) * bytes);
    c.gather(mine, bytes);
    std::memcpy(data + at * size, mine, static_cast<std::size_t>(some * size));
  }
}

void reduce_scatter_bytes(Communicator& c, ReduceOp op, DType dtype, const std::byte* data, std::int64_t n,
                          std::byte* out) {
  const int ranks = c.size();
  const auto size = static_cast<std::int64_t>(size_of(dtype));
  const std::int64_t most = std::max<std::int64_t>(1, kSegmentBytes / size / ranks);
  for (std::int64_t at = 0; at < n; at += most) {
    const std::int64_t some = std::min(most, n - at);
    const auto bytes = static_cast<std::size_t>(some * size), all = bytes * static_cast<std::size_t>(ranks);
    std::byte *const mine = room(all, 0), *const theirs = room(all, 1);
    for (int r = 0; r < ranks; ++r)
      std::memcpy(mine + static_cast<std::size_t>(r) * bytes, data + (r * n + at) * size, bytes);
    c.exchange(mine, theirs, bytes);
    combine(op, dtype, theirs, ranks, some, out + at * size);
  }
}

void all_gather_bytes(Communicator& c, const std::byte* data, std::byte* out, std::size_t bytes) {
  const auto ranks = static_cast<std::size_t>(c.size());
  const std::size_t most = std::max<std::size_t>(1, static_cast<std::size_t>(kSegmentBytes) / ranks);
  for (std::size_t at = 0; at < bytes; at += most) {
    const std::size_t some = std::min(most, bytes - at);
    std::byte* const parts = room(some * ranks, 0);
    std::memcpy(parts + static_cast<std::size_t>(c.rank()) * some, data + at, some);
    c.gather(parts, some);
    for (std::size_t r = 0; r < ranks; ++r) std::memcpy(out + r * bytes + at, parts + r * some, some);
  }
}

}  // namespace minnow::dist
