// Before each block of C++ in the documents (check_documents.py): what they take for granted.
#include <cstdio>
#include <iostream>
#include <optional>
#include <minnow/distributed/distributed.h>
#include <minnow/llm/llm.h>
#include <minnow/minnow.h>
#include <minnow/onnx/onnx.h>
#include <minnow/tensorboard/tensorboard.h>
#include <minnow/text/text.h>
#include <minnow/vision/vision.h>

#include "models/llama.h"

using namespace minnow;

struct Net : nn::Module {
  nn::Linear fc = child("fc", nn::Linear(784, 10));

  Tensor forward(const Tensor& x) override { return fc(x); }
};

extern Net net;
extern optim::Adam adam;
extern data::DataLoader<data::TensorDataset<2>> loader, train, test;
extern Device device;
extern Tensor x, y, images, labels, batch;
