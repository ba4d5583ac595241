#include <minnow/tensor/io/detail/shard_index.h>

#include <filesystem>
#include <span>
#include <utility>
#include <minnow/tensor/io/detail/header.h>
#include <minnow/tensor/io/detail/json_reader.h>

namespace minnow::io::detail {

ShardIndex read_shard_index(const InputFile& file) {
  if (file.size() > kMaxHeaderBytes)
    throw Refusal{"a file of " + std::to_string(file.size()) + " bytes",
                  "at most " + std::to_string(kMaxHeaderBytes) + " bytes of JSON"};
  std::string text(file.size(), '\0');
  file.read(0, std::as_writable_bytes(std::span(text)));
  if (!is_utf8(text)) throw Refusal{"malformed UTF-8", "JSON"};
  std::map<std::string, std::size_t> files;
  std::map<std::string, std::string> map;
  bool has_map = false;
  JsonReader json(text);
  json.object("an object, '{'", [&](const std::string& field) {
    if (field != "weight_map") return json.skip_value();
    if (std::exchange(has_map, true)) throw Refusal{"\"weight_map\" twice", "once"};
    json.object("weight_map to be an object of names and files", [&](std::string name) {
      std::string in = json.string("the name of a file");
      // It comes with the file: it must not lead to others.
      if (in.empty() || in == "." || in == ".." || in.find_first_of(std::string("/\\\0", 3)) != in.npos ||
          std::filesystem::path(in).has_root_path())
        throw Refusal{"the file " + json_quoted(in) + " of the tensor '" + name + "'",
                      "the name of a file in the same folder"};
      files.emplace(in, 0);
      if (!map.emplace(name, std::move(in)).second) throw Refusal{"the tensor '" + name + "' twice", "once"};
    });
  });
  json.end();
  if (!has_map) throw Refusal{"no \"weight_map\"", "the file of each tensor"};
  ShardIndex index;
  for (auto& [name, number] : files) {
    number = index.files.size();
    index.files.push_back(name);
  }
  for (const auto& [name, in] : map) index.file_of.emplace(name, files.at(in));
  return index;
}

std::string write_shard_index(const ShardIndex& index, std::uint64_t total_bytes) {
  std::string text =
      "{\n  \"metadata\": {\n    \"total_size\": " + std::to_string(total_bytes) + "\n  },\n  \"weight_map\": {";
  const char* before = "\n    ";
  for (const auto& [name, file] : index.file_of) {
    text.append(before).append(json_quoted(name)).append(": ").append(json_quoted(index.files[file]));
    before = ",\n    ";
  }
  return text + (index.file_of.empty() ? "}" : "\n  }") + "\n}\n";
}

std::string shard_name(const std::string& stem, std::size_t shard, std::size_t count) {
  const auto five = [](std::size_t n) {
    const std::string digits = std::to_string(n);
    return std::string(digits.size() < 5 ? 5 - digits.size() : 0, '0') + digits;
  };
  return stem + "-" + five(shard + 1) + "-of-" + five(count) + ".safetensors";
}

}  // namespace minnow::io::detail
