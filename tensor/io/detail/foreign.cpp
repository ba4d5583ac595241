#include <minnow/tensor/io/detail/foreign.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <string_view>

namespace minnow::io::detail {
namespace {

using namespace std::string_view_literals;

/// The path as a Python string literal.
std::string python_text(const std::string& path) {
  std::string text = "\"";
  for (const char c : path) {
    if (c == '"' || c == '\\') text += '\\';
    text += c;
  }
  return text + '"';
}

/// Python code that writes `tensors`, an expression of the library, to a safetensors file beside the path.
std::string convert(const std::string& library, const std::string& tensors, const std::string& path) {
  const std::string target = std::filesystem::path(path).replace_extension("safetensors").string();
  const std::string module = "safetensors." + library;
  return "convert it with Python:\n  import " + library + ", " + module + "\n  " + module + ".save_file(" + tensors +
         ", " + python_text(target) + ")";
}

/// The path ends otherwise: load() goes by that.
Foreign ours(Format format, const std::string& end) {
  return {format, name_of(format), "load() reads it under a name that ends in " + end};
}

Foreign of_torch(const std::string& found, const std::string& path) {
  return {Format::other, found,
          convert("torch", "torch.load(" + python_text(path) + ", map_location=\"cpu\")", path) +
              "\nfor a checkpoint, save only its dictionary of tensors, e.g. torch.load(...)[\"model\"]"};
}

Foreign of_zip(std::string_view bytes) {
  constexpr std::size_t kName = 30;  // the first entry's name
  const std::string_view name = bytes.size() > kName ? bytes.substr(kName) : "";
  if (name.find(".npy") != name.npos) return ours(Format::npz, ".npz");
  return ours(Format::torch, ".pt");
}

struct End {
  std::string_view text;
  Format format;
};
constexpr End kEnds[] = {{".safetensors", Format::safetensors},
                         {".index.json", Format::index},
                         {".npz", Format::npz},
                         {".npy", Format::npy},
                         {".pt", Format::torch},
                         {".pth", Format::torch},
                         {".bin", Format::torch}};

}  // namespace

std::string name_of(Format format) {
  switch (format) {
    case Format::index: return "an index of safetensors files";
    case Format::npz: return "a zip archive of .npy files, as numpy.savez writes";
    case Format::npy: return "a .npy file";
    case Format::torch: return "a zip archive, as torch.save writes";
    default: return "a safetensors file";
  }
}

Format format_of_name(const std::string& path) {
  const auto same = [](char a, char b) { return (a >= 'A' && a <= 'Z' ? a - 'A' + 'a' : a) == b; };
  for (const auto& [text, format] : kEnds)
    if (path.size() >= text.size() &&
        std::equal(path.end() - static_cast<std::ptrdiff_t>(text.size()), path.end(), text.begin(), same))
      return format;
  return Format::other;
}

Foreign recognize(const InputFile& file) {
  std::array<char, 128> buffer{};
  const std::string_view bytes(buffer.data(), file.read_some(0, std::as_writable_bytes(std::span(buffer))));
  if (bytes.starts_with("PK\x03\x04"sv)) return of_zip(bytes);
  // The first bytes of a safetensors file are its header's length, below 2^27.
  if (bytes.size() > 8 && bytes.substr(4, 4) == "\0\0\0\0"sv && bytes[8] == '{')
    return ours(Format::safetensors, ".safetensors");
  if (bytes.starts_with('{') && bytes.find_first_of('\0') == bytes.npos) return ours(Format::index, ".index.json");
  // The second byte of a pickle is its protocol.
  if (bytes.size() > 8 && bytes[0] == '\x80' && bytes[1] >= 2 && bytes[1] <= 5 && bytes[2] != 0)
    return of_torch("a pickle, as older versions of torch.save wrote", file.path());
  if (bytes.starts_with("\x93NUMPY"sv)) return ours(Format::npy, ".npy");
  if (bytes.starts_with("\x89HDF\r\n"sv))
    return {Format::other, "an HDF5 file", "read it with Python's h5py, and save its arrays with safetensors.numpy"};
  if (bytes.starts_with("\x1f\x8b"sv)) return {Format::other, "a gzip file", "unpack it first: gunzip"};
  if (bytes.starts_with("version https://git-lfs"sv))
    return {Format::other, "a pointer of git-lfs, not the file itself", "fetch the file: git lfs pull"};
  return {};
}

}  // namespace minnow::io::detail
