#include <minnow/tensor/io/detail/foreign.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <string_view>

namespace minnow::io::detail {
namespace {

using namespace std::string_view_literals;

/// The path as a Python string literal.
std::string quoted(const std::string& path) {
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
         ", " + quoted(target) + ")";
}

Foreign of_torch(const std::string& found, const std::string& path) {
  return {found, convert("torch", "torch.load(" + quoted(path) + ", map_location=\"cpu\")", path) +
                     "\nfor a checkpoint, save only its dictionary of tensors, e.g. torch.load(...)[\"model\"]"};
}

Foreign of_zip(std::string_view bytes, const std::string& path) {
  constexpr std::size_t kName = 30;  // the first entry's name
  const std::string_view name = bytes.size() > kName ? bytes.substr(kName) : "";
  if (name.find(".npy") != name.npos)
    return {"a zip archive of .npy files, as numpy.savez writes",
            convert("numpy", "dict(numpy.load(" + quoted(path) + "))", path)};
  return of_torch("a zip archive, as torch.save writes", path);
}

}  // namespace

Foreign recognize(const InputFile& file) {
  std::array<char, 128> buffer{};
  const auto size = static_cast<std::size_t>(std::min<std::uint64_t>(file.size(), buffer.size()));
  file.read(0, std::as_writable_bytes(std::span(buffer).first(size)));
  const std::string_view bytes(buffer.data(), size);
  if (bytes.starts_with("PK\x03\x04"sv)) return of_zip(bytes, file.path());
  // The second byte of a pickle is its protocol.  The length of a safetensors header could begin like this too; its
  // third byte would be 0.
  if (size > 8 && bytes[0] == '\x80' && bytes[1] >= 2 && bytes[1] <= 5 && bytes[2] != 0)
    return of_torch("a pickle, as older versions of torch.save wrote", file.path());
  if (bytes.starts_with("\x93NUMPY"sv))
    return {"a .npy file", convert("numpy", "{\"x\": numpy.load(" + quoted(file.path()) + ")}", file.path())};
  if (bytes.starts_with("\x89HDF\r\n"sv))
    return {"an HDF5 file", "read it with Python's h5py, and save its arrays with safetensors.numpy"};
  if (bytes.starts_with("\x1f\x8b"sv)) return {"a gzip file", "unpack it first: gunzip"};
  if (bytes.starts_with("version https://git-lfs"sv))
    return {"a pointer of git-lfs, not the file itself", "fetch the file: git lfs pull"};
  return {};
}

}  // namespace minnow::io::detail
