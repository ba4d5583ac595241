// Weights of PyTorch, by their names.  In Python, of torchvision's published weights for example:
//     net = torchvision.models.resnet18(weights="DEFAULT")
//     safetensors.torch.save_file(net.state_dict(), "resnet18.safetensors")
// and then:  ./run import_pytorch --model resnet18 --weights resnet18.safetensors --image dog.jpg
#include <cstdio>
#include <minnow/minnow.h>
#include <minnow/vision/vision.h>

#include "models/mobilenet.h"
#include "models/resnet.h"
#include "models/vgg.h"
#include "models/vit.h"
#include "support/program.h"

using namespace minnow;

namespace {

/// In Python: torch.nn.Sequential(OrderedDict(conv=Conv2d(1, 6, 3, stride=2, padding=1), norm=BatchNorm2d(6),
/// act=ReLU(), flatten=Flatten(), fc=Linear(150, 4))).
nn::Sequential torch_net() {
  return nn::Sequential{{"conv", nn::Conv2d(1, 6, 3, {.stride = 2, .padding = 1})},
                        {"norm", nn::BatchNorm2d(6)},
                        {"act", nn::ReLU()},
                        {"flatten", nn::Flatten()},
                        {"fc", nn::Linear(150, 4)}};
}

/// The weights, and beside them an input and PyTorch's output.  Returns 1 if ours is the same, else 0.
double check(const std::string& path, Device device) {
  StateDict file = load(path);
  const Tensor input = file.at("input"), output = file.at("output");
  file.erase("input"), file.erase("output");
  nn::Sequential net = torch_net();
  const nn::LoadReport report = net.load_state_dict(file);
  net.to(device).eval();
  const double difference = (net(input.to(device)).cpu() - output).abs().max().item();
  std::printf("%zu tensors loaded; the largest difference from PyTorch's output is %.1e\n", report.loaded.size(),
              difference);
  return difference < 1e-5 ? 1 : 0;
}

std::unique_ptr<nn::Module> torchvision_model(const std::string& name) {
  if (name == "resnet18") return std::make_unique<models::ResNet>();
  if (name == "resnet34") return std::make_unique<models::ResNet>(std::array{3, 4, 6, 3});
  if (name == "mobilenet_v2") return std::make_unique<models::MobileNetV2>();
  if (name == "vgg11_bn") return std::make_unique<models::VGG>();
  if (name == "vit_b_16") return std::make_unique<models::VisionTransformer>();
  throw ValueError("--model: '" + name + "' is none of torch, resnet18, resnet34, mobilenet_v2, vgg11_bn, vit_b_16");
}

/// An image as torchvision's models take them: [1, 3, 224, 224], by the mean and deviation of ImageNet.
Tensor prepared(const std::string& path) {
  Tensor image = path.empty() ? randint(0, 256, {3, 224, 224}, {.dtype = uint8})
                              : vision::read_image(path, {.mode = vision::ImageMode::rgb});
  const std::int64_t height = image.size(1), width = image.size(2);
  if (height < 224 || width < 224) throw ShapeError("--image: give an image of at least 224 x 224 pixels");
  image = image.narrow(1, (height - 224) / 2, 224).narrow(2, (width - 224) / 2, 224).to(float32) / 255;
  const Tensor mean = tensor({0.485, 0.456, 0.406}).view({3, 1, 1}),
               std = tensor({0.229, 0.224, 0.225}).view({3, 1, 1});
  return ((image - mean) / std).unsqueeze(0);
}

}  // namespace

int main(int argc, char** argv) {
  std::string name = "torch", weights = MINNOW_TORCH_NET, path;
  Program program("Loads weights of PyTorch by name, and runs the network.");
  program.option("--model", name, "torch (a small network), resnet18, resnet34, mobilenet_v2, vgg11_bn, vit_b_16");
  program.option("--weights", weights, "safetensors file of its state_dict()");
  program.option("--image", path, "PNG or JPEG file; its middle is classified (default: noise)");
  return program.run(argc, argv, [&](Device device) {
    const NoGradGuard no_grad;
    if (name == "torch") return check(weights, device);
    const std::unique_ptr<nn::Module> net = torchvision_model(name);
    const nn::LoadReport report = net->load_state_dict(load(weights));
    net->to(device).eval();
    std::printf("%zu tensors loaded, %lld parameters\n", report.loaded.size(),
                static_cast<long long>(net->num_parameters()));
    Tensor chances = softmax((*net)(prepared(path).to(device)), 1)[0].cpu();
    for (int i = 0; i < 5; ++i) {
      const auto best = argmax(chances).item<std::int64_t>();
      std::printf("class %lld of ImageNet: %.1f %%\n", static_cast<long long>(best), 100 * chances[best].item());
      chances[best] = -1;
    }
    return 1.0;
  });
}
