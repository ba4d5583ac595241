// minnow-inspect FILE: what is in a file of weights, or what is wrong with it.

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <exception>
#include <optional>
#include <string>
#include <minnow/minnow.h>
#include <minnow/training/detail/checkpoint_file.h>

using namespace minnow;

namespace {

constexpr const char* kUsage =
    "minnow-inspect [--names] FILE\n"
    "Lists the tensors of a file in its order (.safetensors, .index.json, .npz, .npy, .pt), with dtype, shape, bytes "
    "and the\n"
    "statistics of their elements, and its metadata.  If the file is not valid it says why, and exits with 1; the "
    "checksums\n"
    "of a Checkpoint's file are checked.\n"
    "  --names  no statistics, no checksums: of safetensors files only the headers are read\n";

/// Of the elements that are numbers; nan and inf are counted apart.
struct Statistics {
  std::int64_t finite = 0, zeros = 0, nan = 0, inf = 0;
  double min = INFINITY, max = -INFINITY, mean = 0, squares = 0;

  void add(double x) {
    if (std::isnan(x)) {
      ++nan;
    } else if (std::isinf(x)) {
      ++inf;
    } else {
      const double before = x - mean;
      mean += before / static_cast<double>(++finite);
      squares += before * (x - mean);
      min = std::min(min, x);
      max = std::max(max, x);
      zeros += x == 0 ? 1 : 0;
    }
  }
};

Statistics statistics_of(const Tensor& tensor) {
  constexpr std::int64_t kPart = 1 << 20;
  Statistics all;
  const Tensor row = tensor.flatten();
  for (std::int64_t i = 0; i < row.numel(); i += kPart)
    for (const double x : row.narrow(0, i, std::min(kPart, row.numel() - i)).to_vector<double>()) all.add(x);
  return all;
}

/// For the terminal: control characters of a file do not reach it, also those of two bytes (U+0080 to U+009F).
std::string shown(const std::string& text, bool lines = false) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    const bool two = byte == 0xc2 && i + 1 < text.size() && static_cast<unsigned char>(text[i + 1]) < 0xa0;
    const bool control = (byte < 0x20 && !(lines && byte == '\n')) || byte == 0x7f || two;
    out += control ? '?' : text[i];
    if (two) ++i;
  }
  return out;
}

void print(const TensorInfo& info, const Tensor* values) {
  std::printf("%-40s %-9s %-20s %12lld", shown(info.name).c_str(), std::string(name_of(info.dtype)).c_str(),
              info.shape.str().c_str(), static_cast<long long>(info.nbytes));
  if (values != nullptr) {
    const Statistics s = statistics_of(*values);
    if (s.finite > 0)
      std::printf("  min %.6g max %.6g mean %.6g std %.6g", s.min, s.max, s.mean,
                  std::sqrt(s.squares / static_cast<double>(s.finite)));
    if (s.zeros > 0) std::printf(" zeros %lld", static_cast<long long>(s.zeros));
    if (s.nan > 0) std::printf(" NaN %lld", static_cast<long long>(s.nan));
    if (s.inf > 0) std::printf(" Inf %lld", static_cast<long long>(s.inf));
  }
  std::printf("\n");
}

/// Nothing for a file of another format, which is read as a whole.
std::optional<SafetensorsFile> lazily(const std::string& path) {
  try {
    return SafetensorsFile(path);
  } catch (const FormatError&) { return {}; }
}

void inspect(const std::string& path, bool statistics) {
  Metadata metadata = load_metadata(path);
  std::int64_t bytes = 0;
  std::size_t count = 0;
  const auto note = [&](const TensorInfo& info, const Tensor* values) {
    print(info, values);
    bytes += info.nbytes;
    ++count;
  };
  if (metadata.contains("crc32") && statistics) {  // a Checkpoint's
    const detail::CheckpointFile checked = detail::read_checkpoint(path, SourceLocation::current());
    for (const auto& [name, tensor] : checked.tensors)
      note({name, tensor.dtype(), tensor.shape(), tensor.nbytes()}, &tensor);
  } else if (const auto file = lazily(path)) {
    for (const TensorInfo& info : file->tensors()) {
      const Tensor values = statistics ? file->load(info.name) : Tensor();
      note(info, statistics ? &values : nullptr);
    }
  } else {
    for (const auto& [name, tensor] : load(path))
      note({name, tensor.dtype(), tensor.shape(), tensor.nbytes()}, statistics ? &tensor : nullptr);
  }
  std::erase_if(metadata, [](const auto& item) { return item.first.starts_with("crc32"); });
  for (const auto& [key, value] : metadata) std::printf("metadata %s: %s\n", shown(key).c_str(), shown(value).c_str());
  std::printf("%zu tensors, %lld bytes\n", count, static_cast<long long>(bytes));
}

}  // namespace

int main(int argc, char** argv) {
  std::string path;
  bool statistics = true;
  for (int i = 1; i < argc; ++i) {
    const std::string argument = argv[i];
    if (argument == "--names") {
      statistics = false;
    } else if (argument == "--help" || argument == "-h") {
      std::printf("%s", kUsage);
      return 0;
    } else if (path.empty() && !argument.starts_with("--")) {
      path = argument;
    } else {
      path.clear();
      break;
    }
  }
  if (path.empty()) {
    std::fprintf(stderr, "%s", kUsage);
    return 2;
  }
  try {
    inspect(path, statistics);
  } catch (const std::exception& error) {
    std::fflush(stdout);
    std::fprintf(stderr, "%s\n", shown(error.what(), true).c_str());
    return 1;
  }
  return 0;
}
