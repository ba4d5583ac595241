#include <minnow/text/text.h>

#include <algorithm>
#include <fmt/format.h>
#include <minnow/data/detail/host.h>
#include <minnow/tensor/error.h>
#include <minnow/tensor/internal.h>
#include <minnow/text/detail/vocabulary.h>

namespace minnow::text {
std::vector<std::int64_t> ByteTokenizer::encode(std::string_view text) const {
  std::vector<std::int64_t> tokens(text.size());
  std::transform(text.begin(), text.end(), tokens.begin(), [](char c) { return static_cast<unsigned char>(c); });
  return tokens;
}

std::string ByteTokenizer::decode(std::span<const std::int64_t> tokens, SourceLocation where) const {
  std::string text;
  text.reserve(tokens.size());
  for (const std::int64_t token : tokens) {
    if (token < 0 || token >= vocabulary_size())
      throw ValueError(fmt::format("ByteTokenizer::decode: token {} is not in [0, 256)\nit decodes bytes", token),
                       where);
    text += static_cast<char>(token);
  }
  return text;
}

TokenDataset::TokenDataset(std::vector<std::int64_t> tokens, std::int64_t block, std::int64_t stride,
                           SourceLocation where)
    : block_(block), stride_(stride == 0 ? block : stride), size_(0) {
  const std::string op(CallSite::op_or("TokenDataset"));
  const auto count = static_cast<std::int64_t>(tokens.size());
  if (block < 1 || stride < 0)
    throw ValueError(fmt::format("{}: block must be at least 1 and stride at least 0, got {} and {}\nthey count tokens",
                                 op, block, stride),
                     where);
  if (count <= block)
    throw ValueError(
        fmt::format("{}: {} tokens are too few for a block of {}\nit takes one more than the block: give a "
                    "longer text or a smaller block",
                    op, count, block),
        where);
  size_ = (count - 1 - block) / stride_ + 1;
  tokens_ = data::detail::host_tensor(DType::int64, {count}, where);
  std::copy(tokens.begin(), tokens.end(), tokens_.data<std::int64_t>());
}

std::array<Tensor, 2> TokenDataset::get(std::int64_t i, SourceLocation where) const {
  data::detail::check_index("TokenDataset::get", i, size_, where);
  const auto window = [&](std::int64_t first) {
    return Tensor(tokens_.storage(), DType::int64, {block_}, Strides({1}), first);
  };
  return {window(i * stride_), window(i * stride_ + 1)};
}

std::string read_text(const std::string& path, SourceLocation where) {
  return detail::read_file("read_text", path, where);
}

TokenDataset text_dataset(const std::string& path, std::int64_t block, SourceLocation where) {
  const CallSite site("text_dataset", where);
  return TokenDataset(ByteTokenizer().encode(detail::read_file("text_dataset", path, where)), block, 0, where);
}

TokenDataset text_dataset(const std::string& path, std::int64_t block, const BpeTokenizer& tokenizer,
                          SourceLocation where) {
  const CallSite site("text_dataset", where);
  return TokenDataset(tokenizer.encode(detail::read_file("text_dataset", path, where)), block, 0, where);
}

}  // namespace minnow::text
