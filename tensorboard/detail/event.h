#pragma once

#include <cstdint>
#include <protozero/pbf_writer.hpp>
#include <string>
#include <minnow/tensorboard/detail/file.h>

namespace minnow::tensorboard::detail {

/// Of a name or, if `may_be_empty`, a text: ValueError.
void require_utf8(const char* op, const std::string& text, SourceLocation where, bool may_be_empty = false);

// The fields of messages by their numbers, as the .proto files of TensorFlow and TensorBoard have them.

/// Event: wall_time = 1, step = 2, and the rest by `fill(event)`.
template <class Fill> std::string event_of(std::int64_t step, const Fill& fill) {
  std::string bytes;
  protozero::pbf_writer event(bytes);
  event.add_double(1, now());
  event.add_int64(2, step);
  fill(event);
  return bytes;
}

/// An Event with a Summary (5) of one Value (1): tag = 1, and the rest by `fill(value)`.
template <class Fill> std::string summary_of(const std::string& tag, std::int64_t step, const Fill& fill) {
  return event_of(step, [&](protozero::pbf_writer& event) {
    protozero::pbf_writer summary(event, 5), value(summary, 1);
    value.add_string(1, tag);
    fill(value);
  });
}

/// Value.metadata (9): SummaryMetadata.plugin_data (1): plugin_name = 1, content = 2.
inline void add_plugin(protozero::pbf_writer& value, const char* name, const std::string& content) {
  protozero::pbf_writer metadata(value, 9), plugin(metadata, 1);
  plugin.add_string(1, name);
  plugin.add_bytes(2, content);
}

}  // namespace minnow::tensorboard::detail
