#include "models/plan/fusion.h"

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "models/graph/builder.h"
#include "models/graph/freeze.h"
#include "models/parameters/parameter_store.h"
#include "models/plan/plan.h"
#include "models/testing/plan_session.h"
#include "models/zoo/zoo.h"
#include "tensor/threads/parallel_for.h"
#include "tools/testing/count_allocations.h"
#include "tools/testing/tensors.h"

namespace dtnn {
namespace {

using ::dtnn::testing::Close;
using ::dtnn::testing::Labels;
using ::dtnn::testing::PlanSession;
using ::dtnn::testing::RandomTensor;
using ::dtnn::testing::Values;
using Lines = std::vector<std::string>;

constexpr ImageExtents kImage = {8, 8, 3};
constexpr Fusions kAll = {};

constexpr Fusions Only(bool Fusions::*fusion) {
  Fusions fusions = Fusions::None();
  fusions.*fusion = true;
  return fusions;
}

// Every pattern, in and outside of paths, with and without biases, and what must stay apart.
Graph MixedGraph(TensorFormat format) {
  GraphBuilder b("mixed", format);
  b.Input(kImage).Conv2d(6, {.padding = 1}).BatchNorm().Relu();            // 1 2 3: with a bias
  b.Add({[](GraphBuilder& p) {                                             // 4
           p.Conv2d(6, {.padding = 1, .bias = false}).BatchNorm().Relu();  // 5 6 7
           p.Conv2d(6, {.padding = 1, .bias = false}).BatchNorm();         // 8 9
         },
         [](GraphBuilder& p) {
           p.Conv2d(0, {.padding = 1, .grouping = ConvGrouping::kDepthwise});  // 10
           p.BatchNorm().Relu();                                               // 11 12
           p.Conv2d(6, {.grouping = ConvGrouping::kPointwise}).Relu();         // 13 14
         }});
  b.BatchNorm().Relu();                                 // 15 16
  b.Conv2d(4, {.stride = 2}).MaxPool2d({.stride = 1});  // 17 18
  b.Concat({[](GraphBuilder& p) { p.BatchNorm(); },     // 19, 20: two read the pool
            [](GraphBuilder& p) { p.Conv2d(2, {.kernel = 1}).BatchNorm().Tanh(); }});  // 21 22 23
  b.Flatten().Fc(8).BatchNorm().Relu().Fc(4).Softmax();  // 24 25 26 27
  return *b.Build();
}

class FusionTest : public ::testing::TestWithParam<TensorFormat> {
 protected:
  // A session whose parameters and running statistics are all off their initial values.
  PlanSession Session(DType dtype = DType::kFloat64) const {
    PlanSession session(MixedGraph(GetParam()), 4, dtype);
    Change(session, 1);
    return session;
  }
  static void Change(PlanSession& session, double factor) {
    const Tensor all = session.store->all_values();
    const std::vector<double> moves =
        Values(RandomTensor(DType::kFloat64, all.shape(), uint64_t(100 * factor)));
    const auto trained = [&](size_t i) {
      return int64_t(i) < session.store->values().num_elements();
    };
    for (size_t i = 0; i < moves.size(); ++i) {
      DispatchFloating(all.dtype(), [&](auto zero) {
        using T = decltype(zero);
        T& value = all.data<T>()[i];
        value = T(double(value) + factor * (trained(i) ? 0.2 * moves[i] : 0.4 * (moves[i] + 1)));
      });
    }
    session.store->MarkChanged();
  }
  std::unique_ptr<Plan> Compile(PlanSession& session, const Fusions& fusions) const {
    auto plan = Plan::Compile(session.graph, *session.store, *session.device,
                              {.batch = 4, .loss = &session.loss, .fusions = fusions});
    EXPECT_TRUE(plan.ok()) << plan.status();
    return *std::move(plan);
  }
  Tensor Batch(int64_t n, DType dtype = DType::kFloat64) const {
    return RandomTensor(dtype, SampleShape(kImage, GetParam()).Prepend(n), 3);
  }
};
INSTANTIATE_TEST_SUITE_P(Formats, FusionTest,
                         ::testing::Values(TensorFormat::kNHWC, TensorFormat::kNCHW),
                         [](const auto& info) { return std::string(Name(info.param)); });

TEST_P(FusionTest, FindsThePatternsInOrderOfPreference) {
  const Graph graph = MixedGraph(GetParam());
  const std::string conv = "Conv2DCPU", bn = "BatchNormalizationCPU", relu = "ReluCPU";
  const auto join = [](const Lines& parts) {
    std::string line = parts[0];
    for (size_t i = 1; i < parts.size(); ++i) line += " + " + parts[i];
    return line;
  };
  const std::string first = join({"001_" + conv, "002_" + bn, "003_" + relu});
  const std::string second = join({"005_" + conv, "006_" + bn, "007_" + relu});
  const std::string pair = join({"008_" + conv, "009_" + bn});
  const std::string depthwise = join({"010_" + conv, "011_" + bn, "012_" + relu});
  const std::string conv_relu = join({"013_" + conv, "014_" + relu});
  const std::string bn_relu = join({"015_" + bn, "016_" + relu});
  const std::string last_pair = join({"021_" + conv, "022_" + bn});
  const std::string vectors = join({"026_" + bn, "027_" + relu});
  EXPECT_EQ(DescribeFusions(graph, kAll, "CPU"),
            (Lines{first, second, pair, depthwise, conv_relu, bn_relu, last_pair, vectors}));
  EXPECT_EQ(DescribeFusions(graph, Only(&Fusions::conv_bn_relu), "CPU"),
            (Lines{first, second, depthwise}));
  EXPECT_EQ(DescribeFusions(graph, Only(&Fusions::conv_relu), "CPU"), (Lines{conv_relu}));
  EXPECT_EQ(DescribeFusions(graph, Only(&Fusions::conv_bn), "CPU"),
            (Lines{join({"001_" + conv, "002_" + bn}), join({"005_" + conv, "006_" + bn}), pair,
                   join({"010_" + conv, "011_" + bn}), last_pair}));
  EXPECT_EQ(DescribeFusions(graph, Only(&Fusions::bn_relu), "CPU"),
            (Lines{join({"002_" + bn, "003_" + relu}), join({"006_" + bn, "007_" + relu}),
                   join({"011_" + bn, "012_" + relu}), bn_relu, vectors}));
  EXPECT_EQ(DescribeFusions(graph, Fusions::None(), "CPU"), Lines{});
}

// What a sum of two can be part of: the batch itself, paths of any kind, sums after sums, and what
// must stay apart: three terms, a term that others read, twice the same, a later term that no
// convolution computes.
Graph SumsGraph(TensorFormat format) {
  const auto conv = [](GraphBuilder& p) { p.Conv2d(3, {.padding = 1}); };
  const auto normalized = [](GraphBuilder& p) { p.Conv2d(3, {.padding = 1}).BatchNorm(); };
  const auto itself = [](GraphBuilder&) {};
  GraphBuilder b("sums", format);
  b.Input(kImage).Add({conv, itself}).Relu();                          // 1 2 3: the batch
  b.Add({normalized, itself}).Relu();                                  // 4 5 6 7
  b.Add({normalized, conv});                                           // 8 9 10 11: no relu
  b.Add({normalized, [](GraphBuilder& p) { p.BatchNorm().Tanh(); }});  // 12 13 14 15 16
  b.Add({conv, conv, itself}).Relu();                                  // 17 18 19 20
  b.Concat({[&](GraphBuilder& p) {
              p.Add({itself, normalized}).Relu();
            },         // 21 22 23 24
            itself});  // 25
  b.Flatten().Fc(4).Softmax();
  return *b.Build();
}

TEST_P(FusionTest, ASumOfTwoIsPartOfItsLaterConvolution) {
  const Graph graph = SumsGraph(GetParam());
  std::vector<std::vector<int>> sums;
  for (const Fusion& fusion : FindFusions(graph, {}, /*additions=*/true)) {
    if (fusion.addition < 0) continue;
    sums.push_back(
        {fusion.layer, fusion.normalization, fusion.addition, fusion.addend, fusion.relu});
  }
  EXPECT_EQ(sums,
            (std::vector<std::vector<int>>{
                {1, -1, 2, 0, 3}, {4, 5, 6, 3, 7}, {10, -1, 11, 9, -1}, {21, 22, 23, 20, 24}}));
  // Without the fold, the normalisation adds.
  const auto unfolded = [&](bool additions) {
    std::vector<std::vector<int>> sums;
    for (const Fusion& fusion : FindFusions(graph, Fusions::None(), additions)) {
      if (fusion.addition >= 0) sums.push_back({fusion.layer, fusion.addition, fusion.relu});
    }
    return sums;
  };
  EXPECT_EQ(unfolded(true),
            (std::vector<std::vector<int>>{{1, 2, 3}, {5, 6, 7}, {10, 11, -1}, {22, 23, 24}}));
  EXPECT_EQ(unfolded(false), (std::vector<std::vector<int>>{{5, 6, 7}, {22, 23, 24}}));
}

TEST_P(FusionTest, TwoNormalizationsThatAreAddedArePairs) {
  const GraphBuilder::Path itself = GraphBuilder::Identity();
  const auto normalized = [](GraphBuilder& p) { p.Conv2d(3, {.padding = 1}).BatchNorm(); };
  const auto bare = [](GraphBuilder& p) { p.BatchNorm(); };
  GraphBuilder b("pairs", GetParam());
  b.Input(kImage).Add({bare, normalized});  // 1 2 3 4: no gradient before the first
  b.Add({normalized, normalized}).Relu();   // 5 6 7 8 9 10
  b.Add({normalized, normalized}).Tanh();   // 11 12 13 14 15 16
  b.Add({normalized, bare});                // 17 18 19 20: two read the tanh
  b.Add({normalized, itself});              // 21 22 23
  b.Add({normalized, normalized, itself});  // 24 25 26 27 28
  b.Add({[&](GraphBuilder& p) {             // 29 30
           p.Conv2d(3, {.padding = 1}).BatchNorm();
           p.Concat({[](GraphBuilder& q) { q.Conv2d(3, {.kernel = 1}); }, itself});  // 31 32
           p.Conv2d(3, {.kernel = 1});                                               // 33
         },
         normalized});                                              // 34 35 36
  b.Flatten().Add({[](GraphBuilder& p) { p.Fc(4).BatchNorm(); },    // 37 38 39
                   [](GraphBuilder& p) { p.Fc(4).BatchNorm(); }});  // 40 41 42
  const Graph graph = *b.Softmax().Build();
  const auto pairs = [](const Graph& graph) {
    std::vector<std::vector<int>> pairs;
    for (const Fusion& fusion : FindFusions(graph, Fusions::None(), /*additions=*/false)) {
      if (PairsNormalizations(graph, fusion)) pairs.push_back({fusion.addend, fusion.layer});
    }
    return pairs;
  };
  EXPECT_EQ(pairs(graph), (std::vector<std::vector<int>>{{6, 8}, {12, 14}, {39, 41}}));
  EXPECT_EQ(pairs(*Freeze(graph, "7")), (std::vector<std::vector<int>>{{12, 14}, {39, 41}}));
  EXPECT_EQ(pairs(*Freeze(graph, "9")), (std::vector<std::vector<int>>{{12, 14}, {39, 41}}));
  EXPECT_EQ(pairs(*BuildModel("resnet20_cifar10", {.format = GetParam()})).size(), 2);
  EXPECT_EQ(pairs(*BuildModel("resnet50_imagenet", {.format = GetParam()})).size(), 4);
}

// The forward pass of training adds for itself.
TEST_P(FusionTest, SumsAreTheSameBitsWithoutNormalizations) {
  GraphBuilder b("sums", GetParam());
  const auto conv = [](GraphBuilder& p) { p.Conv2d(3, {.padding = 1}); };
  const auto itself = [](GraphBuilder&) {};
  b.Input(kImage).Add({conv, itself}).Relu();
  b.Add({itself, conv});
  b.Concat({[&](GraphBuilder& p) { p.Add({conv, conv}).Relu(); }, itself});
  b.Flatten().Fc(4).Softmax();
  for (const DType dtype : {DType::kFloat32, DType::kFloat64}) {
    PlanSession session(*b.Build(), 4, dtype);
    const auto fused = Compile(session, {});
    for (const int64_t n : {4, 3, 4}) {  // the batch, of which the first sum reads, moves
      const Tensor x = Batch(n, dtype);
      ASSERT_TRUE(session.plan->Forward(x).ok());
      ASSERT_TRUE(fused->Forward(x).ok());
      EXPECT_EQ(Values(fused->predictions()), Values(session.plan->predictions()));
    }
  }
}

TEST_P(FusionTest, SumsWithNormalizationsAreTheSameWithinRounding) {
  PlanSession session(SumsGraph(GetParam()), 4, DType::kFloat64);
  Change(session, 1);
  const auto plain = Compile(session, Fusions::None()), fused = Compile(session, {});
  ASSERT_TRUE(plain->Forward(Batch(4)).ok());
  ASSERT_TRUE(fused->Forward(Batch(4)).ok());
  EXPECT_TRUE(Close(fused->predictions(), plain->predictions(), 1e-12));
  EXPECT_LE(fused->memory().arena, plain->memory().arena);
}

TEST_P(FusionTest, EvaluationIsTheSameWithinRounding) {
  for (const DType dtype : {DType::kFloat32, DType::kFloat64}) {
    PlanSession session = Session(dtype);
    const Tensor x = Batch(4, dtype), labels = Labels(4);
    const auto plain = Compile(session, Fusions::None());
    ASSERT_TRUE(plain->Evaluate(x, labels).ok());
    const std::vector<double> expected = Values(plain->predictions());
    const std::vector<double> parameters = Values(session.store->all_values());
    // Predictions that hardly differ, or are certain, would show nothing.
    EXPECT_LT(*std::ranges::max_element(expected), 0.95);
    EXPECT_GT(*std::ranges::max_element(expected) - *std::ranges::min_element(expected), 0.05);
    const double bound = dtype == DType::kFloat32 ? 1e-4 : 1e-12;
    for (int choice = 0; choice < 16; ++choice) {
      const Fusions fusions = {.conv_bn = (choice & 1) != 0,
                               .conv_bn_relu = (choice & 2) != 0,
                               .conv_relu = (choice & 4) != 0,
                               .bn_relu = (choice & 8) != 0};
      const auto fused = Compile(session, fusions);
      ASSERT_TRUE(fused->Evaluate(x, labels).ok());
      EXPECT_TRUE(Close(Values(fused->predictions()), expected, bound)) << choice;
      EXPECT_NEAR(fused->LossSum(), plain->LossSum(), 10 * bound) << choice;
      EXPECT_LE(fused->memory().arena, plain->memory().arena) << choice;
    }
    EXPECT_EQ(Values(session.store->all_values()), parameters);
  }
}

TEST_P(FusionTest, FollowsChangesOfParametersAndStatistics) {
  PlanSession session = Session();
  const auto plain = Compile(session, Fusions::None()), fused = Compile(session, kAll);
  const Tensor x = Batch(3), labels = Labels(3);
  std::vector<double> before;
  for (int i = 1; i < 4; ++i) {
    Change(session, 0.1 * i);
    ASSERT_TRUE(plain->Evaluate(x, labels).ok());
    ASSERT_TRUE(fused->Evaluate(x, labels).ok());
    EXPECT_TRUE(Close(fused->predictions(), plain->predictions(), 1e-12)) << i;
    EXPECT_NE(Values(fused->predictions()), before);
    before = Values(fused->predictions());
  }
  // A training step moves the running statistics even before any optimizer.
  ASSERT_TRUE(session.plan->ForwardBackward(Batch(4), Labels(4), 1, 0).ok());
  ASSERT_TRUE(plain->Evaluate(x, labels).ok());
  ASSERT_TRUE(fused->Evaluate(x, labels).ok());
  EXPECT_TRUE(Close(fused->predictions(), plain->predictions(), 1e-12));
  EXPECT_NE(Values(fused->predictions()), before);
}

TEST_P(FusionTest, TrainingIsNotTouched) {
  PlanSession session = Session(), other = Session();
  auto plan = *Plan::Compile(other.graph, *other.store, *other.device,
                             {.batch = 4, .training = true, .loss = &other.loss, .fusions = kAll});
  ASSERT_TRUE(session.plan->ForwardBackward(Batch(4), Labels(4), 1, 0).ok());
  ASSERT_TRUE(plan->ForwardBackward(Batch(4), Labels(4), 1, 0).ok());
  EXPECT_EQ(Values(session.store->gradients()), Values(other.store->gradients()));
  EXPECT_EQ(Values(session.store->all_values()), Values(other.store->all_values()));
}

TEST_P(FusionTest, SameBitsOnAnyNumberOfThreadsAndNothingAllocated) {
  PlanSession session = Session(DType::kFloat32);
  const Tensor x = Batch(4, DType::kFloat32), labels = Labels(4);
  std::vector<double> first;
  for (const int threads : {1, 2, 4}) {
    SetNumThreads(threads);
    const auto fused = Compile(session, kAll);
    for (int i = 0; i < 2; ++i) ASSERT_TRUE(fused->Evaluate(x, labels).ok());
    if (first.empty()) first = Values(fused->predictions());
    EXPECT_EQ(Values(fused->predictions()), first);
    session.store->MarkChanged();
    const dtnn::testing::AllocationCounter counter;
    const absl::Status status = fused->Evaluate(x, labels);
    EXPECT_EQ(counter.count(), 0);
    EXPECT_TRUE(status.ok());
  }
}

}  // namespace
}  // namespace dtnn
