#include <minnow/data/detail/gzip.h>

#include <algorithm>
#include <limits>
#include <new>
#include <zlib.h>
#include <minnow/tensor/error.h>
#include <minnow/tensor/internal.h>

namespace minnow::data::detail {

struct GzipReader::Inflate {
  Inflate() {
    constexpr int kGzipOnly = 15 + 16;  // the largest window; gzip format only
    if (inflateInit2(&stream, kGzipOnly) != Z_OK) throw std::bad_alloc();
  }
  ~Inflate() { inflateEnd(&stream); }
  Inflate(const Inflate&) = delete;
  Inflate& operator=(const Inflate&) = delete;

  z_stream stream{};
};

GzipReader::GzipReader(std::unique_ptr<io::InputFile> file)
    : file_(std::move(file)), inflate_(std::make_unique<Inflate>()), input_(std::size_t{1} << 16) {}

GzipReader::~GzipReader() = default;

void GzipReader::fail(const std::string& what) const {
  throw FormatError(std::string(CallSite::op_or("read_idx")) + ": '" + file_->path() + "': " + what +
                        "\nthe file is damaged: delete it and download it again",
                    file_->where());
}

void GzipReader::refill() {
  z_stream& z = inflate_->stream;
  if (z.avail_in > 0) return;
  z.next_in = input_.data();
  const std::size_t got = file_->read_some(position_, std::as_writable_bytes(std::span(input_)));
  position_ += got;
  z.avail_in = static_cast<uInt>(got);
}

std::size_t GzipReader::read(std::span<std::uint8_t> out) {
  z_stream& z = inflate_->stream;
  std::size_t done = 0;
  while (done < out.size() && !ended_) {
    refill();
    const bool no_more = z.avail_in == 0;
    const auto space = std::min<std::size_t>(out.size() - done, std::numeric_limits<uInt>::max());
    z.next_out = out.data() + done;
    z.avail_out = static_cast<uInt>(space);
    const int code = inflate(&z, Z_NO_FLUSH);
    done += space - z.avail_out;
    if (code == Z_STREAM_END) next_member();
    else if (code == Z_MEM_ERROR) throw std::bad_alloc();
    else if (code == Z_NEED_DICT) fail("gzip data with a dictionary is not supported");
    else if (code != Z_OK && code != Z_BUF_ERROR) fail(std::string("gzip: ") + (z.msg ? z.msg : "invalid data"));
    else if (no_more && z.avail_out > 0) fail("the file is truncated: gzip data ends before its end mark");
  }
  return done;
}

void GzipReader::next_member() {
  refill();
  z_stream& z = inflate_->stream;
  if (z.avail_in == 0) {
    ended_ = true;
    return;
  }
  constexpr Bytef kFirst = 0x1f;
  if (*z.next_in != kFirst || inflateReset(&z) != Z_OK) fail("bytes follow the end of the gzip data");
}

void GzipReader::finish() {
  std::uint8_t extra = 0;
  if (!ended_ && read({&extra, 1}) > 0) fail("it has more bytes than its header says");
}

std::uint64_t GzipReader::max_size() const {
  constexpr std::uint64_t kMaxRatio = 1032;  // of deflate: 258 bytes from 2 bits
  const std::uint64_t size = file_->size();
  return size > std::numeric_limits<std::uint64_t>::max() / kMaxRatio ? size : size * kMaxRatio;
}

}  // namespace minnow::data::detail
