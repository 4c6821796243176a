// DTNN as a library: the program that README.md shows. Trains a small network on Fashion-MNIST and
// prints the share of the test images it classifies correctly.
//
//   bazel run //examples/library:train [-- /FOLDER [STEPS]]    (0 steps: the whole epoch)

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>

#include "data/datasets/mnist.h"
#include "data/loading/loader.h"
#include "data/loading/split.h"
#include "models/graph/builder.h"
#include "models/parameters/parameter_store.h"
#include "models/training/trainer.h"
#include "optim/losses/categorical_cross_entropy.h"
#include "optim/metrics/categorical_accuracy.h"
#include "optim/optimizers/adam.h"

using namespace dtnn;  // NOLINT: brevity is the point of this page

// Every call that can fail returns an absl::Status or StatusOr; here, an error ends the program.
template <typename T>
T Must(absl::StatusOr<T> result) {
  if (result.ok()) return *std::move(result);
  std::fprintf(stderr, "%s\n", std::string(result.status().message()).c_str());
  std::exit(1);
}

int main(int argc, char** argv) {
  const std::string folder = argc > 1 ? argv[1] : "/usr/share/datasets/fashion-mnist";
  const int64_t steps = argc > 2 ? std::atoll(argv[2]) : 0;

  // [README]
  auto cpu = Must(DeviceContext::Create(Device::Cpu()));
  std::shared_ptr<const Dataset> images = Must(LoadMnist({.train = folder, .test = folder}));
  GraphBuilder net("mine", TensorFormat::kNHWC);
  net.Input(images->sample()).Conv2d(8, {.padding = 1}).Relu().MaxPool2d({.stride = 2});
  Graph graph = Must(net.Flatten().Fc(images->outputs()).Softmax().Build());
  auto store = Must(ParameterStore::Create(graph, *cpu, DType::kFloat32, /*seed=*/1));
  MetricSet metric_set = {std::make_shared<CategoricalCrossEntropy>(),
                          {std::make_shared<CategoricalAccuracy>()}};
  auto trainer = Must(Trainer::Create(
      graph, *store, *cpu,
      {.metric_set = metric_set, .optimizer = std::make_shared<Adam>(), .learning_rate = 0.001}));
  auto training =
      Must(Loader::Create(images, Split::kTrain, AllIndices(images->size(Split::kTrain)),
                          {.batch = 64, .steps_per_epoch = steps}));
  auto test =
      Must(Loader::Create(images, Split::kTest, AllIndices(images->size(Split::kTest)), {}));
  absl::Status trained = trainer->Train(*training, /*validation=*/nullptr, /*epochs=*/1, {});
  std::printf("%s, test accuracy %.1f %%\n", trained.ToString().c_str(),
              Must(trainer->Evaluate(*test, {})).Value(1));
  // [/README]
  return trained.ok() ? 0 : 1;
}
