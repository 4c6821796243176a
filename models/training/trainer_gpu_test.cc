// The same training on the CPU, on a simulated GPU, and on a real one; that is skipped, with the
// reason, where there is none.

#include <vector>

#include "data/datasets/synthetic.h"
#include "data/loading/split.h"
#include "gtest/gtest.h"
#include "kernels/testing/gpu_testing.h"
#include "models/parameters/parameter_store.h"
#include "models/training/trainer.h"
#include "models/zoo/zoo.h"
#include "optim/losses/categorical_cross_entropy.h"
#include "optim/metrics/categorical_accuracy.h"
#include "optim/optimizers/adam.h"
#include "optim/optimizers/sgd.h"

namespace dtnn {
namespace {

// The mean loss after every step and every evaluated batch, when it is known: on a GPU a training
// step's is when the next one has been queued.
class LossRecorder : public Callback {
 public:
  absl::Status OnPassBegin(const Pass&) override {
    samples_ = 0;
    return absl::OkStatus();
  }
  absl::Status OnBatchEnd(const Pass& pass) override { return Record(*pass.averages); }
  absl::Status OnPassEnd(const Pass& pass) override { return Record(*pass.averages); }
  std::vector<double> losses;

 private:
  absl::Status Record(const MetricAverages& averages) {
    if (averages.samples() > samples_) losses.push_back(averages.Value(0));
    samples_ = averages.samples();
    return absl::OkStatus();
  }

  int64_t samples_ = 0;
};

struct Training {
  const char* model = "simplemlp";
  TensorFormat format = TensorFormat::kNHWC;
  ImageExtents sample = {8, 8, 1};
  int64_t classes = 4;
  std::shared_ptr<const Optimizer> optimizer = std::make_shared<Sgd>();
  DType dtype = DType::kFloat32;
  int64_t samples = 100, batch = 16, epochs = 2;
  double learning_rate = 0.01;
  bool evaluates = true;
};

// Losses of `epochs` epochs and, where asked for, of an evaluation after them.
std::vector<double> Losses(DeviceContext& device, const Training& training) {
  const Graph graph = *BuildModel(
      training.model,
      {.format = training.format, .sample = training.sample, .classes = training.classes});
  auto store = *ParameterStore::Create(graph, device, training.dtype, 1);
  TrainerOptions options;
  options.metric_set = {std::make_shared<CategoricalCrossEntropy>(),
                        {std::make_shared<CategoricalAccuracy>()}};
  options.optimizer = training.optimizer;
  options.learning_rate = training.learning_rate;
  auto trainer = *Trainer::Create(graph, *store, device, options);
  std::shared_ptr<const Dataset> dataset = *MakeSynthetic({.train_samples = training.samples,
                                                           .sample = training.sample,
                                                           .classes = training.classes,
                                                           .pattern = SyntheticPattern::kClasses});
  auto loader = *Loader::Create(
      dataset, Split::kTrain, AllIndices(training.samples),
      {.batch = training.batch, .format = training.format, .dtype = training.dtype});
  LossRecorder recorder;
  Callback* const callbacks[] = {&recorder};
  const absl::Status status = trainer->Train(*loader, nullptr, training.epochs, callbacks);
  EXPECT_TRUE(status.ok()) << status;
  if (training.evaluates) {
    EXPECT_TRUE(trainer->Evaluate(*loader, callbacks).ok());
  }
  return recorder.losses;
}

class TrainerGpuTest : public ::testing::TestWithParam<Device> {
 protected:
  void SetUp() override {
    DTNN_GPU_OR_SKIP_AT(gpu, GetParam());
    gpu_ = std::move(gpu);
  }
  void ExpectSameLosses(const Training& training, double tolerance) {
    const std::vector<double> expected = Losses(*cpu_, training);
    const std::vector<double> actual = Losses(*gpu_, training);
    ASSERT_EQ(actual.size(), expected.size());
    for (size_t i = 0; i < expected.size(); ++i) {
      EXPECT_NEAR(actual[i], expected[i], tolerance) << training.model << ", step " << i;
    }
  }

  std::unique_ptr<DeviceContext> gpu_, cpu_ = *DeviceContext::Create(Device::Cpu());
};

// 100 samples in steps of 16: the last step is smaller.
TEST_P(TrainerGpuTest, SameLossesAsOnTheCpu) {
  for (const DType dtype : {DType::kFloat32, DType::kFloat64}) {
    for (const std::shared_ptr<const Optimizer>& optimizer :
         std::vector<std::shared_ptr<const Optimizer>>{std::make_shared<Sgd>(),
                                                       std::make_shared<Adam>()}) {
      SCOPED_TRACE(optimizer->name());
      ExpectSameLosses({.optimizer = optimizer, .dtype = dtype},
                       dtype == DType::kFloat32 ? 1e-3 : 1e-9);
    }
  }
}

// Convolutions, pooling and dense layers; the last step is smaller.
TEST_P(TrainerGpuTest, SimpleCnnFollowsTheCpu) {
  for (const TensorFormat format : {TensorFormat::kNHWC, TensorFormat::kNCHW}) {
    ExpectSameLosses({.model = "simplecnn",
                      .format = format,
                      .sample = {28, 28, 1},
                      .classes = 10,
                      .samples = 20,
                      .batch = 8,
                      .epochs = 2},
                     1e-4);
  }
}

// Normalisations and residual additions, too. With so few samples a rounding that moves one value
// over the edge of a relu is soon seen in the loss, on CPUs as well: float64 shows that nothing
// else differs.
TEST_P(TrainerGpuTest, Resnet20FollowsTheCpu) {
  Training training = {.model = "resnet20_cifar10",
                       .format = TensorFormat::kNCHW,
                       .sample = {32, 32, 3},
                       .classes = 10,
                       .dtype = DType::kFloat64,
                       .samples = 8,
                       .batch = 3,
                       .epochs = 1};
  ExpectSameLosses(training, 1e-9);
  training.dtype = DType::kFloat32;
  training.learning_rate = 0.001;
  training.batch = 4;
  training.evaluates = false;
  ExpectSameLosses(training, 1e-4);
}

INSTANTIATE_TEST_SUITE_P(, TrainerGpuTest, ::testing::Values(Device::Simulated(0), Device::Cuda(0)),
                         [](const auto& info) {
                           return info.param.type == DeviceType::kCuda ? "Cuda" : "Simulated";
                         });

}  // namespace
}  // namespace dtnn
