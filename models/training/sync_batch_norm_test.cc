// Batch normalisation over a batch that lies on several ranks.

#include <algorithm>
#include <cmath>
#include <memory>
#include <vector>

#include "comm/local.h"
#include "data/datasets/synthetic.h"
#include "data/loading/split.h"
#include "gtest/gtest.h"
#include "layers/normalization/batch_normalization.h"
#include "models/graph/builder.h"
#include "models/parameters/parameter_store.h"
#include "models/plan/plan.h"
#include "models/testing/gradient_check.h"
#include "models/training/ranks/communicator_exchange.h"
#include "models/training/trainer.h"
#include "optim/losses/categorical_cross_entropy.h"
#include "optim/optimizers/sgd.h"
#include "tensor/status_macros.h"
#include "tensor/threads/parallel_for.h"
#include "tools/testing/tensors.h"

namespace dtnn {
namespace {

using ::dtnn::testing::Close;
using ::dtnn::testing::RandomTensor;
using ::dtnn::testing::TensorOf;
using ::dtnn::testing::Values;

constexpr ImageExtents kImage = {6, 6, 2};

// With and without a relu behind, beside a path, and of vectors.
Graph NormalisedGraph(TensorFormat format = TensorFormat::kNHWC) {
  GraphBuilder b("normalised", format);
  b.Input(kImage).Conv2d(4, {.padding = 1, .bias = false}).BatchNorm().Relu();
  b.Add(
      {[](GraphBuilder& p) { p.Conv2d(4, {.padding = 1}).BatchNorm(); }, GraphBuilder::Identity()});
  b.Relu().MaxPool2d({.stride = 2}).Flatten().Fc(6).BatchNorm().Relu().Fc(4).Softmax();
  return *b.Build();
}

// One rank's plan, for up to 11 samples.
struct RankPlan {
  RankPlan(const Graph& graph, RankExchange* ranks)
      : device(*DeviceContext::Create(Device::Cpu())),
        store(*ParameterStore::Create(graph, *device, DType::kFloat64, 11)) {
    EXPECT_TRUE(store->AllocateForTraining(*device, 0).ok());
    plan = *Plan::Compile(graph, *store, *device,
                          {.batch = 11, .training = true, .loss = &loss, .ranks = ranks});
  }
  // Samples [begin, end) of a batch of 11.
  absl::Status Run(const Graph& graph, int64_t begin, int64_t end) {
    const Tensor x = RandomTensor(DType::kFloat64, graph.input_shape().Prepend(11), 5);
    std::vector<double> labels;
    for (int64_t i = begin; i < end; ++i) labels.push_back(double(i * 7 % 4));
    store->MarkChanged();
    return plan->ForwardBackward(x.Samples(begin, end - begin, graph.format()),
                                 TensorOf(DType::kInt32, Shape{end - begin}, labels), 1.0 / 11, 0);
  }

  CategoricalCrossEntropy loss;
  std::unique_ptr<DeviceContext> device;
  std::unique_ptr<ParameterStore> store;
  std::unique_ptr<Plan> plan;
};

TEST(SyncBatchNormTest, GradientsOfRanksAddUpToThoseOfTheWholeBatch) {
  for (const TensorFormat format : {TensorFormat::kNHWC, TensorFormat::kNCHW}) {
    const Graph graph = NormalisedGraph(format);
    // What the ranks are compared with is compared with differences.
    ASSERT_TRUE(testing::CheckNetworkGradients(graph, {.batch = 11}));
    RankPlan whole(graph, nullptr);
    ASSERT_TRUE(whole.Run(graph, 0, 11).ok());
    for (const std::vector<int64_t>& ends : std::vector<std::vector<int64_t>>{
             {11}, {10, 11}, {1, 11}, {6, 11}, {4, 8, 11}, {1, 2, 3, 11}}) {
      const absl::Status status = RunRanks(int(ends.size()), [&](Communicator& communicator) {
        SetNumThreads(1);
        CommunicatorExchange exchange(communicator);
        RankPlan part(graph, &exchange);
        const size_t rank = size_t(communicator.rank());
        DTNN_RETURN_IF_ERROR(part.Run(graph, rank == 0 ? 0 : ends[rank - 1], ends[rank]));
        const Tensor loss = TensorOf(DType::kFloat64, {1}, {part.plan->LossSum()});
        DTNN_RETURN_IF_ERROR(communicator.AllReduce(part.store->gradients()));
        DTNN_RETURN_IF_ERROR(communicator.AllReduce(loss));
        EXPECT_TRUE(Close(part.store->gradients(), whole.store->gradients(), 1e-12));
        EXPECT_TRUE(Close(part.store->statistics(), whole.store->statistics(), 1e-12));
        EXPECT_NEAR(Values(loss)[0], whole.plan->LossSum(), 1e-12);
        return absl::OkStatus();
      });
      EXPECT_TRUE(status.ok()) << status;
    }
  }
}

// A run of a number of ranks, with steps of 12 samples over all and a last one of 7.
struct Session {
  Session(const Graph& network, Communicator& communicator, bool sync, DType dtype)
      : graph(network),
        device(*DeviceContext::Create(Device::Cpu())),
        store(*ParameterStore::Create(graph, *device, dtype, 1)) {
    trainer = *Trainer::Create(graph, *store, *device,
                               {.metric_set = {std::make_shared<CategoricalCrossEntropy>(), {}},
                                .optimizer = std::make_shared<Sgd>(SgdOptions{.momentum = 0.9}),
                                .learning_rate = 0.003,
                                .communicator = &communicator,
                                .sync_batch_norm = sync});
    data = *MakeSynthetic({.train_samples = 43,
                           .sample = kImage,
                           .classes = 4,
                           .pattern = SyntheticPattern::kClasses});
    loader = *Loader::Create(data, Split::kTrain, AllIndices(43),
                             {.batch = 12 / communicator.size(),
                              .rank = communicator.rank(),
                              .ranks = communicator.size(),
                              .dtype = dtype});
  }

  Graph graph;
  std::unique_ptr<DeviceContext> device;
  std::unique_ptr<ParameterStore> store;
  std::unique_ptr<Trainer> trainer;
  std::shared_ptr<const Dataset> data;
  std::unique_ptr<Loader> loader;
};

// The mean loss of every step, over all ranks.
class StepLosses : public Callback {
 public:
  explicit StepLosses(Communicator& communicator) : communicator_(communicator) {}
  absl::Status OnBatchEnd(const Pass& pass) override {
    const Tensor sums = TensorOf(DType::kFloat64, {2},
                                 {pass.averages->Value(0) * double(pass.averages->samples()),
                                  double(pass.averages->samples())});
    DTNN_RETURN_IF_ERROR(communicator_.AllReduce(sums));
    const std::vector<double> now = Values(sums);
    if (pass.step == 1) before_ = {0, 0};
    losses.push_back((now[0] - before_[0]) / (now[1] - before_[1]));
    before_ = now;
    return absl::OkStatus();
  }
  std::vector<double> losses;

 private:
  Communicator& communicator_;
  std::vector<double> before_ = {0, 0};
};

std::vector<double> LossesOn(const Graph& graph, int ranks, bool sync, DType dtype) {
  std::vector<double> losses;
  std::vector<std::vector<double>> values(static_cast<size_t>(ranks));
  const absl::Status status = RunRanks(ranks, [&](Communicator& communicator) {
    SetNumThreads(1);
    Session run(graph, communicator, sync, dtype);
    StepLosses watch(communicator);
    Callback* const callbacks[] = {&watch};
    DTNN_RETURN_IF_ERROR(run.trainer->Train(*run.loader, nullptr, 25, callbacks));
    values[size_t(communicator.rank())] = Values(run.store->all_values());
    if (communicator.rank() == 0) losses = watch.losses;
    return absl::OkStatus();
  });
  EXPECT_TRUE(status.ok()) << status;
  for (const std::vector<double>& others : values) EXPECT_EQ(others, values[0]);
  return losses;
}

double WorstRatio(const std::vector<double>& a, const std::vector<double>& b) {
  EXPECT_EQ(a.size(), b.size());
  double worst = 0;
  for (size_t i = 0; i < a.size(); ++i) worst = std::max(worst, std::abs(a[i] - b[i]) / b[i]);
  return worst;
}

void ExpectLossesOfOneRank(const Graph& graph, DType dtype, double tolerance) {
  const std::vector<double> one = LossesOn(graph, 1, true, dtype);
  ASSERT_EQ(one.size(), 100u);
  EXPECT_LT(one.back(), 0.7 * one.front()) << "nothing is learned, so nothing is shown";
  for (const int ranks : {2, 3, 4}) {
    EXPECT_LT(WorstRatio(LossesOn(graph, ranks, true, dtype), one), tolerance) << ranks << " ranks";
  }
  EXPECT_GT(WorstRatio(LossesOn(graph, 3, false, dtype), one), 1e-3) << "without, shares differ";
}

TEST(SyncBatchNormTest, LossesDoNotDependOnTheNumberOfRanks) {
  ExpectLossesOfOneRank(NormalisedGraph(), DType::kFloat64, 1e-10);
}

// Each rank tracks its own samples, whose means average to the mean of all where shares are equal.
TEST(SyncBatchNormTest, WithoutItRunningStatisticsAreTheMeanOfTheRanks) {
  GraphBuilder b("normalisation", TensorFormat::kNHWC);
  b.Input(kImage).BatchNorm().Flatten().Fc(4).Softmax();
  const Graph graph = *b.Build();
  const auto statistics = [&](int ranks, bool validate) {
    std::vector<double> values;
    const absl::Status status = RunRanks(ranks, [&](Communicator& communicator) {
      SetNumThreads(1);
      Session run(graph, communicator, false, DType::kFloat64);
      DTNN_ASSIGN_OR_RETURN(const std::unique_ptr<Loader> loader,
                            Loader::Create(run.data, Split::kTrain, AllIndices(36),
                                           {.batch = 12 / ranks,
                                            .rank = communicator.rank(),
                                            .ranks = ranks,
                                            .dtype = DType::kFloat64}));
      DTNN_RETURN_IF_ERROR(run.trainer->Train(*loader, validate ? loader.get() : nullptr, 2, {}));
      const Tensor means = run.store->Value(1, BatchNormalizationLayer::kRunningMean);
      if (communicator.rank() == 0) values = Values(means);
      return absl::OkStatus();
    });
    EXPECT_TRUE(status.ok()) << status;
    return values;
  };
  const std::vector<double> one = statistics(1, false);
  EXPECT_GT(std::abs(one[0]), 0.1);
  for (const int ranks : {2, 3, 4}) {
    EXPECT_TRUE(Close(statistics(ranks, false), one, 1e-14));
    EXPECT_TRUE(Close(statistics(ranks, true), one, 1e-14));
  }
}

// Without relus and maxima, at whose kinks a rounding error becomes a large one.
TEST(SyncBatchNormTest, LossesOfFloat32DifferByRoundings) {
  GraphBuilder b("smooth", TensorFormat::kNHWC);
  b.Input(kImage).Conv2d(4, {.padding = 1, .bias = false}).BatchNorm().Tanh();
  b.AveragePool2d({.stride = 2}).Flatten().Fc(6).BatchNorm().Tanh().Fc(4).Softmax();
  ExpectLossesOfOneRank(*b.Build(), DType::kFloat32, 1e-5);
}

}  // namespace
}  // namespace dtnn
