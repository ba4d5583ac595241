#include <fstream>
#include <gtest/gtest.h>
#include <iterator>
#include <minnow/llm/llm.h>
#include <minnow/minnow.h>

#include "data/files.h"
#include "golden.h"
#include "thrown.h"

namespace minnow::test {
namespace {

const std::string kGguf = MINNOW_TEST_DIR "/llm/data/llama.gguf";

TEST(Gguf, HasTheWeightsOfItsMakers) {
  const llm::GgufFile file(kGguf);
  EXPECT_EQ(file.integer("llama.block_count"), 2);
  EXPECT_EQ(file.text("general.architecture"), "llama");
  EXPECT_TRUE(file.boolean("test.flag"));
  EXPECT_EQ(file.texts("tokenizer.ggml.tokens"), (std::vector<std::string>{"a", "b", "\xc3\xa9"}));
  EXPECT_THROW(file.integer("test.flag"), FormatError);
  EXPECT_THROW(file.number("none"), FormatError);
  EXPECT_THROW(file.load("none"), IndexError);
  EXPECT_EQ(file.find("blk.0.ffn_down.weight")->shape, (Shape{32, 64}));
  EXPECT_EQ(file.load_bytes("blk.0.ffn_down.weight").numel(), 32 * 64 / 32 * 20);

  const llm::Checkpoint checkpoint = llm::load_checkpoint(kGguf);
  EXPECT_EQ(checkpoint.config.rope.theta, 500);
  EXPECT_EQ(checkpoint.config.num_key_value_heads, 2);
  EXPECT_EQ(checkpoint.config.vocab_size, 60);
  EXPECT_TRUE(checkpoint.config.tie_word_embeddings);
  std::size_t compared = 1;  // lm_head
  for (const auto& [name, value] : load(MINNOW_TEST_DIR "/llm/data/golden.safetensors"))
    if (name.starts_with("gguf/")) {
      expect_close(checkpoint.weights.at(name.substr(5)).to(float32), value, name, {1e-7, 1e-7});
      ++compared;
    }
  EXPECT_EQ(compared, checkpoint.weights.size());
}

class GgufFiles : public TempFolder {
 protected:
  std::string content(const std::string& path) const {
    std::ifstream in(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  std::string refused(const std::string& bytes) const {
    const std::string path = write("x.gguf", Bytes(bytes.begin(), bytes.end()));
    return error_of<FormatError>([&] { llm::load_checkpoint(path); });
  }
};

TEST_F(GgufFiles, ThatAreDamagedAreRefused) {
  const std::string good = content(kGguf);
  const auto with = [&](const std::string& from, const std::string& to) {
    std::string text = good;
    EXPECT_NE(text.find(from), std::string::npos);
    return text.replace(text.find(from), to.size(), to);
  };
  EXPECT_TRUE(has(refused(""), "the end of the file"));
  EXPECT_TRUE(has(refused("GGML" + good.substr(4)), "'GGUF'"));
  EXPECT_TRUE(has(refused(std::string("GGUF\4\0\0\0", 8) + good.substr(8)), "version 4"));
  EXPECT_TRUE(has(refused(good.substr(0, 8) + std::string(8, '\x7f') + good.substr(16)), "tensors"));
  EXPECT_TRUE(has(refused(good.substr(0, 400)), "no more than the file has room for"));
  EXPECT_TRUE(has(refused(good.substr(0, good.size() - 64)), "within the file's"));
  EXPECT_TRUE(has(refused(with("general.architecture", "general.architecturx")), "general.architecture"));
  EXPECT_TRUE(has(refused(with("llama.block_count", "llama.block_counx")), "llama.block_count"));
  EXPECT_TRUE(has(refused(with("blk.1.attn_norm", "blk.0.attn_norm")), "twice"));
  EXPECT_TRUE(has(refused(with("blk.1.attn_norm", "blk.1.attn_nora")), "blk.1.attn_nora"));
  EXPECT_TRUE(has(refused(with("test.flag", "\xff\xff")), "UTF-8"));
  EXPECT_TRUE(
      has(refused(with(std::string("\5\0\0\0\0\0\0\0llama", 13), std::string("\5\0\0\0\0\0\0\0gemma", 13))), "gemma"));
  EXPECT_THROW(llm::GgufFile(folder_ / "none"), IoError);
}

TEST_F(GgufFiles, ConfigsOfOtherModelsAreRefused) {
  const std::string good = content(MINNOW_TEST_DIR "/llm/data/llama/config.json");
  const auto refuses = [&](const std::string& from, const std::string& to) {
    std::string text = good;
    EXPECT_NE(text.find(from), std::string::npos) << from;
    text.replace(text.find(from), from.size(), to);
    const std::string path = write("config.json", Bytes(text.begin(), text.end()));
    return error_of<FormatError>([&] { llm::read_config(path); });
  };
  EXPECT_TRUE(has(refuses("\"model_type\": \"llama\"", "\"model_type\": \"gemma\""), "gemma"));
  EXPECT_TRUE(has(refuses("silu", "gelu"), "hidden_act"));
  EXPECT_TRUE(has(refuses("\"rope_type\": \"llama3\"", "\"rope_type\": \"yarn\""), "yarn"));
  EXPECT_TRUE(has(refuses("\"hidden_size\": 32", "\"hidden_size\": -32"), "config.json"));
  EXPECT_TRUE(has(refuses("\"num_key_value_heads\": 2", "\"num_key_value_heads\": 3"), "num_key_value_heads"));
  EXPECT_TRUE(has(refuses("\"hidden_size\": 32,", ""), "no sizes"));
  EXPECT_TRUE(has(refuses("{", "["), "config.json"));
  EXPECT_EQ(llm::read_config(MINNOW_TEST_DIR "/llm/data/llama/config.json").rope.factor, 4);
  EXPECT_TRUE(llm::read_config(MINNOW_TEST_DIR "/llm/data/qwen2/config.json").qkv_bias);
}

}  // namespace
}  // namespace minnow::test
