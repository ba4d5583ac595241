#pragma once

#include <optional>
#include <string>
#include <minnow/tensor/tensor.h>

namespace minnow::data {

/// What a reader of IDX files insists on; anything else is a FormatError.
struct IdxExpectation {
  std::optional<int> rank{};     ///< e.g. 3 for images, 1 for labels
  std::optional<DType> dtype{};  ///< of the tensor that is returned
  std::string content = "IDX";   ///< "images": how messages call it
};

/// Reads an IDX file (the format of MNIST), plain or packed with gzip.  Elements of 8 and 16 signed bits
/// become int32, the other types (uint8, int32, float32, float64) stay what they are. IoError when the file
/// cannot be read; FormatError, with what was found and expected, when its content is not exactly one valid
/// array.  Nothing is returned before the checksum of a packed file was compared.
Tensor read_idx(const std::string& path, const IdxExpectation& expected = {},
                SourceLocation where = SourceLocation::current());

}  // namespace minnow::data
