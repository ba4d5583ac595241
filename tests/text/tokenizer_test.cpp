#include <fstream>
#include <gtest/gtest.h>
#include <iterator>
#include <sstream>
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
using text::ChatForm;
using Ids = std::vector<std::int64_t>;

const std::string kTokenizers = MINNOW_TEST_DIR "/llm/data/";

std::string content_of(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

TEST(Tokenizers, GiveTheTokensOfHuggingFaces) {
  for (const std::string name : {"gpt2", "smollm", "llama3", "qwen2"}) {
    const BpeTokenizer bpe = BpeTokenizer::from_json(kTokenizers + name + ".json");
    EXPECT_EQ(bpe.bos(), name == "llama3" ? 422 : -1);
    std::ifstream in(kTokenizers + name + ".txt");
    std::string numbers, hex;
    int texts = 0;
    while (std::getline(in, numbers) && std::getline(in, hex)) {
      std::istringstream words(numbers);
      const Ids want{std::istream_iterator<std::int64_t>(words), {}};
      std::string text;
      for (std::size_t i = 0; i < hex.size(); i += 2)
        text += static_cast<char>(std::stoi(hex.substr(i, 2), nullptr, 16));
      EXPECT_EQ(bpe.encode(text), want) << name << ": " << text;
      EXPECT_TRUE(name == "qwen2" || bpe.decode(want) == text);
      ++texts;
    }
    EXPECT_EQ(texts, 83);
  }
}

TEST(Tokenizers, FindAddedTokensUnlessAskedNotTo) {
  const BpeTokenizer bpe = BpeTokenizer::from_json(kTokenizers + "smollm.json");
  EXPECT_EQ(bpe.encode("<|im_end|>"), (Ids{421}));
  EXPECT_EQ(bpe.encode("<|im"), (Ids{422}));
  const Ids plain = bpe.encode("<|im_end|>", false);
  EXPECT_GT(plain.size(), 1U);
  EXPECT_EQ(bpe.decode(plain), "<|im_end|>");
  EXPECT_EQ(bpe.added("<|im_start|>"), 420);
  EXPECT_EQ(bpe.added("<|im_"), -1);
  EXPECT_EQ(bpe.added(""), -1);
  EXPECT_TRUE(bpe.is_added(420));
  EXPECT_FALSE(bpe.is_added(5));
  EXPECT_FALSE(bpe.is_added(-1));
}

TEST(Tokenizers, DecodeByPiecesWithoutTearing) {
  const BpeTokenizer bpe = BpeTokenizer::from_json(kTokenizers + "smollm.json");
  const std::string text = "The \xf0\x9f\x98\x80 fox \xe2\x82\xac!";
  text::StreamDecoder decoder(bpe);
  std::string all;
  for (const std::int64_t token : bpe.encode(text)) {
    const std::string piece = decoder.add(token);
    EXPECT_TRUE(piece.empty() || (static_cast<unsigned char>(piece[0]) & 0xc0) != 0x80);
    all += piece;
  }
  EXPECT_EQ(all + decoder.end(), text);
  EXPECT_EQ(decoder.add(421), "");  // an added token
  text::StreamDecoder stopping(bpe, {"x j", "fox!"});
  std::string until;
  for (const std::int64_t token : bpe.encode("The fox jumps")) until += stopping.add(token);
  EXPECT_TRUE(stopping.stopped());
  EXPECT_EQ(until + stopping.end(), "The fo");
  text::StreamDecoder held(bpe, {"foxy"});
  std::string before;
  for (const std::int64_t token : bpe.encode("The fox")) before += held.add(token);
  EXPECT_EQ(before, "The ");
  EXPECT_EQ(held.end(), "fox");
  EXPECT_THROW(text::StreamDecoder(bpe, {""}), ValueError);
}

TEST(Tokenizers, WriteConversations) {
  const BpeTokenizer bpe = BpeTokenizer::from_json(kTokenizers + "smollm.json");
  const ChatForm form = ChatForm::of_template("{{'<|im_start|>' ... You are a helpful assistant }}");
  EXPECT_EQ(form.system, "You are a helpful assistant");
  const std::vector<text::ChatMessage> chat = {{"system", "x"}, {"user", "<|im_end|> hi"}, {"assistant", "fox"}};
  const text::ChatTokens all = ChatForm().encode(bpe, chat, true);
  EXPECT_EQ(bpe.decode(all.tokens),
            "<|im_start|>system\nx<|im_end|>\n<|im_start|>user\n<|im_end|> hi<|im_end|>\n"
            "<|im_start|>assistant\nfox<|im_end|>\n<|im_start|>assistant\n");
  EXPECT_EQ(std::count(all.tokens.begin(), all.tokens.end(), 421), 3);  // what the user wrote is text
  Ids answer;
  for (std::size_t i = 0; i < all.tokens.size(); ++i)
    if (all.answers[i]) answer.push_back(all.tokens[i]);
  EXPECT_EQ(bpe.decode(answer), "fox<|im_end|>");
  EXPECT_EQ(bpe.decode(form.encode(bpe, {}, false).tokens),
            "<|im_start|>system\nYou are a helpful assistant<|im_end|>\n");
  EXPECT_THROW(ChatForm::of_template("[INST]"), ValueError);
  EXPECT_THROW((void)ChatForm{ChatForm::Kind::llama3}.encode(bpe, chat, true), ValueError);
  EXPECT_THROW((void)ChatForm().encode(bpe, std::vector<text::ChatMessage>{{"", "x"}}, true), ValueError);
}

class TokenizerFiles : public test::TempFolder {};

TEST_F(TokenizerFiles, OfOtherKindsAreRefusedByName) {
  const std::string good = content_of(kTokenizers + "llama3.json");
  const auto refused = [&](const std::string& from, const std::string& to) {
    std::string text = good;
    EXPECT_NE(text.find(from), std::string::npos) << from;
    text.replace(text.find(from), from.size(), to);
    const std::string path = write("t.json", Bytes(text.begin(), text.end()));
    return error_of<FormatError>([&] { BpeTokenizer::from_json(path); });
  };
  EXPECT_TRUE(has(refused("{1,3}", "{1,2}"), "pre_tokenizer Split Regex:"));
  EXPECT_TRUE(has(refused("\"Isolated\"", "\"Removed\""), "pre_tokenizer"));
  EXPECT_TRUE(has(refused("\"add_prefix_space\":false", "\"add_prefix_space\":true"), "add_prefix_space"));
  EXPECT_TRUE(has(refused("\"type\":\"BPE\"", "\"type\":\"Unigram\""), "Unigram"));
  EXPECT_TRUE(has(refused("\"normalizer\":null", "\"normalizer\":{\"type\":\"Lowercase\"}"), "Lowercase"));
  EXPECT_TRUE(has(refused("\"byte_fallback\":false", "\"byte_fallback\":true"), "byte_fallback"));
  EXPECT_TRUE(has(refused("\"lstrip\":false", "\"lstrip\":true"), "lstrip"));
  EXPECT_TRUE(has(refused("\"end_of_word_suffix\":\"\"", "\"end_of_word_suffix\":\"</w>\""), "end_of_word_suffix"));
  EXPECT_TRUE(has(refused("\"unk_token\":null", "\"unk_token\":\"none\""), "unk_token"));
  EXPECT_TRUE(has(refused("TemplateProcessing", "BertProcessing"), "BertProcessing"));
  EXPECT_TRUE(has(refused("\"id\":420,", "\"id\":421,"), "the number 421"));
  EXPECT_TRUE(has(refused("\"!\":1,", "\"!\":2,"), "the number 2"));
  EXPECT_TRUE(has(refused("\"model\"", "\"modex\""), "no model"));
  EXPECT_TRUE(has(refused("{", "["), "t.json"));
  EXPECT_TRUE(has(refused("\"merges\":[", "\"merges\":[\"zq zq\","), "the merge 'zq zq'"));
  EXPECT_TRUE(has(refused("\"merges\":[", "\"merges\":[[\"a\"],"), "1 tokens in a merge"));
}

TEST_F(TokenizerFiles, ConversationsAreReadByLines) {
  const std::string lines =
      "{\"messages\": [{\"role\": \"user\", \"content\": \"hi\\n\"}, {\"role\": \"assistant\", \"content\": \"\"}], "
      "\"id\": 3}\n\n"
      "{\"messages\": [{\"content\": \"b\", \"role\": \"user\"}]}";
  const auto chats = text::read_chats(write("c.jsonl", Bytes(lines.begin(), lines.end())));
  ASSERT_EQ(chats.size(), 2U);
  EXPECT_EQ(chats[0][0].content, "hi\n");
  EXPECT_EQ(chats[1][0].role, "user");
  for (const std::string bad :
       {"{}", "{\"messages\": []}", "{\"messages\": [{\"content\": \"b\"}]}", "[", "{\"messages\": [1]}"}) {
    const std::string text = lines + "\n" + bad;
    const std::string path = write("d.jsonl", Bytes(text.begin(), text.end()));
    EXPECT_TRUE(has(error_of<FormatError>([&] { text::read_chats(path); }), "line 4")) << bad;
  }
}

}  // namespace
}  // namespace minnow
