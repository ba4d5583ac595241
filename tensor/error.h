#pragma once

#if !defined(__cpp_exceptions) || !defined(__cpp_rtti)
#error "minnow reports errors by exceptions and names classes by RTTI: leave out -fno-exceptions and -fno-rtti"
#endif

#include <stdexcept>
#include <string>
#include <string_view>
#include <minnow/tensor/runtime/call_site.h>

namespace minnow {

/// The base of all errors that minnow throws.  what() reads
///
///     DeviceError: matmul: operands are on different devices  (train.cpp:42)
///       a  float32[64, 784] on cpu
///       b  float32[784, 128] on cuda:0   parameter 'fc1.weight'
///     move one of them first, e.g. a.to("cuda:0")
class Error : public std::runtime_error {
 public:
  /// `kind` is the name of the class, `text` what follows it.  The line is the open CallSite's, or `where` if none is
  /// open.
  Error(std::string_view kind, std::string_view text, SourceLocation where);

  SourceLocation where() const noexcept { return where_; }

 private:
  SourceLocation where_;
};

/// A shape, rank or size that an operation does not accept.
class ShapeError : public Error {
 public:
  explicit ShapeError(std::string_view text, SourceLocation where = {}) : Error("ShapeError", text, where) {}
};

/// A dtype that an operation does not accept.
class DTypeError : public Error {
 public:
  explicit DTypeError(std::string_view text, SourceLocation where = {}) : Error("DTypeError", text, where) {}
};

/// Operands on different devices, a device that does not exist, or host access to device memory.
class DeviceError : public Error {
 public:
  explicit DeviceError(std::string_view text, SourceLocation where = {}) : Error("DeviceError", text, where) {}
};

/// An index or dimension out of range.
class IndexError : public Error {
 public:
  explicit IndexError(std::string_view text, SourceLocation where = {}) : Error("IndexError", text, where) {}
};

/// An argument whose value is not allowed (a negative probability, an unknown name).
class ValueError : public Error {
 public:
  explicit ValueError(std::string_view text, SourceLocation where = {}) : Error("ValueError", text, where) {}
};

/// A gradient that cannot be computed: no graph, a graph already freed, a saved value overwritten.
class AutogradError : public Error {
 public:
  explicit AutogradError(std::string_view text, SourceLocation where = {}) : Error("AutogradError", text, where) {}
};

/// A file whose content does not match its format.
class FormatError : public Error {
 public:
  explicit FormatError(std::string_view text, SourceLocation where = {}) : Error("FormatError", text, where) {}
};

/// The operating system refused to open, read or write.
class IoError : public Error {
 public:
  explicit IoError(std::string_view text, SourceLocation where = {}) : Error("IoError", text, where) {}
};

/// A device has no memory left, even after its cache was freed.
class OutOfMemoryError : public Error {
 public:
  explicit OutOfMemoryError(std::string_view text, SourceLocation where = {})
      : Error("OutOfMemoryError", text, where) {}
};

/// A library or driver failed, or cannot do what was requested.
class BackendError : public Error {
 public:
  explicit BackendError(std::string_view text, SourceLocation where = {}) : Error("BackendError", text, where) {}
};

}  // namespace minnow
