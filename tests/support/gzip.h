#pragma once

#include <new>
#include <string>
#include <zlib.h>

namespace minnow::test {

/// zlib's output; window_bits: 31 for gzip, -15 for deflate alone.
inline std::string deflated(const std::string& in, int window_bits) {
  z_stream z{};
  if (deflateInit2(&z, 6, Z_DEFLATED, window_bits, 8, Z_DEFAULT_STRATEGY) != Z_OK) throw std::bad_alloc();
  std::string source = in, out(deflateBound(&z, static_cast<uLong>(in.size())) + 64, '\0');
  z.next_in = reinterpret_cast<Bytef*>(source.data());
  z.avail_in = static_cast<uInt>(source.size());
  z.next_out = reinterpret_cast<Bytef*>(out.data());
  z.avail_out = static_cast<uInt>(out.size());
  deflate(&z, Z_FINISH);
  out.resize(z.total_out);
  deflateEnd(&z);
  return out;
}

inline std::string gzipped(const std::string& in) { return deflated(in, 15 + 16); }

}  // namespace minnow::test
