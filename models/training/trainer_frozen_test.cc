// Training with frozen layers: what must not change, on one rank and on several.

#include <memory>
#include <string>
#include <vector>

#include "comm/local.h"
#include "gtest/gtest.h"
#include "models/graph/builder.h"
#include "models/graph/freeze.h"
#include "models/testing/training_session.h"
#include "models/training/trainer.h"
#include "optim/optimizers/adam.h"
#include "optim/optimizers/sgd.h"
#include "tensor/threads/parallel_for.h"
#include "tools/testing/tensors.h"

namespace dtnn {
namespace {

using ::dtnn::testing::CopyParameters;
using ::dtnn::testing::kPatternSample;
using ::dtnn::testing::SessionOptions;
using ::dtnn::testing::TrainingSession;
using ::dtnn::testing::Values;

// Convolutions without the biases that a normalisation would take away: all parameters train.
Graph Net(TensorFormat format = TensorFormat::kNHWC) {
  GraphBuilder b("net", format);
  b.Input(kPatternSample).Conv2d(4, {.bias = false}).BatchNorm().Relu();
  b.Conv2d(4, {.bias = false}).BatchNorm().Tanh();
  b.Flatten().Dropout(0.2).Fc(8).Relu().Fc(4).Softmax();
  return *b.Build();
}

// The values of the layers that are frozen, or of the others, one vector per parameter.
std::vector<std::vector<double>> ValuesOf(const Graph& graph, const ParameterStore& store,
                                          bool frozen) {
  std::vector<std::vector<double>> values;
  for (size_t n = 0; n < graph.nodes().size(); ++n) {
    if (graph.nodes()[n].frozen != frozen) continue;
    for (size_t p = 0; p < graph.nodes()[n].parameters.size(); ++p) {
      values.push_back(Values(store.Value(int(n), int(p))));
    }
  }
  return values;
}

SessionOptions WithDecay(bool adam) {
  SessionOptions options;
  options.training.learning_rate = 0.005;
  if (adam) {
    options.training.optimizer = std::make_shared<Adam>(AdamOptions{.decay = 0.1});
  } else {
    options.training.optimizer = std::make_shared<Sgd>(SgdOptions{.nesterov = true, .decay = 0.1});
  }
  return options;
}

TEST(TrainerFrozenTest, FrozenParametersKeepTheirBits) {
  for (const TensorFormat format : {TensorFormat::kNHWC, TensorFormat::kNCHW}) {
    for (const char* pattern : {"1-2", "*BatchNormalization", "4-9", "1-9", "11"}) {
      for (const int64_t accumulate : {1, 3}) {
        const Graph graph = *Freeze(Net(format), pattern);
        SessionOptions options = WithDecay(/*adam=*/accumulate == 3);
        options.validation_split = 0;
        options.loading.format = format;
        options.training.accumulate_steps = accumulate;
        options.training.clip_norm = accumulate == 3 ? 0.5 : 0;
        TrainingSession run(graph, options);
        const auto before = ValuesOf(graph, *run.store, true);
        const auto others = ValuesOf(graph, *run.store, false);
        ASSERT_EQ(run.Train(12), absl::OkStatus()) << pattern;  // of 7 batches
        ASSERT_GE(run.trainer->steps_done(), 20);
        EXPECT_EQ(ValuesOf(graph, *run.store, true), before) << pattern;
        const auto trained = ValuesOf(graph, *run.store, false);
        for (size_t i = 0; i < others.size(); ++i) EXPECT_NE(trained[i], others[i]) << pattern;
        EXPECT_LT(run.record.losses.back(), run.record.losses.front()) << pattern;
      }
    }
  }
}

// The head follows the same gradients whether what is below it trains or not.
TEST(TrainerFrozenTest, AStepOfTheRestIsThatOfTheWholeNetwork) {
  GraphBuilder b("plain", TensorFormat::kNHWC);
  b.Input(kPatternSample).Conv2d(4).Relu().Flatten().Fc(8).Relu().Fc(4).Softmax();
  const Graph graph = *b.Build(), head = *Freeze(graph, "1-4");
  SessionOptions options = WithDecay(/*adam=*/true);
  options.samples = 9;  // one step
  options.validation_split = 0;
  TrainingSession whole(graph, options), part(head, options);
  ASSERT_TRUE(whole.Train(1).ok());
  ASSERT_TRUE(part.Train(1).ok());
  ASSERT_EQ(part.trainer->steps_done(), 1);
  for (const int p : {0, 1}) {
    EXPECT_EQ(Values(part.store->Value(6, p)), Values(whole.store->Value(6, p)));
    EXPECT_NE(Values(part.store->Value(4, p)), Values(whole.store->Value(4, p)));
  }
}

SessionOptions RankOf(Communicator& communicator) {
  SessionOptions options = WithDecay(/*adam=*/false);
  options.dtype = DType::kFloat64;
  options.samples = 36;
  options.validation_split = 0;
  options.loading = {
      .batch = 12 / communicator.size(), .rank = communicator.rank(), .ranks = communicator.size()};
  options.training.communicator = &communicator;
  return options;
}

// With normalisations frozen, and no dropout, samples do not see each other.
TEST(TrainerFrozenTest, AnyNumberOfRanksTrainsTheSameRest) {
  GraphBuilder b("ranks", TensorFormat::kNHWC);
  b.Input(kPatternSample).Conv2d(4).BatchNorm().Relu().Flatten().Fc(8).Relu().Fc(4).Softmax();
  const Graph graph = *Freeze(*b.Build(), "2");
  std::vector<double> alone;
  for (const int ranks : {1, 2, 3}) {
    const absl::Status status = RunRanks(ranks, [&](Communicator& communicator) {
      SetNumThreads(1);
      TrainingSession run(graph, RankOf(communicator));
      const auto before = ValuesOf(graph, *run.store, true);
      EXPECT_TRUE(run.Train(7).ok());
      EXPECT_EQ(run.trainer->steps_done(), 21);
      EXPECT_EQ(ValuesOf(graph, *run.store, true), before);
      if (ranks == 1) alone = Values(run.store->values());
      EXPECT_TRUE(testing::Close(Values(run.store->values()), alone, 1e-10)) << ranks;
      return absl::OkStatus();
    });
    EXPECT_TRUE(status.ok()) << status;
  }
}

// A third of a number, three times, need not be that number.
TEST(TrainerFrozenTest, AveragesOfModelsLeaveFrozenLayersAsTheyAre) {
  const Graph graph = *Freeze(Net(), "1-2");
  const absl::Status status = RunRanks(3, [&](Communicator& communicator) {
    SetNumThreads(1);
    SessionOptions options = RankOf(communicator);
    options.training.model_sync = {.frequency = 2};
    TrainingSession run(graph, options);
    const auto before = ValuesOf(graph, *run.store, true);
    EXPECT_TRUE(run.Train(7).ok());
    EXPECT_EQ(ValuesOf(graph, *run.store, true), before);
    return absl::OkStatus();
  });
  EXPECT_TRUE(status.ok()) << status;
}

TEST(TrainerFrozenTest, ARunThatIsRestoredGivesTheSameBits) {
  const Graph graph = *Freeze(Net(), "1-5");
  const SessionOptions options = WithDecay(/*adam=*/true);
  TrainingSession whole(graph, options), first(graph, options), second(graph, options);
  ASSERT_TRUE(whole.Train(3).ok());
  ASSERT_TRUE(first.Train(2).ok());
  ASSERT_TRUE(second.trainer->PrepareForTraining(9).ok());
  CopyParameters(first, second);
  ASSERT_TRUE(second.trainer->Restore(*first.trainer->State()).ok());
  ASSERT_TRUE(second.Train(3).ok());
  EXPECT_EQ(Values(second.store->all_values()), Values(whole.store->all_values()));
}

}  // namespace
}  // namespace dtnn
