#include <bit>
#include <minnow/data/idx.h>
#include "../support/gzip.h"
#include "fuzz.h"

using namespace minnow;

namespace {

/// The tensor as an IDX file.
std::string idx_of(const Tensor& t) {
  const int type = t.dtype() == DType::uint8     ? 0x08
                   : t.dtype() == DType::int32   ? 0x0c
                   : t.dtype() == DType::float32 ? 0x0d
                                                 : 0x0e;
  std::string out = {'\0', '\0', static_cast<char>(type), static_cast<char>(t.dim())};
  for (const std::int64_t n : t.shape())
    for (int shift = 24; shift >= 0; shift -= 8) out += static_cast<char>(n >> shift & 0xff);
  const std::size_t item = size_of(t.dtype());
  const std::string_view bytes(static_cast<const char*>(t.raw_data()), static_cast<std::size_t>(t.nbytes()));
  for (std::size_t at = 0; at < bytes.size(); at += item)
    for (std::size_t i = item; i-- > 0;) out += bytes[at + i];
  return out;
}

}  // namespace

// Plain, or gzip where the bytes begin so.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const fuzz::File file, again;
  Tensor read;
  if (!fuzz::accepts(file, fuzz::text(data, size), [&](const std::string& path) { read = data::read_idx(path); }))
    return 0;
  const std::string written = idx_of(read);
  for (const std::string& bytes : {written, test::gzipped(written)}) {
    again.write(bytes);
    fuzz::require(fuzz::same(data::read_idx(again.path()), read), "the same tensor");
  }
  return 0;
}
