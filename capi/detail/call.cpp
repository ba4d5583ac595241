#include <minnow/capi/detail/call.h>

#include <exception>
#include <new>

namespace minnow::capi {

namespace {

struct LastError {
  std::string text;
  SourceLocation where;
  const char* fixed = nullptr;  // instead of the text, without memory for it
};
thread_local LastError last_error;
thread_local SourceLocation next_line;
thread_local std::string last_name;

minnow_status status_of(const Error& error) {
  if (dynamic_cast<const ShapeError*>(&error)) return MINNOW_SHAPE_ERROR;
  if (dynamic_cast<const DTypeError*>(&error)) return MINNOW_DTYPE_ERROR;
  if (dynamic_cast<const DeviceError*>(&error)) return MINNOW_DEVICE_ERROR;
  if (dynamic_cast<const IndexError*>(&error)) return MINNOW_INDEX_ERROR;
  if (dynamic_cast<const ValueError*>(&error)) return MINNOW_VALUE_ERROR;
  if (dynamic_cast<const AutogradError*>(&error)) return MINNOW_AUTOGRAD_ERROR;
  if (dynamic_cast<const FormatError*>(&error)) return MINNOW_FORMAT_ERROR;
  if (dynamic_cast<const IoError*>(&error)) return MINNOW_IO_ERROR;
  if (dynamic_cast<const OutOfMemoryError*>(&error)) return MINNOW_MEMORY_ERROR;
  if (dynamic_cast<const BackendError*>(&error)) return MINNOW_BACKEND_ERROR;
  return MINNOW_OTHER_ERROR;
}

minnow_status keep(const char* op, std::string_view what, SourceLocation where, minnow_status status) noexcept {
  last_error.where = where;
  try {
    last_error.fixed = nullptr;
    last_error.text.clear();
    if (what.find(op) == std::string_view::npos) last_error.text.append(op).append(": ");
    last_error.text.append(what);
  } catch (...) { last_error.fixed = "the host has no memory left"; }
  return status;
}

}  // namespace

AllHandles& handles() {
  static auto& all = *new AllHandles;  // for the program's last calls, at its end
  return all;
}

void Call::refuse(const std::string& why) const { throw ValueError(std::string(op) + ": " + why, where); }

DType Call::dtype(minnow_dtype dtype) const {
  if (dtype < 0 || dtype >= kDTypeCount)
    throw DTypeError(std::string(op) + ": no dtype has the number " + std::to_string(dtype) +
                         "\npass one of minnow_dtype's, for example MINNOW_FLOAT32",
                     where);
  return static_cast<DType>(dtype);
}

const char* kept(std::string text) {
  last_name = std::move(text);
  return last_name.c_str();
}

SourceLocation take_line() noexcept { return std::exchange(next_line, {}); }

minnow_status keep_error(const char* op) noexcept {
  try {
    throw;
  } catch (const Error& error) {
    return keep(op, error.what(), error.where(), status_of(error));
  } catch (const std::bad_alloc&) {
    return keep(op, "the host has no memory left", {}, MINNOW_MEMORY_ERROR);
  } catch (const std::exception& error) { return keep(op, error.what(), {}, MINNOW_OTHER_ERROR); } catch (...) {
    return keep(op, "an exception that is not known", {}, MINNOW_OTHER_ERROR);
  }
}

}  // namespace minnow::capi

using namespace minnow::capi;

const char* minnow_last_error() { return last_error.fixed ? last_error.fixed : last_error.text.c_str(); }
const char* minnow_last_error_file() { return last_error.where.file; }
int minnow_last_error_line() { return static_cast<int>(last_error.where.line); }
void minnow_at(const char* file, int line) {
  next_line = {file ? file : "", line > 0 ? static_cast<unsigned>(line) : 0};
}
size_t minnow_live_handles() {
  auto& all = handles();
  return all.tensors.size() + all.modules.size() + all.optimizers.size();
}
