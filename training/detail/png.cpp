#include <minnow/training/detail/png.h>

#include <algorithm>
#include <cstdint>
#include <new>
#include <string_view>
#include <zlib.h>

namespace minnow::training::detail {
namespace {

void append_number(std::string& to, std::uint32_t number) {
  for (const int shift : {24, 16, 8, 0}) to += static_cast<char>(number >> shift & 0xff);
}

void append_chunk(std::string& to, std::string_view kind, std::string_view data) {
  append_number(to, static_cast<std::uint32_t>(data.size()));
  const std::size_t begin = to.size();
  to.append(kind).append(data);
  const auto* bytes = reinterpret_cast<const Bytef*>(to.data() + begin);
  append_number(to, static_cast<std::uint32_t>(crc32_z(0, bytes, to.size() - begin)));
}

}  // namespace

std::string encode_png(const Tensor& image) {
  const Tensor host = image.cpu().contiguous();
  const auto channels = static_cast<std::size_t>(host.size(0)), height = static_cast<std::size_t>(host.size(1)),
             width = static_cast<std::size_t>(host.size(2)), line = 1 + width * channels;
  const std::uint8_t* planes = host.data<std::uint8_t>();
  std::string lines(height * line, '\0');  // each begins with its filter: none
  for (std::size_t c = 0; c < channels; ++c)
    for (std::size_t y = 0; y < height; ++y)
      for (std::size_t x = 0; x < width; ++x)
        lines[y * line + 1 + x * channels + c] = static_cast<char>(planes[(c * height + y) * width + x]);
  auto size = compressBound(static_cast<uLong>(lines.size()));
  std::string packed(size, '\0');
  if (compress2(reinterpret_cast<Bytef*>(packed.data()), &size, reinterpret_cast<const Bytef*>(lines.data()),
                static_cast<uLong>(lines.size()), Z_DEFAULT_COMPRESSION) != Z_OK)
    throw std::bad_alloc();  // its only failure here
  packed.resize(size);

  std::string header;
  append_number(header, static_cast<std::uint32_t>(width));
  append_number(header, static_cast<std::uint32_t>(height));
  const char colours = channels == 1 ? '\0' : channels == 3 ? '\2' : '\6';  // PNG's numbers
  header.append({'\x8', colours, '\0', '\0', '\0'});
  std::string png = "\x89PNG\r\n\x1a\n";
  append_chunk(png, "IHDR", header);
  // A chunk has 31 bits for its size.
  for (std::size_t at = 0; at < packed.size(); at += 1 << 30)
    append_chunk(png, "IDAT", std::string_view(packed).substr(at, 1 << 30));
  append_chunk(png, "IEND", "");
  return png;
}

}  // namespace minnow::training::detail
