#include <filesystem>
#include <gtest/gtest.h>
#include <set>
#include <minnow/minnow.h>

#include "../../examples/models/llama.h"
#include "data/files.h"
#include "golden.h"
#include "thrown.h"

namespace minnow::test {
namespace {

const std::string kLlmData = MINNOW_TEST_DIR "/llm/data/";

const StateDict& golden_llm() {
  static const StateDict values = load(kLlmData + "golden.safetensors");
  return values;
}

models::LlamaForCausalLM model_of(const std::string& name) {
  return models::load_llama(llm::load_checkpoint(kLlmData + name));
}

Tensor loss_of(const Tensor& logits, const Tensor& ids) {
  return nn::cross_entropy(logits(all, slice(0, -1)).flatten(0, 1), ids(all, slice(1)).flatten());
}

/// Logits, loss and gradients are those of Hugging Face's.
template <class Grad>
void expect_as_hugging_face(models::LlamaForCausalLM& net, const std::string& name, Grad grad_of) {
  const Tensor ids = golden_llm().at("ids"), logits = net(ids);
  expect_close(logits, golden_llm().at(name + "/logits"), name, {1e-4, 1e-4});
  const Tensor loss = loss_of(logits, ids);
  expect_close(loss, golden_llm().at(name + "/loss"), name, {1e-5, 1e-5});
  loss.backward();
  int compared = 0;
  for (const auto& [key, value] : golden_llm())
    if (key.starts_with(name + "/grad/")) {
      expect_close(grad_of(key.substr(name.size() + 6)), value, key, {1e-4, 1e-4});
      ++compared;
    }
  EXPECT_GE(compared, 2);
}

TEST(Llama, ComputesWhatHuggingFacesDo) {
  for (const std::string name : {"llama", "qwen2"}) {
    models::LlamaForCausalLM net = model_of(name);
    const bool checkpoints = name == "qwen2";
    net.model.checkpoint_layers(checkpoints);
    expect_as_hugging_face(net, name, [&](const std::string& key) {
      const auto parameters = net.named_parameters();
      const auto found = std::find_if(parameters.begin(), parameters.end(), [&](auto& p) { return p.name == key; });
      return found == parameters.end() ? Tensor() : found->tensor.grad();
    });
  }
}

TEST(Llama, TakesOverTheMemoryOfACheckpointThatIsGivenAway) {
  llm::Checkpoint checkpoint = llm::load_checkpoint(kLlmData + "llama.gguf");
  const Tensor embedding = checkpoint.weights.at("model.embed_tokens.weight");
  const models::LlamaForCausalLM beside = models::load_llama(checkpoint);
  EXPECT_NE(beside.model.embed_tokens.weight.storage(), embedding.storage());
  const models::LlamaForCausalLM net = models::load_llama(std::move(checkpoint));
  EXPECT_EQ(net.model.embed_tokens.weight.storage(), embedding.storage());
  EXPECT_TRUE(net.lm_head.weight.is_same(net.model.embed_tokens.weight));
  EXPECT_EQ(net.lm_head.weight.storage(), embedding.storage());
}

TEST(Llama, ComputesTheSameWithTheBlocksOfAFile) {
  const NoGradGuard no_grad;
  const models::LlamaForCausalLM net = models::load_llama(llm::load_checkpoint(kLlmData + "llama.gguf", true));
  EXPECT_FALSE(net.model.embed_tokens.weight.defined() || net.lm_head.weight.defined());
  EXPECT_EQ(net.model.embed_tokens.blocks.storage(), net.lm_head.blocks.storage());
  models::LlamaForCausalLM plain = model_of("llama.gguf"), blocks = net;
  expect_close(blocks(golden_llm().at("ids")), plain(golden_llm().at("ids")), "logits", {1e-4, 1e-4});
  const models::GenerateOptions options{.max_new_tokens = 5};
  EXPECT_EQ(models::generate(net, {{5, 6}}, options), models::generate(plain, {{5, 6}}, options));
}

TEST(Llama, WithACacheGivesTheSameLogits) {
  models::LlamaForCausalLM net = model_of("llama");
  const NoGradGuard no_grad;
  const Tensor ids = golden_llm().at("ids"), whole = net(ids);
  models::LlamaCache cache(9);
  expect_close(net(ids(all, slice(0, 4)), cache), whole.select(1, 3), "the first four", {1e-5, 1e-5});
  expect_close(net(ids(all, slice(4, 5)), cache), whole.select(1, 4), "one", {1e-5, 1e-5});
  expect_close(net(ids(all, slice(5, 9)), cache), whole.select(1, 8), "several behind others", {1e-5, 1e-5});
  EXPECT_EQ(cache.length(), 9);
  EXPECT_THROW(net(ids(all, slice(0, 1)), cache), ValueError);
  models::LlamaCache other(9);
  net(ids, other);
  EXPECT_THROW(net(ids(slice(0, 1), slice(0, 1)), other), ValueError);
  EXPECT_THROW(net(zeros({1, 65}, int64)), ValueError);
  models::LlamaCache larger(100);
  EXPECT_THROW(net(zeros({1, 65}, int64), larger), ValueError);
  net.to(bfloat16);
  models::LlamaCache half(9);
  EXPECT_EQ(net(ids, half).dtype(), bfloat16);
  expect_close(half.length() ? net(ids).select(1, 8).to(float32) : Tensor(), whole.select(1, 8), "bfloat16",
               {0.2, 0.1});
}

TEST(Llama, SeveralPromptsGiveWhatEachGivesAlone) {
  models::LlamaForCausalLM net = model_of("llama");
  const std::vector<std::vector<std::int64_t>> prompts = {{5}, {7, 8, 9, 10}, {1, 2, 3}};
  models::GenerateOptions options{.max_new_tokens = 6};
  const auto together = models::generate(net, prompts, options);
  for (std::size_t i = 0; i < prompts.size(); ++i)
    EXPECT_EQ(together[i], models::generate(net, {prompts[i]}, options)[0]) << i;
  options.stops = {together[1][3]};
  EXPECT_LE(models::generate(net, {prompts[1]}, options)[0].size(), 3U);
  options.stops = {};
  options.on_token = [](std::size_t, std::int64_t) { return false; };
  EXPECT_EQ(models::generate(net, prompts, options)[2].size(), 1U);
  options.sampling = {.temperature = 2, .seed = 3};
  options.on_token = {};
  EXPECT_EQ(models::generate(net, prompts, options), models::generate(net, prompts, options));
  EXPECT_THROW(models::generate(net, {}, options), ValueError);
  EXPECT_THROW(models::generate(net, {{1}, {}}, options), ValueError);
  const std::vector<std::int64_t> longest(60, 3);
  EXPECT_EQ(models::generate(net, {longest}, {.max_new_tokens = 10})[0].size(), 5U);  // of 64 positions
  EXPECT_THROW(models::generate(net, {std::vector<std::int64_t>(65, 3)}, options), ValueError);
}

TEST(Lora, ComputesWhatPeftDoes) {
  models::LlamaForCausalLM net = model_of("llama");
  llm::lora::Adapter adapter = llm::lora::load(net, kLlmData + "adapter");
  EXPECT_EQ(adapter.layers().size(), 4U);
  expect_as_hugging_face(net, "adapter", [&](std::string key) {
    key = key.substr(std::string("base_model.model.").size());
    for (const auto& [name, p] : adapter.named_parameters()) {
      std::string path = name;
      std::replace(path.begin(), path.end(), '/', '.');
      if (path + ".weight" == key) return p.grad();
    }
    return Tensor();
  });
  for (const auto& [name, p] : net.named_parameters()) EXPECT_FALSE(p.grad().defined()) << name;
  const NoGradGuard no_grad;
  const Tensor ids = golden_llm().at("ids"), tuned = golden_llm().at("adapter/logits");
  adapter.merge();
  expect_close(net(ids), tuned, "merged", {1e-4, 1e-4});
  EXPECT_THROW(adapter.merge(), ValueError);
  adapter.unmerge();
  EXPECT_THROW(adapter.unmerge(), ValueError);
  expect_close(net(ids), tuned, "unmerged", {1e-4, 1e-4});
  { const llm::lora::Adapter gone = std::move(adapter); }
}

class LoraFiles : public TempFolder {};

TEST_F(LoraFiles, AreReadAgainAndEndWithTheAdapter) {
  const NoGradGuard no_grad;
  const Tensor ids = golden_llm().at("ids");
  models::LlamaForCausalLM net = model_of("llama"), other = model_of("llama");
  const Tensor plain = net(ids);
  {
    llm::lora::Adapter adapter =
        llm::lora::attach(net, {.rank = 3, .alpha = 4, .targets = {"v_proj", "up_proj"}, .rank_stabilized = true});
    expect_close(net(ids), plain, "B is 0", {0, 0});
    for (const auto& [name, p] : adapter.named_parameters())
      if (name.ends_with("B")) nn::init::normal_(p, 0, 0.2);
    adapter.save(folder_ / "a");
    llm::lora::Adapter same = llm::lora::load(other, folder_ / "a");
    expect_close(other(ids), net(ids), "read again", {0, 0});
    EXPECT_GT(amax(abs(net(ids) - plain)).item<double>(), 0.01);
  }
  expect_close(net(ids), plain, "the adapter has ended", {0, 0});
  EXPECT_THROW(llm::lora::attach(net, {.targets = {"q"}}), ValueError);
  EXPECT_THROW(llm::lora::attach(net, {.rank = 0}), ValueError);
  for (const std::string text :
       {"", "{}", R"({"peft_type":"LORA"})", R"({"peft_type":"IA3","target_modules":["v_proj"]})",
        R"({"peft_type":"LORA","target_modules":["v_proj"],"use_dora":true})",
        R"({"peft_type":"LORA","target_modules":["v_proj"],"rank_pattern":{"a":1}})",
        R"({"peft_type":"LORA","target_modules":["v_proj"],"bias":"all"})"}) {
    write("a/adapter_config.json", Bytes(text.begin(), text.end()));
    EXPECT_TRUE(has(error_of<FormatError>([&] { llm::lora::load(other, folder_ / "a"); }), "adapter_config.json"))
        << text;
  }
  const std::string wrong = R"({"peft_type":"LORA","target_modules":["v_proj"],"r":3})";
  write("a/adapter_config.json", Bytes(wrong.begin(), wrong.end()));
  EXPECT_TRUE(has(error_of<FormatError>([&] { llm::lora::load(other, folder_ / "a"); }), "up_proj"));
}

TEST(Sampler, KeepsWhatItsOptionsSay) {
  const std::vector<float> logits = {0, 1, 2, 3, -1};  // e^3 of 31.1 in all: 0.64, 0.24, 0.09, 0.03, 0.01
  const auto drawn = [&](llm::SamplerOptions options, std::vector<std::int64_t> seen = {}) {
    options.temperature = options.temperature == 0 ? 1 : options.temperature;
    llm::Sampler sampler(options);
    std::set<std::int64_t> tokens;
    for (int i = 0; i < 2000; ++i) tokens.insert(sampler.next(logits, seen));
    return tokens;
  };
  using Set = std::set<std::int64_t>;
  EXPECT_EQ(drawn({}), (Set{0, 1, 2, 3, 4}));
  EXPECT_EQ(drawn({.top_k = 2}), (Set{2, 3}));
  EXPECT_EQ(drawn({.top_p = 0.6}), (Set{3}));
  EXPECT_EQ(drawn({.top_p = 0.7}), (Set{2, 3}));
  EXPECT_EQ(drawn({.top_p = 0}), (Set{3}));
  EXPECT_EQ(drawn({.min_p = 0.1}), (Set{1, 2, 3}));
  EXPECT_EQ(drawn({.temperature = 0.01}), (Set{3}));
  EXPECT_EQ(llm::Sampler().next(logits, {}), 3);
  EXPECT_EQ(llm::Sampler({.repetition_penalty = 2}).next(logits, std::vector<std::int64_t>{3, 3}), 2);
  int threes = 0;
  llm::Sampler sampler({.temperature = 1, .seed = 5});
  for (int i = 0; i < 4000; ++i) threes += sampler.next(logits, {}) == 3;
  EXPECT_NEAR(threes / 4000.0, 0.636, 0.03);
  EXPECT_THROW(llm::Sampler({.temperature = -1}), ValueError);
  EXPECT_THROW(llm::Sampler({.top_p = 2}), ValueError);
  EXPECT_THROW(llm::Sampler({.repetition_penalty = 0}), ValueError);
  EXPECT_THROW(llm::Sampler().next(std::vector<float>{NAN}, {}), ValueError);
  EXPECT_THROW(llm::Sampler().next(std::vector<float>{}, {}), ValueError);
  EXPECT_THROW(llm::Sampler({.repetition_penalty = 2}).next(logits, std::vector<std::int64_t>{5}), ValueError);
}

}  // namespace
}  // namespace minnow::test
