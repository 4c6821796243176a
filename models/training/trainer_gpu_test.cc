// The same training on the CPU, on a simulated GPU, and on a real one; that is skipped, with the
// reason, where there is none.

#include <vector>

#include "data/datasets/synthetic.h"
#include "data/loading/split.h"
#include "gtest/gtest.h"
#include "kernels/gpu_testing.h"
#include "models/parameters/parameter_store.h"
#include "models/training/trainer.h"
#include "models/zoo/zoo.h"
#include "optim/losses/categorical_cross_entropy.h"
#include "optim/metrics/categorical_accuracy.h"
#include "optim/optimizers/adam.h"
#include "optim/optimizers/sgd.h"

namespace dtnn {
namespace {

constexpr ImageExtents kSample = {8, 8, 1};

class LossRecorder : public Callback {
 public:
  absl::Status OnEpochEnd(const Pass& training, const Pass* /*validation*/) override {
    losses.push_back(training.averages->Value(0));
    return absl::OkStatus();
  }
  std::vector<double> losses;
};

std::vector<double> Losses(DeviceContext& device, std::shared_ptr<const Optimizer> optimizer,
                           DType dtype) {
  const Graph graph = *BuildModel("simplemlp", {.sample = kSample, .classes = 4});
  auto store = *ParameterStore::Create(graph, device, dtype, 1);
  TrainerOptions options;
  options.metric_set = {std::make_shared<CategoricalCrossEntropy>(),
                        {std::make_shared<CategoricalAccuracy>()}};
  options.optimizer = std::move(optimizer);
  options.learning_rate = 0.01;
  auto trainer = *Trainer::Create(graph, *store, device, options);
  std::shared_ptr<const Dataset> dataset = *MakeSynthetic({.train_samples = 100,
                                                           .sample = kSample,
                                                           .classes = 4,
                                                           .pattern = SyntheticPattern::kClasses});
  // 100 samples in steps of 16: the last step is smaller.
  auto loader =
      *Loader::Create(dataset, Split::kTrain, AllIndices(100), {.batch = 16, .dtype = dtype});
  LossRecorder recorder;
  Callback* const callbacks[] = {&recorder};
  const absl::Status status = trainer->Train(*loader, nullptr, 4, callbacks);
  EXPECT_TRUE(status.ok()) << status;
  return recorder.losses;
}

class TrainerGpuTest : public ::testing::TestWithParam<Device> {};

TEST_P(TrainerGpuTest, SameLossesAsOnTheCpu) {
  DTNN_GPU_OR_SKIP_AT(gpu, GetParam());
  auto cpu = *DeviceContext::Create(Device::Cpu());
  for (DType dtype : {DType::kFloat32, DType::kFloat64}) {
    for (const std::shared_ptr<const Optimizer>& optimizer :
         std::vector<std::shared_ptr<const Optimizer>>{std::make_shared<Sgd>(),
                                                       std::make_shared<Adam>()}) {
      const std::vector<double> expected = Losses(*cpu, optimizer, dtype);
      const std::vector<double> actual = Losses(*gpu, optimizer, dtype);
      ASSERT_EQ(actual.size(), expected.size());
      for (size_t i = 0; i < expected.size(); ++i) {
        EXPECT_NEAR(actual[i], expected[i], dtype == DType::kFloat32 ? 1e-3 : 1e-9)
            << optimizer->name() << ", epoch " << i;
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(, TrainerGpuTest, ::testing::Values(Device::Simulated(0), Device::Cuda(0)),
                         [](const auto& info) {
                           return info.param.type == DeviceType::kCuda ? "Cuda" : "Simulated";
                         });

}  // namespace
}  // namespace dtnn
