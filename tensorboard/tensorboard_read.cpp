#include <minnow/tensorboard/tensorboard.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <protozero/pbf_reader.hpp>
#include <span>
#include <system_error>
#include <minnow/tensor/error.h>
#include <minnow/tensor/io/file.h>
#include <minnow/tensorboard/detail/file.h>

namespace minnow::tensorboard {
namespace {

using protozero::pbf_reader, protozero::pbf_wire_type, protozero::tag_and_type;

/// No event with scalars is larger: such records, of images, are passed over.
constexpr std::uint64_t kMostBytes = 16 << 20;

/// Summary.Value: tag = 1, simple_value = 2.
void read_value(pbf_reader value, ScalarEvent& event, std::vector<ScalarEvent>& to) {
  bool is_scalar = false;
  while (value.next()) {
    switch (value.tag_and_type()) {
      case tag_and_type(1, pbf_wire_type::length_delimited): event.name = value.get_string(); break;
      case tag_and_type(2, pbf_wire_type::fixed32):
        event.value = static_cast<double>(value.get_float());
        is_scalar = true;
        break;
      default: value.skip();
    }
  }
  if (is_scalar) to.push_back(event);
}

/// The scalars of an Event; protozero::exception if it is none.
void read_event(const std::string& bytes, std::vector<ScalarEvent>& to) {
  ScalarEvent scalar;
  std::vector<pbf_reader> summaries;  // the time may come behind them
  pbf_reader event(bytes);
  while (event.next()) {
    switch (event.tag_and_type()) {
      case tag_and_type(1, pbf_wire_type::fixed64): scalar.wall_time = event.get_double(); break;
      case tag_and_type(2, pbf_wire_type::varint): scalar.step = event.get_int64(); break;
      case tag_and_type(5, pbf_wire_type::length_delimited): summaries.push_back(event.get_message()); break;
      default: event.skip();
    }
  }
  for (pbf_reader& summary : summaries)
    while (summary.next(1, pbf_wire_type::length_delimited)) {
      scalar.name.clear();
      read_value(summary.get_message(), scalar, to);
    }
}

template <class T> T number_at(const std::string& bytes, std::size_t at) {
  T number;
  std::memcpy(&number, bytes.data() + at, sizeof(number));
  return number;
}

void read_file(const std::string& path, std::vector<ScalarEvent>& to, SourceLocation where) {
  const io::InputFile file("read_scalars", path, where);
  const auto refuse = [&] {
    throw FormatError("read_scalars: '" + path + "' is no event file of TensorBoard\ngive another file", where);
  };
  std::string header(detail::kHeaderSize, '\0'), data;
  const auto fits = [&] { return detail::masked_checksum({header.data(), 8}) == number_at<std::uint32_t>(header, 8); };
  // In a file that ends within its first header, of a short record, the length is below 256 at least.
  const std::size_t has = file.read_some(0, std::as_writable_bytes(std::span(header)));
  if (has == header.size() ? !fits() : header.find_first_not_of('\0', 1) < std::min<std::size_t>(has, 8)) refuse();
  for (std::uint64_t at = 0; file.size() - at >= detail::kHeaderSize + detail::kChecksumSize;) {
    if (file.read_some(at, std::as_writable_bytes(std::span(header))) < header.size()) return;
    const auto length = number_at<std::uint64_t>(header, 0);
    at += header.size();
    if (!fits() || length > file.size() - at - detail::kChecksumSize) return;
    const std::uint64_t next = at + length + detail::kChecksumSize;
    if (length <= kMostBytes) {
      data.resize(length + detail::kChecksumSize);
      if (file.read_some(at, std::as_writable_bytes(std::span(data))) < data.size()) return;
      const auto checksum = number_at<std::uint32_t>(data, length);
      data.resize(length);
      if (detail::masked_checksum(data) != checksum) return;
      try {
        read_event(data, to);
      } catch (const protozero::exception&) {
        if (at == header.size()) refuse();
        return;
      }
    }
    at = next;
  }
}

}  // namespace

std::vector<ScalarEvent> read_scalars(const std::string& path, SourceLocation where) {
  std::vector<ScalarEvent> scalars;
  std::error_code failed;
  if (!std::filesystem::is_directory(path, failed)) {
    read_file(path, scalars, where);
    return scalars;
  }
  std::vector<std::string> files;
  for (std::filesystem::directory_iterator i(path, failed), end; !failed && i != end; i.increment(failed))
    if (i->path().filename().string().find("tfevents") != std::string::npos && i->is_regular_file(failed))
      files.push_back(i->path().string());
  if (failed)
    throw IoError("read_scalars: the folder '" + path + "' cannot be read\n  the system says: " + failed.message() +
                      "\ngive another folder",
                  where);
  std::sort(files.begin(), files.end());
  for (const std::string& file : files) read_file(file, scalars, where);
  return scalars;
}

}  // namespace minnow::tensorboard
