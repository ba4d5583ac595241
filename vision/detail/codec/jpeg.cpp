#include <csetjmp>
#include <cstdio>  // before jpeglib.h, which uses FILE
#include <cstdlib>
#include <cstring>
#include <jerror.h>
#include <jpeglib.h>
#include <memory>
#include <minnow/data/detail/host.h>
#include <minnow/tensor/error.h>
#include <minnow/tensor/internal.h>
#include <minnow/vision/detail/codec.h>

namespace minnow::vision::detail {
namespace {

/// Errors of libjpeg jump back to setjmp: the functions below that call it have no objects with destructors.
struct Errors {
  jpeg_error_mgr base;
  std::jmp_buf jump;
  char text[JMSG_LENGTH_MAX];
  bool damaged;  // a warning of lost data
};

[[noreturn]] void on_error(j_common_ptr info) {
  auto* errors = reinterpret_cast<Errors*>(info->err);
  (*info->err->format_message)(info, errors->text);
  std::longjmp(errors->jump, 1);
}

/// libjpeg fills missing data with grey and only warns of it.
void on_message(j_common_ptr info, int level) {
  auto* errors = reinterpret_cast<Errors*>(info->err);
  const int code = info->err->msg_code;
  const bool harmless =
      code == JWRN_EXTRANEOUS_DATA || code == JWRN_ADOBE_XFORM || code == JWRN_TOO_MUCH_DATA || code == JWRN_JFIF_MAJOR;
  if (level >= 0 || harmless || errors->damaged) return;
  (*info->err->format_message)(info, errors->text);
  errors->damaged = true;
}

void set_up(Errors* errors, jpeg_error_mgr** target) {
  *target = jpeg_std_error(&errors->base);
  errors->base.error_exit = on_error;
  errors->base.emit_message = on_message;
  errors->damaged = false;
  errors->text[0] = '\0';
}

struct Reader {
  jpeg_decompress_struct info{};
  Errors errors{};
  jpeg_progress_mgr progress{};

  Reader() { set_up(&errors, &info.err); }
  ~Reader() { jpeg_destroy_decompress(&info); }
  Reader(const Reader&) = delete;
  Reader& operator=(const Reader&) = delete;
};

/// A progressive file may have any number of scans, each of which takes the time of an image.
void on_progress(j_common_ptr info) {
  constexpr int kMaxScans = 500;
  if (reinterpret_cast<j_decompress_ptr>(info)->input_scan_number <= kMaxScans) return;
  auto* errors = reinterpret_cast<Errors*>(info->err);
  std::strcpy(errors->text, "more than 500 scans");
  std::longjmp(errors->jump, 1);
}

bool read_header(Reader* reader, const std::byte* data, std::size_t size) {
  if (setjmp(reader->errors.jump)) return false;
  jpeg_create_decompress(&reader->info);
  reader->progress.progress_monitor = on_progress;
  reader->info.progress = &reader->progress;
  jpeg_mem_src(&reader->info, reinterpret_cast<const unsigned char*>(data), static_cast<unsigned long>(size));
  jpeg_read_header(&reader->info, TRUE);
  return true;
}

bool start(Reader* reader, ImageMode mode) {
  if (setjmp(reader->errors.jump)) return false;
  jpeg_decompress_struct& info = reader->info;
  if (info.num_components == 4) info.out_color_space = JCS_CMYK;
  else if (mode == ImageMode::grey || (mode == ImageMode::unchanged && info.num_components == 1))
    info.out_color_space = JCS_GRAYSCALE;
  else info.out_color_space = JCS_RGB;
  jpeg_start_decompress(&info);
  return true;
}

/// CMYK with inverted values, as Adobe's programs write it, or else plain, to RGB in place.
void cmyk_to_rgb(std::uint8_t* row, std::size_t width, bool inverted) {
  std::uint8_t* out = row;
  for (std::size_t x = 0; x < width; ++x, row += 4)
    for (int c = 0; c < 3; ++c) {
      const int ink = inverted ? row[c] : 255 - row[c], black = inverted ? row[3] : 255 - row[3];
      *out++ = static_cast<std::uint8_t>((ink * black + 127) / 255);
    }
}

bool read_pixels(Reader* reader, std::uint8_t* row, std::uint8_t* out, std::size_t channels) {
  if (setjmp(reader->errors.jump)) return false;
  jpeg_decompress_struct& info = reader->info;
  const std::size_t width = info.output_width, plane = width * info.output_height;
  while (info.output_scanline < info.output_height) {
    const std::size_t y = info.output_scanline;
    JSAMPROW rows[] = {row};
    jpeg_read_scanlines(&info, rows, 1);
    if (info.out_color_space == JCS_CMYK) cmyk_to_rgb(row, width, info.saw_Adobe_marker != 0);
    split_row(row, out + y * width, width, channels, plane);
  }
  jpeg_finish_decompress(&info);
  return true;
}

struct Writer {
  jpeg_compress_struct info{};
  Errors errors{};
  unsigned char* data = nullptr;
  unsigned long size = 0;

  Writer() { set_up(&errors, &info.err); }
  ~Writer() {
    jpeg_destroy_compress(&info);
    std::free(data);
  }
  Writer(const Writer&) = delete;
  Writer& operator=(const Writer&) = delete;
};

bool write_all(Writer* writer, const std::uint8_t* planes, std::uint8_t* row, unsigned channels, unsigned height,
               unsigned width, int quality) {
  if (setjmp(writer->errors.jump)) return false;
  jpeg_compress_struct& info = writer->info;
  jpeg_create_compress(&info);
  jpeg_mem_dest(&info, &writer->data, &writer->size);
  info.image_width = width;
  info.image_height = height;
  info.input_components = static_cast<int>(channels);
  info.in_color_space = channels == 1 ? JCS_GRAYSCALE : JCS_RGB;
  jpeg_set_defaults(&info);
  jpeg_set_quality(&info, quality, TRUE);
  jpeg_start_compress(&info, TRUE);
  const std::size_t plane = std::size_t{height} * width;
  for (std::size_t y = 0; y < height; ++y) {
    for (std::size_t x = 0; x < width; ++x)
      for (std::size_t c = 0; c < channels; ++c) row[x * channels + c] = planes[c * plane + y * width + x];
    JSAMPROW rows[] = {row};
    jpeg_write_scanlines(&info, rows, 1);
  }
  jpeg_finish_compress(&info);
  return true;
}

}  // namespace

Tensor decode_jpeg(std::span<const std::byte> file, const ReadImageOptions& options, SourceLocation where) {
  Reader reader;
  const auto require = [&](bool done) {
    if (!done || reader.errors.damaged)
      throw ImageFault{std::string("a damaged JPEG file: ") + reader.errors.text, "a valid JPEG file"};
  };
  require(read_header(&reader, file.data(), file.size()));
  check_pixels(reader.info.image_width, reader.info.image_height, options);
  // Of each 8 x 8 block a Huffman code takes a bit at least; of the files with arithmetic codes, which may take less, a
  // bound is far from what programs write.
  const std::uint64_t pixels = std::uint64_t{reader.info.image_width} * reader.info.image_height;
  const std::uint64_t most = reader.info.arith_code ? 1U << 16 : 512;  // in a byte
  if (pixels / most > file.size())
    throw ImageFault{"a JPEG file of " + std::to_string(file.size()) + " bytes that claims " +
                         std::to_string(reader.info.image_width) + " x " + std::to_string(reader.info.image_height) +
                         " pixels",
                     "as many pixels as its data can have"};
  const bool four = reader.info.num_components == 4;
  require(start(&reader, options.mode));
  const auto width = std::size_t{reader.info.output_width}, height = std::size_t{reader.info.output_height};
  const std::size_t channels = four ? 3 : static_cast<std::size_t>(reader.info.out_color_components);
  const auto row = std::make_unique_for_overwrite<std::uint8_t[]>(width * 4);
  const Tensor out = data::detail::host_tensor(
      DType::uint8,
      {static_cast<std::int64_t>(channels), static_cast<std::int64_t>(height), static_cast<std::int64_t>(width)},
      where);
  require(read_pixels(&reader, row.get(), out.data<std::uint8_t>(), channels));
  return options.mode == ImageMode::grey && four ? to_grey(out, where) : out;
}

std::vector<std::byte> encode_jpeg(const Tensor& image, int quality, SourceLocation where) {
  constexpr std::int64_t kMaxSide = 65500;  // libjpeg's
  const auto channels = image.shape()[0], height = image.shape()[1], width = image.shape()[2];
  if (height > kMaxSide || width > kMaxSide)
    throw ShapeError(std::string(CallSite::op_or("write_jpeg")) + ": a side of a JPEG image has at most " +
                         std::to_string(kMaxSide) + " pixels\n  image  " + image.shape().str() + "\nwrite it as PNG",
                     where);
  Writer writer;
  const auto row = std::make_unique_for_overwrite<std::uint8_t[]>(static_cast<std::size_t>(width * channels));
  if (!write_all(&writer, image.data<std::uint8_t>(), row.get(), static_cast<unsigned>(channels),
                 static_cast<unsigned>(height), static_cast<unsigned>(width), quality))
    throw BackendError(
        std::string(CallSite::op_or("write_jpeg")) + ": libjpeg failed: " + writer.errors.text + "\nwrite it as PNG",
        where);
  const auto* bytes = reinterpret_cast<const std::byte*>(writer.data);
  return {bytes, bytes + writer.size};
}

}  // namespace minnow::vision::detail
