#pragma once

#include <cstring>
#include <map>
#include <protozero/pbf_reader.hpp>
#include <string>
#include <vector>
#include "tensor/io_support.h"

namespace minnow::test {

/// The messages in an event file, whose checksums are not read.
inline std::vector<std::string> records_of(const std::string& path) {
  const std::string bytes = read_bytes(path);
  std::vector<std::string> records;
  for (std::size_t at = 0; at < bytes.size();) {
    std::uint64_t length = 0;
    std::memcpy(&length, bytes.data() + at, sizeof(length));
    records.push_back(bytes.substr(at + 12, length));
    at += 12 + length + 4;
  }
  return records;
}

/// The fields of one number in a message that hold bytes.
inline std::vector<std::string> fields(const std::string& message, protozero::pbf_tag_type tag) {
  std::vector<std::string> found;
  protozero::pbf_reader reader(message);
  while (reader.next(tag, protozero::pbf_wire_type::length_delimited)) found.push_back(reader.get_string());
  return found;
}
/// The only one.
inline std::string field(const std::string& message, protozero::pbf_tag_type tag) {
  const auto found = fields(message, tag);
  return found.size() == 1 ? found[0] : "not one field, but " + std::to_string(found.size());
}

/// A field of Summary.Value in the last record: 4 image, 5 histogram.
inline std::string last_value(const std::string& path, protozero::pbf_tag_type tag) {
  return field(field(field(records_of(path).back(), 5), 1), tag);
}

/// The fields of a message that are numbers, or lists of numbers: doubles, or of 32 bits.
inline std::map<int, std::vector<double>> numbers(const std::string& message) {
  std::map<int, std::vector<double>> found;
  protozero::pbf_reader reader(message);
  while (reader.next()) {
    auto& to = found[static_cast<int>(reader.tag())];
    if (reader.wire_type() == protozero::pbf_wire_type::fixed64) {
      to.push_back(reader.get_double());
    } else if (reader.wire_type() == protozero::pbf_wire_type::varint) {
      to.push_back(reader.get_int32());
    } else {
      const std::string bytes = reader.get_string();
      if (bytes.size() % sizeof(double) != 0) continue;
      to.resize(bytes.size() / sizeof(double));
      std::memcpy(to.data(), bytes.data(), bytes.size());
    }
  }
  return found;
}

}  // namespace minnow::test
