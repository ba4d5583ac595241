#include <minnow/onnx/detail/file.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fmt/format.h>
#include <limits>
#include <memory>
#include <optional>
#include <protozero/pbf_reader.hpp>
#include <set>
#include <minnow/tensor/checked.h>
#include <minnow/tensor/create.h>
#include <minnow/tensor/dtype_switch.h>
#include <minnow/tensor/error.h>
#include <minnow/tensor/io/detail/json_reader.h>
#include <minnow/tensor/io/file.h>

namespace minnow::onnx::detail {

using protozero::pbf_reader;
using Wire = protozero::pbf_wire_type;

std::optional<DType> dtype_of(std::int64_t data_type) {
  switch (data_type) {
    case 1: return DType::float32;
    case 2: return DType::uint8;
    case 3: return DType::int8;
    case 5: return DType::int16;
    case 6: return DType::int32;
    case 7: return DType::int64;
    case 9: return DType::bool_;
    case 10: return DType::float16;
    case 11: return DType::float64;
    case 16: return DType::bfloat16;
    default: return {};
  }
}

namespace {

/// Reads the messages of a file, by the numbers of their fields in onnx.proto.
class Reader {
 public:
  Reader(const std::string& path, SourceLocation where) : path_(path), where_(where) {}

  FileModel model(const std::string& bytes) {
    FileModel model;
    std::optional<protozero::data_view> graph;
    bool has_opset = false;
    for (pbf_reader m(bytes); m.next();) {
      if (is(m, 7)) graph = m.get_view();
      else if (is(m, 8)) has_opset = opset(m.get_message(), model) || has_opset;
      else m.skip();
    }
    if (!graph || !has_opset) fail("it has no graph, or does not say its opset");
    if (model.opset < 13 || model.opset > 25)
      fail(fmt::format("its opset is {}; minnow reads 13 to 25, e.g. opset_version=18 of torch.onnx.export",
                       model.opset));
    read_graph(pbf_reader(*graph), model);
    return model;
  }

  [[noreturn]] void fail(const std::string& what) const {
    throw FormatError(fmt::format("onnx::load: '{}' is no model that minnow can read\n  found  {}\nexport it again, "
                                  "e.g. by torch.onnx.export or onnx::save",
                                  path_, what),
                      where_);
  }

 private:
  static bool is(const pbf_reader& m, protozero::pbf_tag_type tag, Wire wire = Wire::length_delimited) {
    return m.tag() == tag && m.wire_type() == wire;
  }

  std::string text(pbf_reader& m) const {
    std::string found = m.get_string();
    if (!io::detail::is_utf8(found)) fail("a name that is not UTF-8");
    return found;
  }

  bool opset(pbf_reader m, FileModel& model) const {
    std::string domain;
    std::int64_t version = 0;
    while (m.next()) {
      if (is(m, 1)) domain = text(m);
      else if (is(m, 2, Wire::varint)) version = m.get_int64();
      else m.skip();
    }
    if (!domain.empty() && domain != "ai.onnx") return false;  // its nodes are refused by name
    model.opset = version;
    return true;
  }

  void read_graph(pbf_reader m, FileModel& model) {
    std::vector<FilePort> inputs;
    std::set<std::string> weights;
    while (m.next()) {
      if (is(m, 1)) {
        model.nodes.push_back(node(m.get_message()));
      } else if (is(m, 5)) {
        auto weight = tensor_of(m.get_message());
        if (weight.first.empty() || !weights.insert(weight.first).second)
          fail(fmt::format("two weights '{}', or one without a name", weight.first));
        model.weights.push_back(std::move(weight));
      } else if (is(m, 11)) {
        inputs.push_back(port(m.get_message()));
      } else if (is(m, 12)) {
        model.outputs.push_back(port(m.get_message()).name);
      } else if (m.tag() == 15) {
        fail("sparse weights");
      } else {
        m.skip();
      }
    }
    for (FilePort& input : inputs)
      if (!weights.count(input.name)) model.inputs.push_back(std::move(input));
  }

  FilePort port(pbf_reader m) const {
    FilePort port;
    while (m.next()) {
      if (is(m, 1)) {
        port.name = text(m);
      } else if (is(m, 2)) {
        pbf_reader type = m.get_message();
        while (type.next())
          if (is(type, 1)) tensor_type(type.get_message(), port);
          else type.skip();
      } else {
        m.skip();
      }
    }
    if (port.name.empty()) fail("an input or output without a name");
    return port;
  }

  void tensor_type(pbf_reader m, FilePort& port) const {
    while (m.next()) {
      if (is(m, 1, Wire::varint)) {
        port.dtype = dtype_of(m.get_int32());
      } else if (is(m, 2)) {
        port.shape.emplace();
        pbf_reader shape = m.get_message();
        while (shape.next())
          if (is(shape, 1)) port.shape->push_back(size(shape.get_message()));
          else shape.skip();
      } else {
        m.skip();
      }
    }
  }

  std::string size(pbf_reader m) const {
    std::string found = "?";
    while (m.next())
      if (is(m, 1, Wire::varint)) found = std::to_string(m.get_int64());
      else if (is(m, 2)) found = text(m);
      else m.skip();
    return found.empty() ? "?" : found;
  }

  FileNode node(pbf_reader m) const {
    FileNode node;
    std::string domain;
    while (m.next()) {
      if (is(m, 1)) node.inputs.push_back(text(m));
      else if (is(m, 2)) node.outputs.push_back(text(m));
      else if (is(m, 3)) node.name = text(m);
      else if (is(m, 4)) node.op = text(m);
      else if (is(m, 5)) attribute(m.get_message(), node);
      else if (is(m, 7)) domain = text(m);
      else m.skip();
    }
    if (node.op.empty()) fail("a node without an operator");
    if (!domain.empty() && domain != "ai.onnx") node.op = domain + "." + node.op;
    return node;
  }

  void attribute(pbf_reader m, FileNode& node) const {
    enum Type : std::int64_t { kNone, kFloat, kInt, kString, kTensor, kGraph, kFloats, kInts, kStrings };
    std::string name, string;
    double number = 0;
    std::int64_t integer = 0, type = kNone;
    std::vector<double> numbers;
    std::vector<std::int64_t> integers;
    std::vector<std::string> strings;
    Tensor tensor;
    while (m.next()) {
      if (is(m, 1)) name = text(m);
      else if (is(m, 2, Wire::fixed32)) number = static_cast<double>(m.get_float());
      else if (is(m, 3, Wire::varint)) integer = m.get_int64();
      else if (is(m, 4)) string = m.get_string();
      else if (is(m, 5)) tensor = tensor_of(m.get_message()).second;
      else if (is(m, 7, Wire::fixed32)) numbers.push_back(static_cast<double>(m.get_float()));
      else if (is(m, 7))
        for (const float f : m.get_packed_float()) numbers.push_back(static_cast<double>(f));
      else if (is(m, 8, Wire::varint)) integers.push_back(m.get_int64());
      else if (is(m, 8))
        for (const std::int64_t i : m.get_packed_int64()) integers.push_back(i);
      else if (is(m, 9)) strings.push_back(m.get_string());
      else if (is(m, 20, Wire::varint)) type = m.get_int32();
      else m.skip();
    }
    FileAttribute& to = node.attributes[name];
    switch (type) {
      case kFloat: to = number; break;
      case kInt: to = integer; break;
      case kString: to = std::move(string); break;
      case kFloats: to = std::move(numbers); break;
      case kInts: to = std::move(integers); break;
      case kStrings: to = std::move(strings); break;
      case kTensor:
        if (!tensor.defined()) fail(fmt::format("an attribute '{}' without its tensor", name));
        to = std::move(tensor);
        break;
      default:
        fail(fmt::format("attribute '{}' of a node {} has type {}, which minnow does not read", name, node.op, type));
    }
  }

  /// What a TensorProto has besides the elements.
  struct Parts {
    std::string name;
    std::int64_t type = 0;
    Shape shape{};
    std::optional<protozero::data_view> raw{};
    std::vector<double> numbers{};
    std::vector<std::int64_t> integers{};
    std::map<std::string, std::string> external{};
    bool is_external = false;
  };

  std::pair<std::string, Tensor> tensor_of(pbf_reader m) const {
    Parts p;
    const auto add_size = [&](std::int64_t size) {
      if (size < 0 || p.shape.rank() == kMaxRank)
        fail(fmt::format("a weight '{}' of a negative size, or of more than {} dimensions", p.name, kMaxRank));
      p.shape.push_back(size);
    };
    while (m.next()) {
      if (is(m, 1, Wire::varint)) add_size(m.get_int64());
      else if (is(m, 1))
        for (const std::int64_t size : m.get_packed_int64()) add_size(size);
      else if (is(m, 2, Wire::varint)) p.type = m.get_int32();
      else if (is(m, 4, Wire::fixed32)) p.numbers.push_back(static_cast<double>(m.get_float()));
      else if (is(m, 4))
        for (const float f : m.get_packed_float()) p.numbers.push_back(static_cast<double>(f));
      else if (is(m, 5, Wire::varint)) p.integers.push_back(m.get_int32());
      else if (is(m, 5))
        for (const std::int32_t i : m.get_packed_int32()) p.integers.push_back(i);
      else if (is(m, 7, Wire::varint)) p.integers.push_back(m.get_int64());
      else if (is(m, 7))
        for (const std::int64_t i : m.get_packed_int64()) p.integers.push_back(i);
      else if (is(m, 8)) p.name = text(m);
      else if (is(m, 9)) p.raw = m.get_view();
      else if (is(m, 10, Wire::fixed64)) p.numbers.push_back(m.get_double());
      else if (is(m, 10))
        for (const double d : m.get_packed_double()) p.numbers.push_back(d);
      else if (is(m, 13)) entry(m.get_message(), p);
      else if (is(m, 14, Wire::varint)) p.is_external = m.get_int32() == 1;
      else m.skip();
    }
    return {p.name, elements(p)};
  }

  void entry(pbf_reader m, Parts& p) const {
    std::string key, value;
    while (m.next()) {
      if (is(m, 1)) key = text(m);
      else if (is(m, 2)) value = text(m);
      else m.skip();
    }
    p.external[key] = value;
  }

  /// The tensor; its bytes are known to be there before it is allocated.
  Tensor elements(const Parts& p) const {
    const std::optional<DType> known = dtype_of(p.type);
    if (!known) fail(fmt::format("'{}' of data type {}, which minnow does not have", p.name, p.type));
    const DType dtype = *known;
    std::int64_t count = 1, bytes = 0;
    for (const std::int64_t size : p.shape)
      if (__builtin_mul_overflow(count, size, &count)) fail(fmt::format("a weight '{}' of absurd size", p.name));
    if (__builtin_mul_overflow(count, static_cast<std::int64_t>(size_of(dtype)), &bytes))
      fail(fmt::format("a weight '{}' of absurd size", p.name));
    const auto check = [&](std::uint64_t found, std::int64_t wanted) {
      if (found != static_cast<std::uint64_t>(wanted))
        fail(fmt::format("{} elements or bytes of '{}' {}, of which there should be {}", found, p.name, p.shape.str(),
                         wanted));
    };
    if (p.is_external) return external(p, dtype, bytes);
    if (p.raw) {
      check(p.raw->size(), bytes);
      Tensor x = empty(p.shape, dtype);
      if (bytes > 0) std::memcpy(x.raw_data(), p.raw->data(), static_cast<std::size_t>(bytes));
      return valid(x);
    }
    const bool half = is_half(dtype);
    check(is_floating_point(dtype) && !half ? p.numbers.size() : p.integers.size(), count);
    Tensor x = empty(p.shape, dtype);
    if (half) {  // the bits, as integers
      auto* const to = static_cast<std::uint16_t*>(x.raw_data());
      for (std::size_t i = 0; i < p.integers.size(); ++i) to[i] = static_cast<std::uint16_t>(p.integers[i]);
      return x;
    }
    minnow::detail::dtype_switch(dtype, [&]<class T>() {
      auto* const to = static_cast<T*>(x.raw_data());
      if constexpr (std::is_same_v<T, float> || std::is_same_v<T, double>)
        for (std::size_t i = 0; i < p.numbers.size(); ++i) to[i] = static_cast<T>(p.numbers[i]);
      else if constexpr (std::is_same_v<T, bool>)
        for (std::size_t i = 0; i < p.integers.size(); ++i) to[i] = p.integers[i] != 0;
      else if constexpr (std::is_integral_v<T>)
        for (std::size_t i = 0; i < p.integers.size(); ++i) to[i] = static_cast<T>(p.integers[i]);
    });
    return x;
  }

  /// Bytes of bool are 0 or 1.
  static Tensor valid(const Tensor& x) {
    if (x.dtype() != DType::bool_) return x;
    auto* const bytes = static_cast<std::uint8_t*>(x.raw_data());
    for (std::int64_t i = 0; i < x.numel(); ++i) bytes[i] = bytes[i] != 0;
    return x;
  }

  std::uint64_t number_of(const Parts& p, const char* key, std::uint64_t otherwise) const {
    const auto found = p.external.find(key);
    if (found == p.external.end()) return otherwise;
    constexpr std::size_t kDigits = 18;
    const std::string& digits = found->second;
    if (digits.empty() || digits.size() > kDigits || digits.find_first_not_of("0123456789") != std::string::npos)
      fail(fmt::format("the {} of '{}' is no number", key, p.name));
    return std::stoull(digits);
  }

  /// Of a file beside this one, which is never elsewhere.
  Tensor external(const Parts& p, DType dtype, std::int64_t bytes) const {
    const auto location = p.external.find("location");
    const std::filesystem::path file = location == p.external.end() ? "" : location->second;
    bool inside = !file.empty() && !file.has_root_path() && file.string().find('\0') == std::string::npos;
    for (const auto& part : file) inside = inside && part != "..";
    if (!inside) fail(fmt::format("'{}' is in a file that is not beside the model", p.name));
    const io::InputFile data("onnx::load", (std::filesystem::path(path_).parent_path() / file).string(), where_);
    const std::uint64_t offset = number_of(p, "offset", 0),
                        length = number_of(p, "length", static_cast<std::uint64_t>(bytes));
    if (length != static_cast<std::uint64_t>(bytes) || offset > data.size() || length > data.size() - offset)
      fail(fmt::format("'{}' should have {} bytes at {} of '{}', which has {}", p.name, bytes, offset, data.path(),
                       data.size()));
    Tensor x = empty(p.shape, dtype);
    data.read(offset, {static_cast<std::byte*>(x.raw_data()), static_cast<std::size_t>(bytes)});
    return valid(x);
  }

  std::string path_;
  SourceLocation where_;
};

}  // namespace

FileModel read(const std::string& path, SourceLocation where) {
  const io::InputFile file("onnx::load", path, where);
  Reader reader(path, where);
  if (file.size() > static_cast<std::uint64_t>(std::numeric_limits<std::int32_t>::max()))
    reader.fail("more than 2 GB, which a message of protobuf may not have");
  std::string bytes(static_cast<std::size_t>(file.size()), '\0');
  file.read(0, std::as_writable_bytes(std::span(bytes)));
  try {
    return reader.model(bytes);
  } catch (const protozero::exception& e) {
    // A page of a server, or what stands in for a large file in git.
    const std::string_view begin = std::string_view(bytes).substr(0, 20);
    if (std::all_of(begin.begin(), begin.end(), [](char c) { return c == '\n' || (c >= ' ' && c <= '~'); }))
      reader.fail(fmt::format("a text that begins with '{}'", begin.substr(0, begin.find('\n'))));
    reader.fail(fmt::format("damaged bytes, or not all of them ({})", e.what()));
  }
}

}  // namespace minnow::onnx::detail
