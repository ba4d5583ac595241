#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>
#include <minnow/nn/module/module.h>

/// Low-rank adaptation (Hu et al. 2021, "LoRA: Low-Rank Adaptation of Large Language Models"), with the names and files
/// of Hugging Face's PEFT.
namespace minnow::llm::lora {

struct Options {
  std::int64_t rank = 8;
  double alpha = 16;                                        ///< what is added is alpha / rank B A x
  double dropout = 0;                                       ///< of x, in train mode
  std::vector<std::string> targets = {"q_proj", "v_proj"};  ///< the last names of layers
  bool rank_stabilized = false;                             ///< alpha / √rank instead (Kalajdzievski 2023)
};

/// The matrices A and B of the layers of a network, which add s B A x to the layers' results as long as a copy of this
/// lives.  Its parameters are those to train.  A handle, as all modules are.
class Adapter : public nn::Module {
 public:
  const Options& options() const { return options_; }
  /// The adapted layers, by their paths in the network.
  std::vector<std::string> layers() const;

  /// Adds s B A to the weights, and takes it away again, up to rounding.  ValueError if it is done already, and for
  /// weights of few bits.
  void merge(SourceLocation where = SourceLocation::current());
  void unmerge(SourceLocation where = SourceLocation::current());
  bool is_merged() const;

  /// The matrices by PEFT's names: "base_model.model.model.layers.0.self_attn.q_proj.lora_A.weight".
  StateDict peft_state_dict() const;
  /// Writes PEFT's adapter_model.safetensors and adapter_config.json into a folder, which is made if it is missing.
  /// base: the name of the model.  IoError.
  void save(const std::string& folder, const std::string& base = "",
            SourceLocation where = SourceLocation::current()) const;

 private:
  friend Adapter attach(nn::Module& net, const Options& options, SourceLocation where);
  struct Pair : nn::Module {
    Pair(std::string path, Tensor weight, std::int64_t in, std::int64_t out, std::int64_t rank, Device device);

    std::string path;
    Tensor weight;  // of the layer; undefined if it has few bits
    nn::Parameter lora_A, lora_B;
  };
  struct State;
  Adapter(nn::Module& net, const Options& options, SourceLocation where);
  void add_product(double factor, SourceLocation where);

  Options options_;
  std::vector<Pair> pairs_;
  std::shared_ptr<State> state_;
};

/// Adapts the layers of a network (llm::Linear and nn::Linear) and freezes all its parameters.  A begins uniform in
/// ±1/√in_features, B as zeros, as PEFT's, so that nothing changes at first.  They are float32, on the layers' devices.
///
///     lora::Adapter adapter = lora::attach(net, {.rank = 8, .alpha = 16, .targets = {"q_proj", "v_proj"}});
///     optim::AdamW adamw(adapter.parameters(), {.lr = 2e-4});
///
/// ValueError for a rank below 1, a dropout out of [0, 1), and for a target that no layer has.
Adapter attach(nn::Module& net, const Options& options = {}, SourceLocation where = SourceLocation::current());

/// Reads a folder of PEFT's and attaches it.  FormatError for another kind of adapter, for what these here do not have
/// (DoRA, biases, patterns of ranks), and for matrices that do not fit; IoError; the errors of attach().
Adapter load(nn::Module& net, const std::string& folder, SourceLocation where = SourceLocation::current());

}  // namespace minnow::llm::lora
