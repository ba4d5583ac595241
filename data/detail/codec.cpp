#include <minnow/data/detail/codec.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <new>
#include <zlib.h>
#include <minnow/data/detail/host.h>

namespace minnow::data::detail {
namespace {

void put_u32(std::vector<std::byte>& out, std::uint64_t value) {
  for (int shift = 24; shift >= 0; shift -= 8) out.push_back(static_cast<std::byte>(value >> shift & 0xff));
}

/// Ends a chunk whose length and type begin at `start`: sets its length, appends its checksum.
void end_chunk(std::vector<std::byte>& out, std::size_t start) {
  constexpr std::size_t kHead = 8;
  const std::uint64_t length = out.size() - start - kHead;
  for (std::size_t i = 0; i < 4; ++i) out[start + i] = static_cast<std::byte>(length >> (24 - 8 * i) & 0xff);
  const auto* bytes = reinterpret_cast<const Bytef*>(out.data() + start + 4);
  put_u32(out, crc32(0, bytes, static_cast<uInt>(length + 4)));
}

std::size_t begin_chunk(std::vector<std::byte>& out, const char* type) {
  const std::size_t start = out.size();
  put_u32(out, 0);
  for (int i = 0; i < 4; ++i) out.push_back(static_cast<std::byte>(type[i]));
  return start;
}

int paeth(int a, int b, int c) {
  const int pa = std::abs(b - c), pb = std::abs(a - c), pc = std::abs(a + b - 2 * c);
  return pa <= pb && pa <= pc ? a : pb <= pc ? b : c;
}

constexpr int kFilters = 5;

/// A filtered row, after the number of the filter: differences to the left (a), above (b) and upper left (c) byte.
void filter_row(int filter, const std::uint8_t* row, const std::uint8_t* above, std::size_t bytes, std::size_t step,
                std::uint8_t* out) {
  *out++ = static_cast<std::uint8_t>(filter);
  for (std::size_t i = 0; i < bytes; ++i) {
    const int a = i < step ? 0 : row[i - step], b = above[i], c = i < step ? 0 : above[i - step];
    const int guess[kFilters] = {0, a, b, (a + b) / 2, filter == 4 ? paeth(a, b, c) : 0};
    out[i] = static_cast<std::uint8_t>(row[i] - guess[filter]);
  }
}

/// The sum of the bytes as signed numbers' absolute values: the filter with the smallest is taken, as libpng does.
std::uint64_t cost(const std::uint8_t* row, std::size_t bytes) {
  std::uint64_t sum = 0;
  for (std::size_t i = 1; i <= bytes; ++i) sum += row[i] < 128 ? row[i] : 256U - row[i];
  return sum;
}

struct Deflate {
  Deflate() {
    if (deflateInit(&stream, Z_DEFAULT_COMPRESSION) != Z_OK) throw std::bad_alloc();
  }
  ~Deflate() { deflateEnd(&stream); }
  Deflate(const Deflate&) = delete;
  Deflate& operator=(const Deflate&) = delete;

  /// Appends IDAT chunks of what is compressed so far.
  void put(std::span<std::uint8_t> in, int flush, std::vector<std::byte>& out) {
    constexpr std::size_t kBlock = std::size_t{1} << 16;
    stream.next_in = in.data();
    stream.avail_in = static_cast<uInt>(in.size());
    do {
      buffer.resize(kBlock);
      stream.next_out = buffer.data();
      stream.avail_out = static_cast<uInt>(kBlock);
      deflate(&stream, flush);
      buffer.resize(kBlock - stream.avail_out);
      if (buffer.empty()) break;
      const std::size_t start = begin_chunk(out, "IDAT");
      const auto* bytes = reinterpret_cast<const std::byte*>(buffer.data());
      out.insert(out.end(), bytes, bytes + buffer.size());
      end_chunk(out, start);
    } while (stream.avail_out == 0);
  }

  z_stream stream{};
  std::vector<std::uint8_t> buffer;
};

}  // namespace

std::vector<std::byte> encode_png(const Tensor& image) {
  const auto channels = static_cast<std::size_t>(image.shape()[0]);
  const auto height = static_cast<std::size_t>(image.shape()[1]), width = static_cast<std::size_t>(image.shape()[2]);
  constexpr std::uint8_t kTypes[] = {0, 0, 4, 2, 6};  // by channels: grey, grey and alpha, RGB, RGBA
  std::vector<std::byte> out;
  for (const int byte : {0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a}) out.push_back(static_cast<std::byte>(byte));
  std::size_t start = begin_chunk(out, "IHDR");
  put_u32(out, width);
  put_u32(out, height);
  for (const int byte : {8, int{kTypes[channels]}, 0, 0, 0}) out.push_back(static_cast<std::byte>(byte));
  end_chunk(out, start);

  const std::size_t bytes = width * channels, plane = width * height;
  std::vector<std::uint8_t> row(bytes), above(bytes), tried(bytes + 1), best(bytes + 1);
  const std::uint8_t* planes = image.data<std::uint8_t>();
  Deflate deflate;
  for (std::size_t y = 0; y < height; ++y) {
    for (std::size_t c = 0; c < channels; ++c)
      for (std::size_t x = 0; x < width; ++x) row[x * channels + c] = planes[c * plane + y * width + x];
    std::uint64_t least = ~std::uint64_t{0};
    for (int filter = 0; filter < kFilters; ++filter) {
      filter_row(filter, row.data(), above.data(), bytes, channels, tried.data());
      const std::uint64_t sum = cost(tried.data(), bytes);
      if (sum >= least) continue;
      least = sum;
      std::swap(tried, best);
    }
    deflate.put(best, y + 1 == height ? Z_FINISH : Z_NO_FLUSH, out);
    std::swap(row, above);
  }
  start = begin_chunk(out, "IEND");
  end_chunk(out, start);
  return out;
}

void check_pixels(std::uint64_t width, std::uint64_t height, const ReadImageOptions& options) {
  if (width == 0 || height == 0) throw ImageFault{"an image without pixels", "at least one"};
  if (height > static_cast<std::uint64_t>(options.max_pixels) / width)
    throw ImageFault{"an image of " + std::to_string(width) + " x " + std::to_string(height) + " pixels",
                     "at most " + std::to_string(options.max_pixels) + " pixels (max_pixels)"};
}

void split_row(const std::uint8_t* row, std::uint8_t* out, std::size_t width, std::size_t channels,
               std::size_t plane) noexcept {
  if (channels == 1) {
    std::memcpy(out, row, width);
  } else if (channels == 3) {
    std::uint8_t *r = out, *g = out + plane, *b = out + 2 * plane;
    for (std::size_t x = 0; x < width; ++x, row += 3) r[x] = row[0], g[x] = row[1], b[x] = row[2];
  } else {
    for (std::size_t x = 0; x < width; ++x)
      for (std::size_t c = 0; c < channels; ++c) out[c * plane + x] = *row++;
  }
}

Tensor to_grey(const Tensor& image, SourceLocation where) {
  const std::int64_t height = image.shape()[1], width = image.shape()[2], plane = height * width;
  const Tensor out = host_tensor(DType::uint8, {1, height, width}, where);
  if (image.shape()[0] < 3) {
    std::copy_n(image.data<std::uint8_t>(), plane, out.data<std::uint8_t>());
    return out;
  }
  const std::uint8_t *r = image.data<std::uint8_t>(), *g = r + plane, *b = g + plane;
  std::uint8_t* grey = out.data<std::uint8_t>();
  for (std::int64_t i = 0; i < plane; ++i)  // 65536 times the weights, as Pillow does
    grey[i] = static_cast<std::uint8_t>((r[i] * 19595U + g[i] * 38470U + b[i] * 7471U + 0x8000U) >> 16);
  return out;
}

}  // namespace minnow::data::detail
