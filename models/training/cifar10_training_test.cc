// Networks of every family learn: their loss falls within a short run. On CIFAR-10 where the
// environment variable DTNN_CIFAR10 names it (a folder or the archive), otherwise on synthetic
// pictures of the same extents.

#include <cstdlib>
#include <numeric>

#include "data/datasets/cifar10.h"
#include "data/datasets/synthetic.h"
#include "data/loading/channel_statistics.h"
#include "data/loading/loader.h"
#include "data/loading/split.h"
#include "gtest/gtest.h"
#include "models/parameters/parameter_store.h"
#include "models/training/step/step_engine.h"
#include "models/zoo/zoo.h"
#include "optim/losses/categorical_cross_entropy.h"
#include "optim/metrics/categorical_accuracy.h"
#include "optim/optimizers/adam.h"

namespace dtnn {
namespace {

std::shared_ptr<const Dataset> Data() {
  if (const char* path = std::getenv("DTNN_CIFAR10")) {
    absl::StatusOr<std::unique_ptr<Dataset>> cifar = LoadCifar10({.train = path, .test = ""});
    EXPECT_TRUE(cifar.ok()) << cifar.status();
    if (cifar.ok()) return *std::move(cifar);
  }
  return *MakeSynthetic(
      {.train_samples = 1000, .sample = {32, 32, 3}, .pattern = SyntheticPattern::kClasses});
}

struct Case {
  const char* model;
  int64_t batch, steps;
  double learning_rate;
};

class Cifar10TrainingTest : public ::testing::TestWithParam<Case> {};

constexpr Case kCases[] = {
    {"alexnet_cifar10", 32, 80, 2e-4},  {"vgg16_cifar10", 32, 40, 2e-4},
    {"resnet20_cifar10", 32, 40, 2e-3}, {"densenet_cifar10", 16, 60, 1e-3},
    {"googlenet_cifar10", 8, 30, 5e-4}, {"mobilenetv1_cifar10", 32, 60, 1e-3},
};
INSTANTIATE_TEST_SUITE_P(Models, Cifar10TrainingTest, ::testing::ValuesIn(kCases),
                         [](const auto& info) { return info.param.model; });

TEST_P(Cifar10TrainingTest, TheLossFalls) {
  const auto [model, batch_size, steps, learning_rate] = GetParam();
  const std::shared_ptr<const Dataset> data = Data();
  const Graph graph = *BuildModel(model, {});
  auto device = *DeviceContext::Create(Device::Cpu());
  auto store = *ParameterStore::Create(graph, *device, DType::kFloat32, 1);
  TrainerOptions options;
  options.metric_set = {std::make_shared<CategoricalCrossEntropy>(),
                        {std::make_shared<CategoricalAccuracy>()}};
  options.optimizer = std::make_shared<Adam>(AdamOptions{.beta1 = 0.9});
  options.learning_rate = learning_rate;
  auto engine = *StepEngine::Create(graph, *store, *device, options);
  const std::vector<int64_t> indices =
      AllIndices(std::min<int64_t>(1000, data->size(Split::kTrain)));
  auto loader = *Loader::Create(data, Split::kTrain, indices,
                                {.batch = batch_size,
                                 .seed = 1,
                                 .steps_per_epoch = steps,
                                 .normalization = *Standardization(
                                     *ComputeChannelStatistics(*data, Split::kTrain, indices))});
  ASSERT_TRUE(engine->PrepareForTraining(loader->max_batch()).ok());
  std::vector<double> losses;
  loader->StartEpoch(0);
  for (int64_t step = 0; step < steps; ++step) {
    const Batch* batch = *loader->Next();
    MetricAverages averages = engine->NewAverages();
    const absl::Status status = engine->Step(*batch, &averages);
    ASSERT_TRUE(status.ok()) << status;
    losses.push_back(averages.Value(0));
  }
  const auto mean = [&](auto begin) { return std::accumulate(begin, begin + 8, 0.0) / 8; };
  const double first = mean(losses.begin()), last = mean(losses.end() - 8);
  RecordProperty("loss", std::to_string(first) + " to " + std::to_string(last));
  EXPECT_LT(last, 0.97 * first) << "from " << first;
}

}  // namespace
}  // namespace dtnn
