// DTNN as a library: the program that README.md shows. Trains a small network on Fashion-MNIST,
// prints the share of the test images that it classifies right, saves it, and asks it about images.
//
//   bazel run //examples/library:train [-- FOLDER [STEPS [FILE.png ...]]]    (0 steps: all samples)
//
// Where DTNN is installed, CMakeLists.txt builds it.

#include <cstdio>
#include <string>
#include <vector>

#include "data/loading/open_dataset.h"
#include "models/run/run.h"
#include "models/serving/predictor.h"
#include "tensor/must.h"

using namespace dtnn;  // NOLINT: brevity is the point of this page

int main(int argc, char** argv) {
  const std::string folder = argc > 1 ? argv[1] : "/usr/share/datasets/fashion-mnist";
  const double steps = argc > 2 ? std::atof(argv[2]) : 0;
  const std::vector<std::string> images(argv + std::min(argc, 3), argv + argc);

  // [README]
  auto data = Must(OpenDataset("mnist", {.path = folder}));
  Network net("mine");
  net.Input(*data).Conv2d(8, {.padding = 1}).Relu().MaxPool2d({.stride = 2});
  net.Flatten().Fc(10).Softmax();
  const RunOptions options = {.training = {.epochs = 1, .steps_per_epoch = steps},
                              .optimizer = {.name = "adam", .learning_rate = 0.001, .beta1 = 0.9}};
  auto run = Must(Run::Create(options, {.network = net, .dataset = data}));
  Must(run->Fit());
  std::printf("test accuracy %.1f %%\n", Must(run->Evaluate())["categorical_accuracy"]);

  Must(run->Save("mine.safetensors"));
  auto predictor = Must(Predictor::Load("mine.safetensors"));
  for (const auto& answer : Must(predictor->Classify(images))) {
    std::printf("%s: %s, %.1f %%\n", answer.file.c_str(), answer.name.c_str(),
                100 * answer.probability);
  }
  // [/README]
}
