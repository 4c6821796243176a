#include "models/training/step/step_engine.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <limits>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "comm/local.h"
#include "gtest/gtest.h"
#include "layers/base/layer.h"
#include "models/graph/builder.h"
#include "models/parameters/parameter_store.h"
#include "models/testing/training_session.h"
#include "models/zoo/zoo.h"
#include "optim/optimizers/adam.h"
#include "optim/optimizers/proximal.h"
#include "optim/optimizers/sgd.h"
#include "tensor/threads/parallel_for.h"
#include "tools/testing/count_allocations.h"
#include "tools/testing/tensors.h"

namespace dtnn {
namespace {

using ::dtnn::testing::Close;
using ::dtnn::testing::kPatternSample;
using ::dtnn::testing::PatternMlp;
using ::dtnn::testing::PatternTraining;
using ::dtnn::testing::RandomTensor;
using ::dtnn::testing::TrainingSession;
using ::dtnn::testing::Values;
using ::dtnn::testing::ZeroTensor;

TEST(StepEngineTest, StepsOfALoopOfOnesOwnAreThoseOfATrainer) {
  const Graph graph =
      *BuildModel("simplecnn8", {.sample = kPatternSample, .classes = 4});  // has dropout
  TrainingSession whole(graph), own(graph);
  ASSERT_TRUE(whole.Train(2).ok());
  auto engine = *StepEngine::Create(graph, *own.store, *own.device, PatternTraining());
  ASSERT_TRUE(engine->PrepareForTraining(own.training->max_batch()).ok());
  ASSERT_TRUE(engine->PrepareForEvaluation(own.validation->max_batch()).ok());
  std::vector<double> losses, validation_losses;
  for (const int64_t epoch : {0, 1}) {
    MetricAverages trained = engine->NewAverages(), validated = engine->NewAverages();
    own.training->StartEpoch(epoch);
    while (const Batch* batch = *own.training->Next()) {
      ASSERT_TRUE(engine->Step(*batch, &trained).ok());
    }
    own.validation->StartEpoch(epoch);
    while (const Batch* batch = *own.validation->Next()) {
      ASSERT_TRUE(engine->Evaluate(*batch, "validation", validated).ok());
    }
    losses.push_back(trained.Value(0));
    validation_losses.push_back(validated.Value(0));
  }
  EXPECT_EQ(losses, whole.record.losses);
  EXPECT_EQ(validation_losses, whole.record.validation_losses);
  EXPECT_EQ(Values(own.store->all_values()), Values(whole.store->all_values()));
  EXPECT_EQ(engine->steps_done(), whole.trainer->steps_done());
}

Batch RandomBatch(uint64_t seed) {
  return {.x = RandomTensor(DType::kFloat64, Shape{6, 8, 8, 1}, seed),
          .targets = ZeroTensor(DType::kInt32, Shape{6}),
          .count = 6,
          .global_count = 6};
}

// An engine and what it works on.
struct Engine {
  explicit Engine(int64_t accumulate_steps)
      : device(*DeviceContext::Create(Device::Cpu())),
        store(*ParameterStore::Create(Network(), *device, DType::kFloat64, 1)) {
    TrainerOptions options = PatternTraining();
    options.accumulate_steps = accumulate_steps;
    options.whole_steps = true;
    engine = *StepEngine::Create(Network(), *store, *device, options);
    averages = engine->NewAverages();
    EXPECT_TRUE(engine->PrepareForTraining(6).ok());
  }
  static Graph Network() {
    GraphBuilder b("normalised", TensorFormat::kNHWC);
    b.Input(kPatternSample).Conv2d(2).BatchNorm().Relu().Flatten().Fc(4).Softmax();
    return *b.Build();
  }
  absl::Status Step(const Batch& batch) { return engine->Step(batch, &averages); }
  void Train(int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) EXPECT_TRUE(Step(RandomBatch(uint64_t(i))).ok());
  }
  // Whatever a step changes.
  std::vector<std::vector<double>> Snapshot() const {
    return {Values(store->all_values()),
            Values(store->slots()[0]),
            averages.ToDoubles(),
            {double(engine->steps_done()), double(engine->step())}};
  }

  std::unique_ptr<DeviceContext> device;
  std::unique_ptr<ParameterStore> store;
  std::unique_ptr<StepEngine> engine;
  MetricAverages averages;
};

// Gradients of a bias before a normalisation are known to be 0, and may be left alone: not where an
// optimizer has added its term to them.
TEST(StepEngineTest, TermsOfAnOptimizerDoNotAddUpInGradients) {
  GraphBuilder b("biased", TensorFormat::kNHWC);
  b.Input(kPatternSample).Conv2d(2, {.bias = true}).BatchNorm().Relu().Flatten().Fc(4).Softmax();
  const Graph graph = *b.Build();
  const auto device = *DeviceContext::Create(Device::Cpu());
  const auto store = *ParameterStore::Create(graph, *device, DType::kFloat32, 1);
  TrainerOptions options = PatternTraining();
  const auto proximal =
      std::make_shared<ProximalOptimizer>(std::make_shared<Sgd>(SgdOptions{.momentum = 0}));
  proximal->set_mu(0.5);
  options.optimizer = proximal;
  const auto engine = *StepEngine::Create(graph, *store, *device, options);
  ASSERT_TRUE(engine->PrepareForTraining(6).ok());
  const Tensor bias = store->Value(1, 1);
  std::ranges::fill(std::span(bias.data<float>(), 2), 1.0F);
  store->MarkChanged();
  Batch batch = RandomBatch(1);
  batch.x = RandomTensor(DType::kFloat32, batch.x.shape(), 1);
  MetricAverages averages = engine->NewAverages();
  // The term draws it to the last slot, which is 0, by mu times the learning rate.
  double expected = 1;
  for (int step = 0; step < 5; ++step) {
    ASSERT_TRUE(engine->Step(batch, &averages).ok());
    expected *= 1 - 0.5 * options.learning_rate;
    for (const double value : Values(bias)) EXPECT_NEAR(value, expected, 1e-5) << step;
  }
}

TEST(StepEngineTest, AFailureLeavesEverythingAsAfterTheLastUpdate) {
  for (const int64_t accumulate_steps : {1, 3}) {
    Engine whole(accumulate_steps), failing(accumulate_steps);
    failing.Train(0, 3);
    const std::vector<std::vector<double>> before = failing.Snapshot();
    ASSERT_EQ(before.back(), (std::vector<double>{3.0 / double(accumulate_steps), 3}));
    failing.Train(3, 2 + accumulate_steps);  // wait for the batch that completes an update
    Batch bad = RandomBatch(9);
    bad.x.data<double>()[17] = std::numeric_limits<double>::quiet_NaN();
    const absl::Status status = failing.Step(bad);
    EXPECT_EQ(status.code(), absl::StatusCode::kOutOfRange);
    EXPECT_NE(status.message().find("lower the learning rate, now 0.05"), std::string::npos)
        << status;
    EXPECT_EQ(failing.Snapshot(), before) << accumulate_steps;
    EXPECT_TRUE(failing.engine->settled());
    EXPECT_FALSE(failing.engine->torn());
    failing.Train(3, 6);
    whole.Train(0, 6);
    EXPECT_EQ(failing.Snapshot(), whole.Snapshot()) << accumulate_steps;
  }
}

TEST(StepEngineTest, GradientsThatWaitAreNotOfARunThatGoesOn) {
  Engine interrupted(2), whole(2);
  interrupted.Train(7, 8);
  EXPECT_FALSE(interrupted.engine->settled());
  interrupted.engine->set_steps_done(0);
  EXPECT_TRUE(interrupted.engine->settled());
  // Running statistics have followed the batch; parameters have not.
  EXPECT_EQ(Values(interrupted.store->values()), Values(whole.store->values()));
  interrupted.Train(0, 2);
  whole.Train(0, 2);
  EXPECT_EQ(Values(interrupted.store->values()), Values(whole.store->values()));
  EXPECT_EQ(interrupted.engine->steps_done(), 1);
}

// A sum that is not exact, as an encrypted one is not, leaves something in every gradient: also in
// that of the convolution's bias, which is 0 before the normalisation. It must not add up.
TEST(StepEngineTest, WhatAnInexactSumLeavesBehindIsGoneInTheNextStep) {
  const Graph graph = Engine::Network();
  auto device = *DeviceContext::Create(Device::Cpu());
  auto store = *ParameterStore::Create(graph, *device, DType::kFloat64, 1);
  auto ranks = *LocalGroup::Create(1);
  TrainerOptions options = PatternTraining();
  options.communicator = ranks[0].get();
  options.reducer.sum = [](const Tensor& tensor) {
    for (int64_t i = 0; i < tensor.num_elements(); ++i) tensor.data<double>()[i] += 1e-3;
    return absl::OkStatus();
  };
  auto engine = *StepEngine::Create(graph, *store, *device, options);
  ASSERT_EQ(engine->PrepareForTraining(6), absl::OkStatus());
  for (uint64_t step = 0; step < 3; ++step) {
    ASSERT_EQ(engine->Step(RandomBatch(step), nullptr), absl::OkStatus());
    for (const double gradient : Values(store->Gradient(1, 1))) EXPECT_NEAR(gradient, 1e-3, 1e-12);
  }
}

TEST(StepEngineTest, AnEvaluationThatIsNaNSaysOfWhat) {
  Engine run(1);
  ASSERT_TRUE(run.engine->PrepareForEvaluation(6).ok());
  EXPECT_TRUE(run.engine->Evaluate(RandomBatch(1), "the test", run.averages).ok());
  EXPECT_EQ(run.averages.samples(), 6);
  Batch bad = RandomBatch(1);
  bad.x.data<double>()[0] = std::numeric_limits<double>::quiet_NaN();
  const absl::Status status = run.engine->Evaluate(bad, "the test", run.averages);
  EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss) << "the data's, not training's";
  EXPECT_EQ(std::string(status.message()).substr(0, 27), "the loss is nan in the test");
  EXPECT_EQ(run.averages.samples(), 6);
}

TEST(StepEngineTest, StepsAllocateNothing) {
  const Graph graph = *BuildModel("simplecnn8", {});
  auto device = *DeviceContext::Create(Device::Cpu());
  auto store = *ParameterStore::Create(graph, *device, DType::kFloat32, 1);
  TrainerOptions options = PatternTraining();
  options.optimizer = std::make_shared<Adam>();
  options.learning_rate = 1e-3;
  auto engine = *StepEngine::Create(graph, *store, *device, options);
  ASSERT_TRUE(engine->PrepareForTraining(64).ok());
  const Batch batch{.x = RandomTensor(DType::kFloat32, graph.input_shape().Prepend(64), 1),
                    .targets = ZeroTensor(DType::kInt32, Shape{64}),
                    .count = 64,
                    .global_count = 64};
  MetricAverages averages = engine->NewAverages();
  for (int i = 0; i < 2; ++i) ASSERT_TRUE(engine->Step(batch, &averages).ok());
  const dtnn::testing::AllocationCounter counter;
  bool ok = true;
  for (int i = 0; i < 5; ++i) ok &= engine->Step(batch, &averages).ok();
  EXPECT_EQ(counter.count(), 0);
  EXPECT_TRUE(ok);
}

// Passes its input on, and notes which version of its parameters it met in every forward pass, and
// the seed of its random stream.
class VersionLayer : public Layer {
 public:
  explicit VersionLayer(std::vector<uint64_t>* versions, uint64_t* seed = nullptr)
      : versions_(versions), seed_(seed) {}
  std::string_view type_name() const override { return "Version"; }
  absl::StatusOr<Shape> OutputShape(std::span<const Shape> inputs, TensorFormat) const override {
    return inputs[0];
  }
  std::vector<ParameterSpec> Parameters(std::span<const Shape>, TensorFormat) const override {
    return {{.name = "statistics",
             .shape = Shape{3},
             .initializer = {InitializerKind::kOnes},
             .trainable = false},
            {.name = "weights", .shape = Shape{5}, .initializer = {InitializerKind::kOnes}}};
  }
  absl::StatusOr<std::unique_ptr<LayerOp>> Bind(const BindContext& context) const override {
    if (seed_ != nullptr) *seed_ = context.random.seed();
    return std::make_unique<Op>(versions_);
  }

 private:
  class Op : public LayerOp {
   public:
    explicit Op(std::vector<uint64_t>* versions) : versions_(versions) {}
    LayerOpTraits traits() const override { return {}; }
    absl::Status Forward(const ForwardArgs& args) override {
      versions_->push_back(args.parameters[1].version);
      std::memcpy(args.output.raw_data(), args.inputs[0].raw_data(),
                  size_t(args.output.num_elements()) * SizeOf(args.output.dtype()));
      return absl::OkStatus();
    }
    absl::Status Backward(const BackwardArgs& args) override {
      EXPECT_EQ(args.gradients.size(), 1u);  // of the trainable parameter only
      EXPECT_EQ(args.gradients[0].shape(), Shape{5});
      EXPECT_TRUE(args.dx[0].empty());
      std::fill_n(args.gradients[0].data<double>(), 5, 1.0);
      return absl::OkStatus();
    }

   private:
    std::vector<uint64_t>* versions_;
  };

  std::vector<uint64_t>* versions_;
  uint64_t* seed_;
};

// The seed of each rank's layers in a run with that seed.
std::vector<uint64_t> SeedsOfRanks(int ranks, uint64_t seed) {
  std::vector<uint64_t> seeds(size_t(ranks), 0);
  const absl::Status status = RunRanks(ranks, [&](Communicator& communicator) {
    SetNumThreads(1);
    std::vector<uint64_t> versions;
    GraphBuilder b("streams", TensorFormat::kNHWC);
    b.Input(kPatternSample).Flatten();
    b.Append(std::make_shared<VersionLayer>(&versions, &seeds[size_t(communicator.rank())]));
    const Graph graph = *b.Fc(4).Softmax().Build();
    auto device = *DeviceContext::Create(Device::Cpu());
    auto store = *ParameterStore::Create(graph, *device, DType::kFloat64, 1);
    TrainerOptions options = PatternTraining();
    options.communicator = &communicator;
    options.random_seed = seed;
    return (*StepEngine::Create(graph, *store, *device, options))->PrepareForTraining(2);
  });
  EXPECT_TRUE(status.ok()) << status;
  return seeds;
}

// Rank 1 of a run repeats neither rank 0 nor any rank of the runs with the next seeds.
TEST(StepEngineTest, RanksDrawFromStreamsOfTheirOwn) {
  std::set<uint64_t> distinct;
  for (const uint64_t seed : {57005, 57006, 57007}) {
    const std::vector<uint64_t> seeds = SeedsOfRanks(3, seed);
    EXPECT_EQ(seeds[0], seed) << "a run of one rank has the seed that was given";
    distinct.insert(seeds.begin(), seeds.end());
  }
  EXPECT_EQ(distinct.size(), 9u);
}

// Adam's first steps have the length of the learning rate whatever the gradient, as long as the
// step number that corrects its moments is right.
TEST(StepEngineTest, AStepRenewsTheParametersAndOnlyTheTrainable) {
  std::vector<uint64_t> versions;
  GraphBuilder b("versions", TensorFormat::kNHWC);
  b.Input(kPatternSample)
      .Flatten()
      .Append(std::make_shared<VersionLayer>(&versions))
      .Fc(4)
      .Softmax();
  const Graph graph = *b.Build();
  EXPECT_EQ(graph.num_parameters() - graph.num_trainable_parameters(), 3);
  auto device = *DeviceContext::Create(Device::Cpu());
  auto store = *ParameterStore::Create(graph, *device, DType::kFloat64, 1);
  TrainerOptions options = PatternTraining();
  options.optimizer = std::make_shared<Adam>();
  auto engine = *StepEngine::Create(graph, *store, *device, options);
  ASSERT_TRUE(engine->PrepareForTraining(2).ok());
  const Batch batch{.x = RandomTensor(DType::kFloat64, Shape{2, 8, 8, 1}, 1),
                    .targets = ZeroTensor(DType::kInt32, Shape{2}),
                    .count = 2,
                    .global_count = 2};
  double expected = 1;
  for (double rate : {0.05, 0.05, 0.01, 0.0, 0.05}) {
    engine->set_learning_rate(rate);
    ASSERT_TRUE(engine->Step(batch, nullptr).ok());
    expected -= rate;
    EXPECT_TRUE(Close(Values(store->Value(2, 1)), std::vector<double>(5, expected), 1e-6));
    EXPECT_EQ(Values(store->Value(2, 0)), std::vector<double>(3, 1.0));
  }
  ASSERT_EQ(versions.size(), 5u);
  for (size_t i = 1; i < versions.size(); ++i) EXPECT_GT(versions[i], versions[i - 1]);
}

// What a step with these targets makes of the parameters, and the two metrics that it measures.
std::pair<std::vector<double>, std::vector<double>> AfterAStep(const std::vector<double>& classes,
                                                               const std::vector<double>& mixed) {
  const Graph graph = PatternMlp();
  auto device = *DeviceContext::Create(Device::Cpu());
  auto store = *ParameterStore::Create(graph, *device, DType::kFloat64, 1);
  auto engine = *StepEngine::Create(graph, *store, *device, PatternTraining());
  EXPECT_TRUE(engine->PrepareForTraining(2).ok());
  Batch batch{.x = RandomTensor(DType::kFloat64, Shape{2, 8, 8, 1}, 1),
              .targets = testing::TensorOf(DType::kInt32, Shape{2}, classes),
              .count = 2,
              .global_count = 2};
  if (!mixed.empty()) {
    batch.mixed_targets = testing::TensorOf(DType::kFloat64, Shape{2, 4}, mixed);
  }
  MetricAverages averages = engine->NewAverages();
  EXPECT_TRUE(engine->Step(batch, &averages).ok());
  return {Values(store->values()), {averages.Value(0), averages.Value(1)}};
}

TEST(StepEngineTest, MixedTargetsAreTheLosssAndClassesTheMetrics) {
  const auto [parameters, metrics] = AfterAStep({1, 2}, {});
  const auto [same, same_metrics] = AfterAStep({1, 2}, {0, 1, 0, 0, 0, 0, 1, 0});
  EXPECT_TRUE(Close(same, parameters, 1e-12));
  EXPECT_TRUE(Close(same_metrics, metrics, 1e-9));
  const auto [other, other_metrics] = AfterAStep({3, 3}, {});
  EXPECT_FALSE(Close(other, parameters, 1e-6));
  const auto [mixed, mixed_metrics] = AfterAStep({3, 3}, {0, 1, 0, 0, 0, 0, 1, 0});
  EXPECT_TRUE(Close(mixed, parameters, 1e-12));
  EXPECT_NEAR(mixed_metrics[0], metrics[0], 1e-9);
  EXPECT_EQ(mixed_metrics[1], other_metrics[1]);
}

TEST(StepEngineTest, NeedsALossAndAnOptimizer) {
  const Graph graph = PatternMlp();
  auto device = *DeviceContext::Create(Device::Cpu());
  auto store = *ParameterStore::Create(graph, *device, DType::kFloat32, 1);
  EXPECT_EQ(StepEngine::Create(graph, *store, *device, {}).status().message(),
            "a trainer needs a loss");
  TrainerOptions options = PatternTraining();
  options.optimizer = nullptr;
  auto engine = *StepEngine::Create(graph, *store, *device, options);
  EXPECT_EQ(engine->PrepareForTraining(4).message(), "training needs an optimizer");
  EXPECT_EQ(engine->Step({}, nullptr).code(), absl::StatusCode::kFailedPrecondition);
  MetricAverages averages = engine->NewAverages();
  EXPECT_EQ(engine->Evaluate({}, "", averages).code(), absl::StatusCode::kFailedPrecondition);
}

}  // namespace
}  // namespace dtnn
