#include <minnow/tensor/io/detail/header.h>

#include <algorithm>
#include <limits>
#include <optional>
#include <unordered_set>
#include <utility>
#include <minnow/tensor/io/detail/json_reader.h>

namespace minnow::io::detail {
namespace {

struct Code {
  std::string_view text;
  DType dtype;
};

/// In the order of the reference writer.
constexpr Code kCodes[] = {{"BOOL", DType::bool_}, {"U8", DType::uint8},    {"I8", DType::int8},
                           {"I16", DType::int16},  {"F16", DType::float16}, {"BF16", DType::bfloat16},
                           {"I32", DType::int32},  {"F32", DType::float32}, {"F64", DType::float64},
                           {"I64", DType::int64}};
constexpr std::string_view kForeignCodes[] = {"F4",          "F6_E2M3",     "F6_E3M2", "F8_E5M2", "F8_E4M3", "F8_E8M0",
                                              "F8_E4M3FNUZ", "F8_E5M2FNUZ", "U16",     "U32",     "C64",     "U64"};

/// A name from the file for messages: quoted, escaped and shortened.
std::string shown(std::string_view name) {
  constexpr std::size_t kMaxLength = 100;
  std::string text = json_quoted(name.substr(0, kMaxLength));
  return name.size() > kMaxLength ? text + "..." : text;
}

DType parse_dtype(const std::string& name, const std::string& text) {
  for (const Code& code : kCodes)
    if (code.text == text) return code.dtype;
  std::string ours;
  for (const Code& code : kCodes) ours.append(ours.empty() ? "" : ", ").append(code.text);
  const bool known = std::find(std::begin(kForeignCodes), std::end(kForeignCodes), text) != std::end(kForeignCodes);
  throw Refusal{"tensor " + shown(name) + " of dtype " + shown(text) + (known ? ", which minnow does not have" : ""),
                "one of " + ours};
}

Shape parse_shape(JsonReader& json, const std::string& name) {
  Shape shape;
  json.array("a shape, [sizes]", [&] {
    const std::int64_t size = json.integer("a size, an integer from 0");
    if (shape.rank() == kMaxRank)
      throw Refusal{"tensor " + shown(name) + " of more than " + std::to_string(kMaxRank) + " dimensions",
                    "at most " + std::to_string(kMaxRank)};
    shape.push_back(size);
  });
  return shape;
}

/// The size of the elements in bytes.  Sizes of 0 count as 1 in the overflow check, because strides are products too.
std::uint64_t checked_bytes(const Entry& entry) {
  constexpr std::int64_t kMax = std::numeric_limits<std::int64_t>::max();
  auto bytes = static_cast<std::int64_t>(size_of(entry.dtype));
  for (const std::int64_t size : entry.shape) {
    if (size > 1 && bytes > kMax / size)
      throw Refusal{"tensor " + shown(entry.name) + " of shape " + entry.shape.str(), "fewer than 2^63 bytes"};
    bytes *= std::max<std::int64_t>(size, 1);
  }
  const bool none = std::find(entry.shape.begin(), entry.shape.end(), 0) != entry.shape.end();
  return none ? 0 : static_cast<std::uint64_t>(bytes);
}

void refuse_second(bool present, const std::string& name, const char* field) {
  if (present) throw Refusal{"tensor " + shown(name) + " with two fields \"" + field + '"', "one"};
}

Entry parse_entry(JsonReader& json, std::string name) {
  std::optional<std::string> dtype;
  std::optional<Shape> shape;
  std::vector<std::int64_t> offsets;
  bool has_offsets = false;
  json.object("an object that describes a tensor", [&](const std::string& field) {
    if (field == "dtype") {
      refuse_second(dtype.has_value(), name, "dtype");
      dtype = json.string("a dtype, such as \"F32\"");
    } else if (field == "shape") {
      refuse_second(shape.has_value(), name, "shape");
      shape = parse_shape(json, name);
    } else if (field == "data_offsets") {
      refuse_second(has_offsets, name, "data_offsets");
      has_offsets = true;
      json.array("offsets, [begin, end]", [&] {
        if (offsets.size() == 2) throw Refusal{"tensor " + shown(name) + " with more than two offsets", "two"};
        offsets.push_back(json.integer("an offset, an integer from 0"));
      });
    } else {
      json.skip_value();
    }
  });
  if (!dtype || !shape || offsets.size() != 2)
    throw Refusal{"tensor " + shown(name) + " without " +
                      (!dtype   ? "a dtype"
                       : !shape ? "a shape"
                                : "two data_offsets"),
                  "dtype, shape and two data_offsets"};
  const DType type = parse_dtype(name, *dtype);
  return {std::move(name), type, *shape, static_cast<std::uint64_t>(offsets[0]),
          static_cast<std::uint64_t>(offsets[1])};
}

std::map<std::string, std::string> parse_metadata(JsonReader& json) {
  std::map<std::string, std::string> metadata;
  if (json.accept_null()) return metadata;
  json.object("__metadata__ to be an object or null", [&](const std::string& key) {
    if (!metadata.emplace(key, json.string("a string, as are all values of __metadata__")).second)
      throw Refusal{"the key " + shown(key) + " of __metadata__ twice", "once"};
  });
  return metadata;
}

/// Checks that every byte of the buffer belongs to exactly one tensor.
void check_layout(std::vector<Entry>& entries, std::uint64_t available) {
  std::stable_sort(entries.begin(), entries.end(), [](const Entry& a, const Entry& b) {
    return a.begin != b.begin ? a.begin < b.begin : a.end < b.end;
  });
  std::uint64_t at = 0;
  for (const Entry& entry : entries) {
    const std::string offsets =
        "tensor " + shown(entry.name) + " at bytes " + std::to_string(entry.begin) + " to " + std::to_string(entry.end);
    if (entry.begin != at)
      throw Refusal{offsets, "it to begin at " + std::to_string(at) + ", where the one before ends"};
    if (entry.end < entry.begin || entry.end > available)
      throw Refusal{offsets, "an end between its begin and the " + std::to_string(available) + " bytes of data"};
    if (const std::uint64_t bytes = checked_bytes(entry); bytes != entry.end - entry.begin)
      throw Refusal{offsets,
                    std::to_string(bytes) + " bytes for " + std::string(name_of(entry.dtype)) + entry.shape.str()};
    at = entry.end;
  }
  if (at != available)
    throw Refusal{std::to_string(available) + " bytes of data behind the header",
                  std::to_string(at) + ", where the last tensor ends"};
}

}  // namespace

int writer_rank(DType dtype) {
  for (int i = 0; i < kDTypeCount; ++i)
    if (kCodes[i].dtype == dtype) return i;
  return -1;
}

Header parse_header(std::string_view text, std::uint64_t available) {
  if (!is_utf8(text)) throw Refusal{"a header with malformed UTF-8", "UTF-8"};
  Header header;
  std::unordered_set<std::string> names;
  bool has_metadata = false;
  JsonReader json(text);
  json.object("an object, '{'", [&](std::string name) {
    if (name == "__metadata__") {
      if (std::exchange(has_metadata, true)) throw Refusal{"__metadata__ twice", "once"};
      header.metadata = parse_metadata(json);
    } else {
      if (!names.insert(name).second) throw Refusal{"the name " + shown(name) + " twice", "every name once"};
      header.entries.push_back(parse_entry(json, std::move(name)));
    }
  });
  json.end();
  check_layout(header.entries, available);
  return header;
}

std::string write_header(Header& header) {
  std::sort(header.entries.begin(), header.entries.end(), [](const Entry& a, const Entry& b) {
    const int rank_a = writer_rank(a.dtype), rank_b = writer_rank(b.dtype);
    return rank_a != rank_b ? rank_a > rank_b : a.name < b.name;
  });
  std::string text = "{";
  if (!header.metadata.empty()) {
    text += "\"__metadata__\":{";
    for (const auto& [key, value] : header.metadata)
      text.append(text.back() == '{' ? "" : ",").append(json_quoted(key)).append(":").append(json_quoted(value));
    text += '}';
  }
  std::uint64_t at = 0;
  for (Entry& entry : header.entries) {
    entry.begin = at;
    entry.end = at += checked_bytes(entry);
    text.append(text.size() > 1 ? "," : "").append(json_quoted(entry.name)).append(":{\"dtype\":\"");
    text.append(kCodes[writer_rank(entry.dtype)].text).append("\",\"shape\":[");
    for (int d = 0; d < entry.shape.rank(); ++d) text.append(d ? "," : "").append(std::to_string(entry.shape[d]));
    text += "],\"data_offsets\":[" + std::to_string(entry.begin) + ',' + std::to_string(entry.end) + "]}";
  }
  text += '}';
  text.append((8 - text.size() % 8) % 8, ' ');
  return text;
}

}  // namespace minnow::io::detail
