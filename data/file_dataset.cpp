#include <minnow/data/file_dataset.h>

#include <algorithm>
#include <vector>
#include <minnow/data/detail/host.h>
#include <minnow/tensor/error.h>
#include <minnow/tensor/internal.h>
#include <minnow/tensor/io/detail/json_reader.h>
#include <minnow/tensor/io/detail/npy_header.h>
#include <minnow/tensor/io/detail/open_header.h>
#include <minnow/tensor/io/file.h>

namespace minnow::data {

using io::detail::Refusal;

struct FileTensor::File {
  File(const char* op, const std::string& path, SourceLocation where) : input(op, path, where) {}

  io::InputFile input;
  io::detail::NpyHeader header;
};

FileTensor::FileTensor(std::shared_ptr<const File> file, DType dtype, Shape shape)
    : file_(std::move(file)),
      dtype_(dtype),
      shape_(shape),
      row_bytes_(size_of(dtype) * static_cast<std::size_t>(detail::row_shape(shape).numel())) {}

FileTensor FileTensor::npy(const std::string& path, SourceLocation where) {
  const CallSite site("FileTensor::npy", where);
  auto file = std::make_shared<File>("FileTensor::npy", path, where);
  try {
    std::vector<std::byte> head(std::min<std::uint64_t>(io::detail::kNpyHeadBytes, file->input.size()));
    file->input.read(0, head);
    file->header = io::detail::parse_npy_header(head, file->input.size());
    if (file->header.shape.rank() == 0) throw Refusal{"a single number", "at least one dimension: that of the rows"};
    if (file->header.fortran && file->header.shape.rank() > 1)
      throw Refusal{"Fortran order, in which rows are scattered", "C order: save numpy.ascontiguousarray(x)"};
  } catch (const Refusal& refusal) {
    throw FormatError("FileTensor::npy: '" + path + "' is not an .npy file whose rows can be read\n  found     " +
                          refusal.found + "\n  expected  " + refusal.expected + "\nsave it again with numpy.save()",
                      where);
  }
  const DType dtype = file->header.dtype;
  const Shape shape = file->header.shape;
  return FileTensor(std::move(file), dtype, shape);
}

FileTensor FileTensor::safetensors(const std::string& path, std::string_view name, SourceLocation where) {
  const CallSite site("FileTensor::safetensors", where);
  auto file = std::make_shared<File>("FileTensor::safetensors", path, where);
  const io::detail::Opened opened = io::detail::open_header(file->input, "FileTensor::safetensors", where);
  std::string names;
  for (const auto& entry : opened.header.entries) {
    names += (names.empty() ? "'" : ", '") + entry.name + "'";
    if (entry.name != name) continue;
    if (entry.shape.rank() == 0)
      throw FormatError("FileTensor::safetensors: '" + entry.name + "' of '" + path +
                            "' is a single number\n  expected  at least one dimension: that of the rows\nread it by "
                            "load()",
                        where);
    file->header.dtype = entry.dtype;
    file->header.shape = entry.shape;
    file->header.data = opened.data + entry.begin;
    return FileTensor(std::move(file), entry.dtype, entry.shape);
  }
  constexpr std::size_t kMax = 300;
  if (names.size() > kMax) names = names.substr(0, kMax) + "...";
  throw IndexError("FileTensor::safetensors: there is no tensor '" + std::string(name) + "' in '" + path +
                       "'\n  names  " + names + "\nnames are case-sensitive",
                   where);
}

void FileTensor::read(std::int64_t row, std::int64_t count, std::byte* out) const {
  const std::span<std::byte> bytes(out, static_cast<std::size_t>(count) * row_bytes_);
  file_->input.read(file_->header.data + static_cast<std::uint64_t>(row) * row_bytes_, bytes);
  io::detail::finish_elements(file_->header, bytes);
}

Tensor FileTensor::row(std::int64_t i, SourceLocation where) const {
  detail::check_index("FileTensor::row", i, size(), where);
  const Tensor out = detail::host_tensor(dtype_, detail::row_shape(shape_), where);
  read(i, 1, static_cast<std::byte*>(out.raw_data()));
  return out;
}

void FileTensor::read_rows(std::span<const std::int64_t> indices, BatchBuffer& buffer, int field,
                           SourceLocation where) const {
  for (const auto i : indices) detail::check_index("FileTensor::read_rows", i, size(), where);
  Shape shape = shape_;
  shape[0] = static_cast<std::int64_t>(indices.size());
  const Tensor batch = buffer.make(field, dtype_, shape, where);
  if (batch.numel() == 0) return;
  auto* out = static_cast<std::byte*>(batch.raw_data());
  for (std::size_t k = 0; k < indices.size();) {
    std::size_t end = k + 1;
    while (end < indices.size() && indices[end] == indices[end - 1] + 1) ++end;
    read(indices[k], static_cast<std::int64_t>(end - k), out + k * row_bytes_);
    k = end;
  }
}

std::int64_t detail::common_rows(std::span<const FileTensor> tensors, SourceLocation where) {
  std::string operands;
  for (const FileTensor& tensor : tensors)
    operands += "\n  " + std::string(name_of(tensor.dtype())) + tensor.shape().str();
  for (const FileTensor& tensor : tensors)
    if (tensor.size() != tensors[0].size())
      throw ShapeError(
          "FileDataset: the first sizes of the tensors must be equal" + operands + "\nthey are the number of samples",
          where);
  return tensors[0].size();
}

}  // namespace minnow::data
