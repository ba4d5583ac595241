#pragma once

#include <fstream>
#include <iterator>
#include <string>
#include <vector>
#include <minnow/minnow.h>

/// A text as numbers: each byte is a token.
class Text {
 public:
  static constexpr std::int64_t kTokens = 256;

  /// A file; without a path a text of our own.  IoError.
  explicit Text(const std::string& path) {
    std::string bytes(kOwn);
    if (!path.empty()) {
      std::ifstream file(path, std::ios::binary);
      if (!file) throw minnow::IoError("--text: cannot open '" + path + "'\ngive a text file");
      bytes.assign(std::istreambuf_iterator<char>(file), {});
    }
    tokens_ = encode(bytes);
  }

  const minnow::Tensor& tokens() const { return tokens_; }

  static minnow::Tensor encode(const std::string& text) {
    return minnow::tensor(std::vector<std::uint8_t>(text.begin(), text.end())).to(minnow::int64);
  }
  static std::string decode(const minnow::Tensor& tokens) {
    const std::vector<int> bytes = tokens.to_vector<int>();
    std::string text;
    for (const int byte : bytes) text += static_cast<char>(byte);
    return text;
  }

 private:
  /// Shakespeare's sonnets 18, 29 and 73.
  static constexpr const char* kOwn =
      R"(Shall I compare thee to a summer's day?
Thou art more lovely and more temperate:
Rough winds do shake the darling buds of May,
And summer's lease hath all too short a date;
Sometime too hot the eye of heaven shines,
And often is his gold complexion dimm'd;
And every fair from fair sometime declines,
By chance or nature's changing course untrimm'd;
But thy eternal summer shall not fade,
Nor lose possession of that fair thou ow'st;
Nor shall death brag thou wander'st in his shade,
When in eternal lines to time thou grow'st:
So long as men can breathe or eyes can see,
So long lives this, and this gives life to thee.

When, in disgrace with fortune and men's eyes,
I all alone beweep my outcast state,
And trouble deaf heaven with my bootless cries,
And look upon myself and curse my fate,
Wishing me like to one more rich in hope,
Featured like him, like him with friends possess'd,
Desiring this man's art and that man's scope,
With what I most enjoy contented least;
Yet in these thoughts myself almost despising,
Haply I think on thee, and then my state,
Like to the lark at break of day arising
From sullen earth, sings hymns at heaven's gate;
For thy sweet love remember'd such wealth brings
That then I scorn to change my state with kings.

That time of year thou mayst in me behold
When yellow leaves, or none, or few, do hang
Upon those boughs which shake against the cold,
Bare ruin'd choirs, where late the sweet birds sang.
In me thou see'st the twilight of such day
As after sunset fadeth in the west,
Which by and by black night doth take away,
Death's second self, that seals up all in rest.
In me thou see'st the glowing of such fire
That on the ashes of his youth doth lie,
As the death-bed whereon it must expire,
Consumed with that which it was nourish'd by.
This thou perceivest, which makes thy love more strong,
To love that well which thou must leave ere long.
)";

  minnow::Tensor tokens_;
};

/// Pieces of a text, which begin at these places: a data set.
struct TextPieces {
  minnow::Tensor tokens;
  std::int64_t length;
  std::vector<std::int64_t> starts;

  std::int64_t size() const { return std::ssize(starts); }
  minnow::Tensor get(std::int64_t i) const { return tokens.narrow(0, starts[static_cast<std::size_t>(i)], length); }
};

/// A token from the logits [1, tokens] of each: [1, 1].
inline minnow::Tensor sample(const minnow::Tensor& logits, double temperature) {
  if (temperature == 0) return argmax(logits, 1, true);
  return multinomial(softmax(logits / temperature, 1), 1);
}
