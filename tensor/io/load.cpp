#include <minnow/tensor/io/load.h>

#include <memory>
#include <minnow/tensor/error.h>
#include <minnow/tensor/internal.h>
#include <minnow/tensor/io/detail/foreign.h>
#include <minnow/tensor/io/detail/safetensors_reader.h>
#include <minnow/tensor/io/detail/selection.h>
#include <minnow/tensor/io/detail/torch_file.h>
#include <minnow/tensor/io/npy.h>
#include <minnow/tensor/io/npz.h>

namespace minnow {
namespace {

using io::detail::Foreign;
using io::detail::Format;

/// The format to read the file as: that of its name, or else of its content.  FormatError if they disagree.
Format choose_format(const char* op, const io::InputFile& file, SourceLocation where) {
  const Foreign content = io::detail::recognize(file);
  const Format named = io::detail::format_of_name(file.path());
  const Format format = named != Format::other ? named : content.format;
  if (!content.found.empty() && (content.format == Format::other || content.format != format))
    throw FormatError(std::string(op) + ": '" + file.path() + "' is not what minnow can read\n  found     " +
                          content.found + "\n  expected  " + io::detail::name_of(format) + "\n" + content.hint,
                      where);
  return format == Format::other ? Format::safetensors : format;
}

StateDict load_safetensors(std::unique_ptr<io::InputFile> file, bool index, const LoadOptions& options,
                           SourceLocation where) {
  const detail::SafetensorsReader reader("load", std::move(file), index, where);
  std::vector<std::string> names;
  for (const TensorInfo& info : reader.tensors()) names.push_back(info.name);
  StateDict tensors;
  for (const auto& [i, name] : io::detail::select(options, names, reader.path(), where))
    tensors.set(name, reader.read("load", reader.tensors()[i], options.device, where));
  return tensors;
}

}  // namespace

std::string Rename::operator()(const std::string& name) const {
  if (function_) return function_(name);
  for (const auto& [from, to] : beginnings_)
    if (name.starts_with(from)) return to + name.substr(from.size());
  return name;
}

StateDict load(const std::string& path, const LoadOptions& options, SourceLocation where) {
  const CallSite site("load", where);
  auto file = std::make_unique<io::InputFile>("load", path, where);
  switch (const Format format = choose_format("load", *file, where)) {
    case Format::npz: return load_npz(path, options, where);
    case Format::npy: {
      const auto selected = io::detail::select(options, {""}, path, where);
      return {{selected[0].name, load_npy(path, options.device, where)}};
    }
    case Format::torch: return io::detail::load_torch(*file, options, where);
    default: return load_safetensors(std::move(file), format == Format::index, options, where);
  }
}

Tensor load_tensor(const std::string& path, Device device, SourceLocation where) {
  const StateDict tensors = load(path, device, where);
  if (tensors.size() != 1)
    throw ValueError("load_tensor: '" + path + "' holds " + std::to_string(tensors.size()) +
                         " tensors\ncall load(), which gives them by name",
                     where);
  return tensors.begin()->second;
}

StateDict load(const std::string& path, Device device, SourceLocation where) {
  return load(path, LoadOptions{.device = device}, where);
}

Metadata load_metadata(const std::string& path, SourceLocation where) {
  const CallSite site("load_metadata", where);
  auto file = std::make_unique<io::InputFile>("load_metadata", path, where);
  const Format format = choose_format("load_metadata", *file, where);
  if (format == Format::npz || format == Format::npy) return {};
  if (format == Format::torch) return io::detail::load_torch_metadata("load_metadata", *file, where);
  return detail::SafetensorsReader("load_metadata", std::move(file), format == Format::index, where).metadata();
}

}  // namespace minnow
