#include <minnow/training/detail/png.h>

#include <cstddef>
#include <new>
#include <vector>
#include <zlib.h>

namespace minnow::detail {
namespace {

std::string big_endian(std::size_t n) {
  std::string bytes;
  for (int shift = 24; shift >= 0; shift -= 8) bytes += static_cast<char>(n >> shift & 255);
  return bytes;
}
std::string png_chunk(const std::string& kind, const std::string& data) {
  const std::string body = kind + data;
  const auto sum = crc32(0, reinterpret_cast<const Bytef*>(body.data()), static_cast<uInt>(body.size()));
  return big_endian(data.size()) + body + big_endian(sum);
}

}  // namespace

std::string encode_png(const std::uint8_t* pixels, int height, int width, int channels) {
  const auto row = static_cast<std::size_t>(width) * static_cast<std::size_t>(channels);
  std::string lines;
  for (int y = 0; y < height; ++y) {
    lines += '\0';  // no filter
    lines.append(reinterpret_cast<const char*>(pixels) + static_cast<std::size_t>(y) * row, row);
  }
  uLongf size = compressBound(lines.size());
  std::string packed(size, '\0');
  if (compress(reinterpret_cast<Bytef*>(packed.data()), &size, reinterpret_cast<const Bytef*>(lines.data()),
               lines.size()) != Z_OK)
    throw std::bad_alloc();  // the only failure with a buffer of that size
  packed.resize(size);
  const std::string kind{8, static_cast<char>(channels == 1 ? 0 : channels == 3 ? 2 : 6), 0, 0, 0};
  return "\x89PNG\r\n\x1a\n" +
         png_chunk("IHDR",
                   big_endian(static_cast<std::size_t>(width)) + big_endian(static_cast<std::size_t>(height)) + kind) +
         png_chunk("IDAT", packed) + png_chunk("IEND", "");
}

}  // namespace minnow::detail
