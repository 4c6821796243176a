// Networks that another, independent implementation trained must give its answers here: the same
// probabilities, loss and accuracy on a whole test set, with every algorithm of convolutions, with
// those that a tuner chooses, and with all fusions.
//
//   bazel test //models/zoo:oracle_test --test_env=DTNN_ORACLES=<folder>
//   --test_env=DTNN_DATA=<folder>
//
// DTNN_ORACLES holds <model>-nhwc.npz, the weights, and <model>-nhwc-answers.npz: `index` (n,) of
// test samples, `probs` (n, 10) for them, and of the whole test set `loss` and `accuracy`.
// DTNN_DATA holds the folders mnist and cifar10. Without them nothing is tested.

#include <algorithm>
#include <array>
#include <cstdlib>
#include <memory>
#include <numeric>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "data/datasets/cifar10.h"
#include "data/datasets/mnist.h"
#include "gtest/gtest.h"
#include "kernels/best_of/best_of.h"
#include "kernels/conv/conv2d.h"
#include "models/parameters/weights.h"
#include "models/plan/plan.h"
#include "models/zoo/zoo.h"
#include "optim/losses/categorical_cross_entropy.h"
#include "tensor/files/npz.h"
#include "tensor/status_macros.h"
#include "tools/testing/tensors.h"

namespace dtnn {
namespace {

using ::dtnn::testing::Close;
using ::dtnn::testing::Values;

struct Oracle {
  const char* model;
  const char* data;
  // Per channel, (x - mean) / deviation; no channel: as they are.
  std::vector<float> mean = {}, deviation = {};
};

const std::vector<float> kCifarMean = {0.49139968f, 0.48215841f, 0.44653091f};
const std::vector<float> kCifarDeviation = {0.24703223f, 0.24348513f, 0.26158784f};

const Oracle kOracles[] = {
    {.model = "simplecnn8", .data = "mnist"},
    {.model = "resnet20_cifar10",
     .data = "cifar10",
     .mean = kCifarMean,
     .deviation = kCifarDeviation},
    {.model = "vgg3dobn", .data = "cifar10", .mean = kCifarMean, .deviation = kCifarDeviation},
};

std::unique_ptr<Dataset> LoadTestSet(const std::string& folder, const std::string& name) {
  const std::string path = folder + "/" + name;
  auto dataset = name == "mnist" ? LoadMnist({.train = "", .test = path})
                                 : LoadCifar10({.train = "", .test = path});
  EXPECT_TRUE(dataset.ok()) << dataset.status();
  return dataset.ok() ? *std::move(dataset) : nullptr;
}

// `x` in (n, h, w, c) or (n, c, h, w).
void Standardize(const Oracle& oracle, TensorFormat format, const Tensor& x) {
  const int64_t channels = int64_t(oracle.mean.size());
  if (channels == 0) return;
  const int64_t pixels = x.shape()[1] * x.shape()[2] * x.shape()[3] / channels;
  for (int64_t i = 0; i < x.num_elements(); ++i) {
    const size_t c = size_t(format == TensorFormat::kNHWC ? i % channels : i / pixels % channels);
    x.data<float>()[i] = (x.data<float>()[i] - oracle.mean[c]) / oracle.deviation[c];
  }
}

struct Answers {
  std::vector<double> probabilities;  // (samples, 10)
  double loss = 0, accuracy = 0;
};

// Evaluates the whole test set, in batches.
absl::StatusOr<Answers> Evaluate(const Oracle& oracle, const Graph& graph, ParameterStore& store,
                                 DeviceContext& device, const Dataset& dataset,
                                 std::string_view way) {
  constexpr int64_t kBatch = 100;
  const CategoricalCrossEntropy loss;
  BestOf best_of;
  PlanOptions options = {.batch = kBatch, .loss = &loss, .fusions = Fusions::None()};
  if (way == "best_of") {
    options.best_of = &best_of;
  } else if (way == "fused") {
    options.fusions = {};
  } else {
    options.conv_variant = way;
  }
  DTNN_ASSIGN_OR_RETURN(const std::unique_ptr<Plan> plan,
                        Plan::Compile(graph, store, device, options));
  Answers answers;
  const int64_t samples = dataset.size(Split::kTest);
  EXPECT_EQ(samples % kBatch, 0);
  int64_t correct = 0;
  const Tensor x = testing::ZeroTensor(DType::kFloat32, graph.input_shape().Prepend(kBatch));
  const Tensor labels = testing::ZeroTensor(DType::kInt32, Shape{kBatch});
  std::vector<int64_t> indices(kBatch);
  for (int64_t begin = 0; begin < samples; begin += kBatch) {
    std::iota(indices.begin(), indices.end(), begin);
    DTNN_RETURN_IF_ERROR(dataset.Read(Split::kTest, indices, graph.format(), x, labels));
    Standardize(oracle, graph.format(), x);
    DTNN_RETURN_IF_ERROR(plan->Evaluate(x, labels));
    answers.loss += plan->LossSum() / double(samples);
    const std::vector<double> batch = Values(plan->predictions());
    for (size_t i = 0; i < size_t(kBatch); ++i) {
      const auto row = batch.begin() + int64_t(10 * i);
      correct += std::max_element(row, row + 10) - row == labels.data<int32_t>()[i];
    }
    answers.probabilities.insert(answers.probabilities.end(), batch.begin(), batch.end());
  }
  answers.accuracy = double(correct) / double(samples);
  return answers;
}

class OracleTest
    : public ::testing::TestWithParam<std::tuple<size_t, TensorFormat, std::string_view>> {};

// What computes the convolutions.
std::vector<std::string_view> Ways() {
  std::vector<std::string_view> ways = Conv2dVariantNames();
  ways.insert(ways.end(), {"auto", "best_of", "fused"});
  return ways;
}

TEST_P(OracleTest, AnswersAsRecorded) {
  const char* oracles = std::getenv("DTNN_ORACLES");
  const char* data = std::getenv("DTNN_DATA");
  if (oracles == nullptr || data == nullptr) {
    GTEST_SKIP() << "DTNN_ORACLES and DTNN_DATA name no folders with answers and data sets";
  }
  const Oracle& oracle = kOracles[std::get<0>(GetParam())];
  const std::string files = std::string(oracles) + "/" + oracle.model + "-nhwc";
  auto device = *DeviceContext::Create(Device::Cpu());
  const absl::StatusOr<Graph> graph = BuildModel(oracle.model, {.format = std::get<1>(GetParam())});
  ASSERT_TRUE(graph.ok()) << graph.status();
  auto store = *ParameterStore::Create(*graph, *device, DType::kFloat32, 1);
  const absl::StatusOr<LoadedWeights> loaded = LoadWeights(files + ".npz", *graph, *store, *device);
  ASSERT_TRUE(loaded.ok()) << loaded.status();
  EXPECT_TRUE(loaded->warnings.empty()) << loaded->warnings[0];
  const std::unique_ptr<Dataset> dataset = LoadTestSet(data, oracle.data);
  ASSERT_NE(dataset, nullptr);
  const absl::StatusOr<Answers> answers =
      Evaluate(oracle, *graph, *store, *device, *dataset, std::get<2>(GetParam()));
  ASSERT_TRUE(answers.ok()) << answers.status();

  absl::StatusOr<NpzReader> recorded = NpzReader::Open(files + "-answers.npz");
  ASSERT_TRUE(recorded.ok()) << recorded.status();
  const std::vector<double> index = Values(*recorded->Read("index"));
  std::vector<double> asked;
  for (const double i : index) {
    const auto row = answers->probabilities.begin() + int64_t(i) * 10;
    asked.insert(asked.end(), row, row + 10);
  }
  EXPECT_GT(index.size(), 100u);
  EXPECT_TRUE(Close(asked, Values(*recorded->Read("probs")), 1e-4));
  const double loss = Values(*recorded->Read("loss"))[0];
  EXPECT_NEAR(answers->loss, loss, 1e-4 * loss);
  EXPECT_NEAR(answers->accuracy, Values(*recorded->Read("accuracy"))[0], 2.1e-4);
  RecordProperty("loss", std::to_string(answers->loss));
  RecordProperty("accuracy", std::to_string(answers->accuracy));
}

INSTANTIATE_TEST_SUITE_P(All, OracleTest,
                         ::testing::Combine(::testing::Range<size_t>(0, std::size(kOracles)),
                                            ::testing::Values(TensorFormat::kNHWC,
                                                              TensorFormat::kNCHW),
                                            ::testing::ValuesIn(Ways())),
                         [](const auto& info) {
                           return std::string(kOracles[std::get<0>(info.param)].model) + "_" +
                                  std::string(Name(std::get<1>(info.param))) + "_" +
                                  std::string(std::get<2>(info.param));
                         });

}  // namespace
}  // namespace dtnn
