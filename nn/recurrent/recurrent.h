#pragma once

#include <cstdint>
#include <tuple>
#include <vector>
#include <minnow/nn/module/module.h>
#include <minnow/nn/recurrent/packed_sequence.h>

namespace minnow::nn {

struct RecurrentOptions {
  std::int64_t num_layers = 1;
  bool bias = true;
  bool batch_first = false;    ///< x is [N, T, input_size], not [T, N, input_size]
  double dropout = 0;          ///< of each layer's results but the last one's, in train mode
  bool bidirectional = false;  ///< a second direction, whose results stand behind those of the first
  /// Of an LSTM: the size of h, which is projected from hidden_size elements (Sak et al. 2014); 0: it is not.
  std::int64_t proj_size = 0;
};

namespace detail {

/// What RNN, GRU and LSTM have in common: the weights of layers and directions, with PyTorch's names (weight_ih_l0,
/// weight_hh_l0, bias_ih_l0, bias_hh_l0, ... weight_ih_l1_reverse), initialized uniformly in ±1 / √hidden_size.
struct Recurrent {
  std::int64_t input_size, hidden_size;
  RecurrentOptions options;
  std::vector<Parameter> weights;  ///< layer by layer, each direction's input, hidden and their biases
};

/// {y, h, c} of all layers of a module.   kind: a Recurrence; h and c may be undefined for zeros.   lengths: of
/// sequences [T, N, ...] that end before T; the others are nullptr.
std::tuple<Tensor, Tensor, Tensor> run_layers(int kind, const char* name, const Recurrent& net, const Module& module,
                                              const Tensor& x, const Tensor& h, const Tensor& c,
                                              const std::vector<std::int64_t>* lengths = nullptr);
/// The tensors in the order of `weights`, and their names.  ValueError for sizes that are not positive, and dropout.
struct InitialWeight {
  std::string name;
  Tensor value;
};
std::vector<InitialWeight> initial_weights(int kind, const char* name, const Recurrent& net, SourceLocation where);
std::string describe_recurrent(const char* name, const Recurrent& net);

}  // namespace detail

/// Long short-term memory (Hochreiter and Schmidhuber 1997), as torch.nn.LSTM.
///
///     auto [y, h, c] = lstm(x);        // from zeros
///     auto [y2, h2, c2] = lstm(x2, h, c);
///     auto [z, h3, c3] = lstm(nn::pack_padded_sequence(x, lengths));   // z: pad_packed_sequence(z)
///
/// x: [T, N, input_size], or [N, T, input_size] with batch_first, or [T, input_size]  ->  y: the h of all steps of the
/// last layer, hidden_size elements each, twice as many if bidirectional; h and c: the last ones of each layer and
/// direction, [num_layers * directions, N, hidden_size].  One layer in one direction is one operation, with any order
/// of gradient. With proj_size, h and y have proj_size elements, and a layer is as many operations as steps.
/// Of a PackedSequence, h and c are those at the end of each sequence.
class LSTM : public ModuleOf<std::tuple<Tensor, Tensor, Tensor>(Tensor, Tensor, Tensor)> {
 public:
  /// ValueError unless the sizes and num_layers are positive and dropout is in [0, 1].
  LSTM(std::int64_t input_size, std::int64_t hidden_size, RecurrentOptions options = {},
       SourceLocation where = SourceLocation::current());

  std::tuple<Tensor, Tensor, Tensor> forward(Tensor x, Tensor h, Tensor c) override;
  std::string describe() const override;
  using ModuleOf::operator();
  std::tuple<Tensor, Tensor, Tensor> operator()(Tensor x, SourceLocation where = SourceLocation::current()) const {
    return ModuleOf::operator()(std::move(x), Tensor(), Tensor(), where);
  }
  std::tuple<PackedSequence, Tensor, Tensor> operator()(const PackedSequence& x, const Tensor& h = {},
                                                        const Tensor& c = {},
                                                        SourceLocation where = SourceLocation::current()) const;

 private:
  detail::Recurrent net_;
};

/// Gated recurrent units (Cho et al. 2014), as torch.nn.GRU: auto [y, h] = gru(x), or gru(x, h).  Shapes as of LSTM.
class GRU : public ModuleOf<std::tuple<Tensor, Tensor>(Tensor, Tensor)> {
 public:
  /// ValueError unless the sizes and num_layers are positive and dropout is in [0, 1].
  GRU(std::int64_t input_size, std::int64_t hidden_size, RecurrentOptions options = {},
      SourceLocation where = SourceLocation::current());

  std::tuple<Tensor, Tensor> forward(Tensor x, Tensor h) override;
  std::string describe() const override;
  using ModuleOf::operator();
  std::tuple<Tensor, Tensor> operator()(Tensor x, SourceLocation where = SourceLocation::current()) const {
    return ModuleOf::operator()(std::move(x), Tensor(), where);
  }
  std::tuple<PackedSequence, Tensor> operator()(const PackedSequence& x, const Tensor& h = {},
                                                SourceLocation where = SourceLocation::current()) const;

 private:
  detail::Recurrent net_;
};

/// The activation of an RNN.
enum class Nonlinearity : std::uint8_t { tanh, relu };

/// A simple recurrent network (Elman 1990), as torch.nn.RNN: h = tanh(W_ih x + b_ih + W_hh h + b_hh).  Call and shapes
/// as of GRU.
class RNN : public ModuleOf<std::tuple<Tensor, Tensor>(Tensor, Tensor)> {
 public:
  /// ValueError unless the sizes and num_layers are positive and dropout is in [0, 1].
  RNN(std::int64_t input_size, std::int64_t hidden_size, RecurrentOptions options = {},
      Nonlinearity nonlinearity = Nonlinearity::tanh, SourceLocation where = SourceLocation::current());

  std::tuple<Tensor, Tensor> forward(Tensor x, Tensor h) override;
  std::string describe() const override;
  using ModuleOf::operator();
  std::tuple<Tensor, Tensor> operator()(Tensor x, SourceLocation where = SourceLocation::current()) const {
    return ModuleOf::operator()(std::move(x), Tensor(), where);
  }
  std::tuple<PackedSequence, Tensor> operator()(const PackedSequence& x, const Tensor& h = {},
                                                SourceLocation where = SourceLocation::current()) const;

 private:
  detail::Recurrent net_;
  Nonlinearity nonlinearity_;
};

/// One step of an LSTM: auto [h, c] = cell(x, h, c), or cell(x) from zeros.   x: [N, input_size]  h, c: [N,
/// hidden_size] ->  the same.  All of them may be without N.
class LSTMCell : public ModuleOf<std::tuple<Tensor, Tensor>(Tensor, Tensor, Tensor)> {
 public:
  /// ValueError unless the sizes are positive.
  LSTMCell(std::int64_t input_size, std::int64_t hidden_size, bool bias = true,
           SourceLocation where = SourceLocation::current());

  Parameter weight_ih, weight_hh, bias_ih, bias_hh;

  std::tuple<Tensor, Tensor> forward(Tensor x, Tensor h, Tensor c) override;
  std::string describe() const override;
  using ModuleOf::operator();
  std::tuple<Tensor, Tensor> operator()(Tensor x, SourceLocation where = SourceLocation::current()) const {
    return ModuleOf::operator()(std::move(x), Tensor(), Tensor(), where);
  }
};

/// One step of a GRU: h = cell(x, h), or cell(x) from zeros.   x: [N, input_size]  h: [N, hidden_size]  ->  as h.  Both
/// may be without N.
class GRUCell : public Module {
 public:
  /// ValueError unless the sizes are positive.
  GRUCell(std::int64_t input_size, std::int64_t hidden_size, bool bias = true,
          SourceLocation where = SourceLocation::current());

  Parameter weight_ih, weight_hh, bias_ih, bias_hh;

  Tensor forward(const Tensor& x) override;
  Tensor forward(const Tensor& x, const Tensor& h) override;
  std::string describe() const override;
};

/// One step of an RNN: h = cell(x, h), or cell(x) from zeros.   x: [N, input_size]  h: [N, hidden_size]  ->  as h.
/// Both may be without N.
class RNNCell : public Module {
 public:
  /// ValueError unless the sizes are positive.
  RNNCell(std::int64_t input_size, std::int64_t hidden_size, bool bias = true,
          Nonlinearity nonlinearity = Nonlinearity::tanh, SourceLocation where = SourceLocation::current());

  Parameter weight_ih, weight_hh, bias_ih, bias_hh;

  Tensor forward(const Tensor& x) override;
  Tensor forward(const Tensor& x, const Tensor& h) override;
  std::string describe() const override;

 private:
  Nonlinearity nonlinearity_;
};

}  // namespace minnow::nn
