#pragma once

#include <optional>
#include <string>
#include <minnow/tensor/tensor.h>

namespace minnow::data {

/// What an IDX file must hold; anything else is a FormatError.
struct IdxExpectation {
  std::optional<int> rank{};     ///< e.g. 3 for images, 1 for labels
  std::optional<DType> dtype{};  ///< of the tensor that is returned
  std::string content = "IDX";   ///< the name of the content in errors, e.g. "images"
};

/// Reads an IDX file (the format of MNIST), plain or compressed with gzip.  Signed elements of 8 and 16 bits become
/// int32; uint8, int32, float32 and float64 keep their type.  IoError when the file cannot be read; FormatError, with
/// what was found and expected, when its content is not exactly one valid array, or the checksum of gzip does not fit.
Tensor read_idx(const std::string& path, const IdxExpectation& expected = {},
                SourceLocation where = SourceLocation::current());

}  // namespace minnow::data
