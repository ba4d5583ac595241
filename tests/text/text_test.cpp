#include <fstream>
#include <sstream>
#include <minnow/data/loader.h>
#include <minnow/tensor/create.h>
#include <minnow/tensor/error.h>
#include <minnow/text/text.h>
#include "data/files.h"
#include "support/thrown.h"

namespace minnow {
namespace {

using test::Bytes;
using test::error_of;
using test::has;
using text::BpeTokenizer;
using Tokens = std::vector<std::int64_t>;

const std::string kFolder = MINNOW_TEST_DIR "/data/bpe/";

BpeTokenizer tokenizer() { return BpeTokenizer(kFolder + "vocab.json", kFolder + "merges.txt"); }

class Text : public test::TempFolder {
 protected:
  std::string file(const std::string& name, const std::string& text) const {
    return write(name, Bytes(text.begin(), text.end()));
  }
  static std::string content(const std::string& path) {
    std::ifstream in(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }
};

TEST_F(Text, BpeGivesTheTokensOfItsMakers) {
  const BpeTokenizer bpe = tokenizer();
  EXPECT_EQ(bpe.vocabulary_size(), 420);
  std::ifstream in(kFolder + "golden.txt");
  std::string numbers, hex;
  int texts = 0;
  while (std::getline(in, numbers) && std::getline(in, hex)) {
    std::istringstream words(numbers);
    const Tokens want{std::istream_iterator<std::int64_t>(words), {}};
    std::string text;
    for (std::size_t i = 0; i < hex.size(); i += 2) text += static_cast<char>(std::stoi(hex.substr(i, 2), nullptr, 16));
    EXPECT_EQ(bpe.encode(text), want) << text;
    EXPECT_EQ(bpe.decode(want), text);
    ++texts;
  }
  EXPECT_EQ(texts, 28);
}

TEST_F(Text, AnyBytesComeBack) {
  const BpeTokenizer bpe = tokenizer();
  std::string all;
  data::Random random(1);
  for (int i = 0; i < 3000; ++i) all += static_cast<char>(random.below(256));
  all += "\xf0\x9f\x98";  // the beginning of a character
  EXPECT_EQ(bpe.decode(bpe.encode(all)), all);
  const text::ByteTokenizer bytes;
  EXPECT_EQ(bytes.decode(bytes.encode(all)), all);
  EXPECT_EQ(bytes.encode("\xff"
                         "a"),
            (Tokens{255, 97}));
  EXPECT_EQ(bpe.decode(bpe.encode(std::string(200000, 'a'))).size(), 200000U);  // one word, in n log n
  EXPECT_THROW(bpe.decode(Tokens{420}), ValueError);
  EXPECT_THROW(bpe.decode(Tokens{-1}), ValueError);
  EXPECT_THROW(bytes.decode(Tokens{256}), ValueError);
}

TEST_F(Text, ADatasetHasShiftedWindows) {
  const std::string path = file("t.txt", "abcdefghij");
  const auto set = text::text_dataset(path, 3);
  EXPECT_EQ(set.size(), 3);
  EXPECT_EQ(set.get(2)[0].to_vector<std::int64_t>(), (Tokens{'g', 'h', 'i'}));
  EXPECT_EQ(set.get(2)[1].to_vector<std::int64_t>(), (Tokens{'h', 'i', 'j'}));
  int samples = 0;
  for (auto& [x, y] : data::DataLoader(set, {.batch_size = 2, .shuffle = true})) {
    EXPECT_EQ(x.size(1), 3);
    samples += static_cast<int>(y.size(0));
  }
  EXPECT_EQ(samples, 3);
  const text::TokenDataset every({1, 2, 3, 4, 5}, 2, 1);
  EXPECT_EQ(every.size(), 3);
  EXPECT_EQ(every.get(1)[1].to_vector<std::int64_t>(), (Tokens{3, 4}));
  const BpeTokenizer bpe = tokenizer();
  EXPECT_EQ(text::text_dataset(path, 2, bpe).tokens().to_vector<std::int64_t>(), bpe.encode("abcdefghij"));
  EXPECT_EQ(text::TokenDataset({1, 2, 3}, 2).size(), 1);
  EXPECT_THROW(text::TokenDataset({1, 2}, 2), ValueError);
  EXPECT_THROW(text::TokenDataset({1, 2, 3}, 0), ValueError);
  EXPECT_THROW(text::TokenDataset({1, 2, 3}, 1, -1), ValueError);
  EXPECT_THROW(set.get(3), IndexError);
  EXPECT_TRUE(has(error_of<ValueError>([&] { text::text_dataset(path, 10); }), "text_dataset: 10 tokens"));
  EXPECT_THROW(text::text_dataset(folder_ / "none", 3), IoError);
}

TEST_F(Text, RefusesMalformedVocabularies) {
  const std::string vocab = content(kFolder + "vocab.json"), merges = content(kFolder + "merges.txt");
  const auto refused = [&](const std::string& json, const std::string& pairs) {
    const std::string a = file("vocab.json", json), b = file("merges.txt", pairs);
    return error_of<FormatError>([&] { BpeTokenizer(a, b); });
  };
  const auto with = [&](const std::string& from, const std::string& to) {
    std::string text = vocab;
    text.replace(text.find(from), from.size(), to);
    return text;
  };
  EXPECT_TRUE(has(refused("", merges), "vocab.json"));
  EXPECT_TRUE(has(refused("[1]", merges), "vocab.json"));
  EXPECT_TRUE(has(refused(vocab.substr(0, 1000), merges), "vocab.json"));
  EXPECT_TRUE(has(refused(vocab + "x", merges), "vocab.json"));
  EXPECT_TRUE(has(refused("{\"a\xff\": 0}", merges), "not UTF-8"));
  EXPECT_TRUE(has(refused(with("\"!\":1,", "\"!\":1.5,"), merges), "vocab.json"));
  EXPECT_TRUE(has(refused(with("\"!\":1,", "\"!\":2,"), merges), "the number 2"));
  EXPECT_TRUE(has(refused(with("\"!\":1,", "\"!\":1,\"!\":1,"), merges), "twice"));
  EXPECT_TRUE(has(refused(with("\"!\":1,", "\"!\":420,"), merges), "the number 420"));
  EXPECT_TRUE(has(refused(with("\"!\":1,", "\"! \":1,"), merges), "the token '! '"));
  EXPECT_TRUE(has(refused(with("\"!\":1,", "\"!!!\":1,"), merges), "no token for the byte 33"));
  EXPECT_TRUE(has(refused(vocab, "#version: 0.2\nab\n"), "'ab' on line 2"));
  EXPECT_TRUE(has(refused(vocab, "a b c\n"), "'a b c' on line 1"));
  EXPECT_TRUE(has(refused(vocab, "a \n"), "on line 1"));
  EXPECT_TRUE(has(refused(vocab, "z q\n"), "alone and joined"));
  EXPECT_TRUE(has(refused(vocab, merges + merges.substr(merges.find('\n') + 1)), "again"));
  EXPECT_TRUE(has(refused(vocab, "\xe2\x82\xac a\n"), "stand for bytes"));
  EXPECT_THROW(BpeTokenizer(folder_ / "none.json", kFolder + "merges.txt"), IoError);
}

}  // namespace
}  // namespace minnow
