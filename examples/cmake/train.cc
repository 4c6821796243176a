// Trains a small network on made-up images of three classes, and saves it: train MODEL

#include <cstdio>
#include <memory>

#include "data/loading/open_dataset.h"
#include "models/run/run.h"
#include "tensor/must.h"

using namespace dtnn;

int main(int argc, char** argv) {
  if (argc != 2) return std::fputs("usage: train MODEL\n", stderr), 2;
  const std::shared_ptr<const Dataset> data =
      Must(OpenDataset("synthetic", {.synthetic = {.pattern = SyntheticPattern::kClasses}}));
  const RunOptions options = {.training = {.epochs = 2},
                              .optimizer = {.name = "adam", .learning_rate = 0.001, .beta1 = 0.9}};
  auto run =
      Must(Run::Create(options, {.network = Network::Zoo("simplecnn", *data), .dataset = data}));
  Must(run->Fit());
  std::printf("test accuracy %.1f %%\n", Must(run->Evaluate())["categorical_accuracy"]);
  Must(run->Save(argv[1]));
}
