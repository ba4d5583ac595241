#include <csetjmp>
#include <cstring>
#include <memory>
#include <png.h>
#include <minnow/data/detail/host.h>
#include <minnow/tensor/error.h>
#include <minnow/tensor/internal.h>
#include <minnow/vision/detail/codec.h>

namespace minnow::vision::detail {
namespace {

/// Errors of libpng jump back to setjmp: the functions below that call it have no objects with destructors.
struct Job {
  const std::byte* at;
  std::size_t left;
  ImageMode mode;
  png_structp png = nullptr;
  png_infop info = nullptr;
  png_uint_32 width = 0, height = 0;
  int depth = 0, type = 0, passes = 1;
  png_uint_32 channels = 0;
  std::size_t source_row = 0;  // bytes of a row in the file
  char error[160] = "";

  ~Job() { png_destroy_read_struct(&png, &info, nullptr); }
};

[[noreturn]] void on_error(png_structp png, png_const_charp text) {
  auto* job = static_cast<Job*>(png_get_error_ptr(png));
  std::strncpy(job->error, text, sizeof(job->error) - 1);
  png_longjmp(png, 1);
}

void on_warning(png_structp, png_const_charp) {}

void on_read(png_structp png, png_bytep out, std::size_t bytes) {
  auto* job = static_cast<Job*>(png_get_io_ptr(png));
  if (bytes > job->left) png_error(png, "the file is truncated");
  std::memcpy(out, job->at, bytes);
  job->at += bytes;
  job->left -= bytes;
}

/// Reads what comes before the pixels.
bool read_header(Job* job) {
  if (setjmp(png_jmpbuf(job->png))) return false;
  png_set_read_fn(job->png, job, on_read);
  constexpr png_uint_32 kMaxSide = 0x7fffffff;
  png_set_user_limits(job->png, kMaxSide, kMaxSide);  // check_pixels() has the limits
  // Texts, profiles and the like are skipped: libpng allocates what their lengths claim, even past its own limit.
  png_set_keep_unknown_chunks(job->png, PNG_HANDLE_CHUNK_NEVER, nullptr, -1);
  png_read_info(job->png, job->info);
  png_get_IHDR(job->png, job->info, &job->width, &job->height, &job->depth, &job->type, nullptr, nullptr, nullptr);
  job->source_row = png_get_rowbytes(job->png, job->info);
  return true;
}

bool choose_channels(Job* job) {
  if (setjmp(png_jmpbuf(job->png))) return false;
  if (job->depth == 16) png_set_strip_16(job->png);
  png_set_expand(job->png);  // palettes, fewer than 8 bits, and a transparent colour to alpha
  if (job->mode != ImageMode::unchanged) png_set_strip_alpha(job->png);
  if (job->mode == ImageMode::rgb) png_set_gray_to_rgb(job->png);
  job->passes = png_set_interlace_handling(job->png);
  png_read_update_info(job->png, job->info);
  job->channels = png_get_channels(job->png, job->info);
  return true;
}

bool read_pixels(Job* job, std::uint8_t* rows, std::uint8_t* out) {
  if (setjmp(png_jmpbuf(job->png))) return false;
  const std::size_t row_bytes = std::size_t{job->width} * job->channels;
  const std::size_t plane = std::size_t{job->width} * job->height;
  const bool whole = job->passes > 1;  // `rows` has all of them
  for (int pass = 0; pass < job->passes; ++pass)
    for (png_uint_32 y = 0; y < job->height; ++y) {
      std::uint8_t* row = whole ? rows + y * row_bytes : rows;
      png_read_row(job->png, row, nullptr);
      if (pass + 1 == job->passes) split_row(row, out + std::size_t{y} * job->width, job->width, job->channels, plane);
    }
  png_read_end(job->png, nullptr);
  return true;
}

}  // namespace

Tensor decode_png(std::span<const std::byte> file, const ReadImageOptions& options, SourceLocation where) {
  Job job{file.data(), file.size(), options.mode};
  job.png = png_create_read_struct(PNG_LIBPNG_VER_STRING, &job, on_error, on_warning);
  if (!job.png) throw std::bad_alloc();
  job.info = png_create_info_struct(job.png);
  if (!job.info) throw std::bad_alloc();
  const auto require = [&](bool done) {
    if (!done) throw ImageFault{std::string("a damaged PNG file: ") + job.error, "a valid PNG file"};
  };
  require(read_header(&job));
  check_pixels(job.width, job.height, options);
  constexpr std::size_t kMaxRatio = 1032;  // of deflate
  if (job.source_row * job.height / kMaxRatio > file.size())
    throw ImageFault{"a PNG file of " + std::to_string(file.size()) + " bytes that claims " +
                         std::to_string(job.width) + " x " + std::to_string(job.height) + " pixels",
                     "as many pixels as its data can have"};
  require(choose_channels(&job));
  const std::size_t row = std::size_t{job.width} * job.channels;
  const auto rows = std::make_unique_for_overwrite<std::uint8_t[]>(job.passes > 1 ? row * job.height : row);
  const Tensor out = data::detail::host_tensor(DType::uint8, {job.channels, job.height, job.width}, where);
  require(read_pixels(&job, rows.get(), out.data<std::uint8_t>()));
  return options.mode == ImageMode::grey && job.channels > 1 ? to_grey(out, where) : out;
}

std::vector<std::byte> encode_png(const Tensor& image, SourceLocation where) {
  constexpr png_uint_32 kFormats[] = {0, PNG_FORMAT_GRAY, PNG_FORMAT_GA, PNG_FORMAT_RGB, PNG_FORMAT_RGBA};
  const auto channels = static_cast<std::size_t>(image.shape()[0]);
  const std::size_t plane = static_cast<std::size_t>(image.numel()) / channels;
  const std::uint8_t* planes = image.data<std::uint8_t>();
  std::vector<std::uint8_t> pixels(channels * plane);
  for (std::size_t c = 0; c < channels; ++c)
    for (std::size_t i = 0; i < plane; ++i) pixels[i * channels + c] = planes[c * plane + i];
  png_image head{};
  head.version = PNG_IMAGE_VERSION;
  head.height = static_cast<png_uint_32>(image.shape()[1]);
  head.width = static_cast<png_uint_32>(image.shape()[2]);
  head.format = kFormats[channels];
  png_alloc_size_t bytes = PNG_IMAGE_PNG_SIZE_MAX(head);
  std::vector<std::byte> out(bytes);
  if (!png_image_write_to_memory(&head, out.data(), &bytes, 0, pixels.data(), 0, nullptr))
    throw BackendError(
        std::string(CallSite::op_or("write_png")) + ": libpng failed: " + head.message + "\nwrite a smaller image",
        where);
  out.resize(bytes);
  return out;
}

}  // namespace minnow::vision::detail
