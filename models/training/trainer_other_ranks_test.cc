// A run that stops in the middle of an epoch and is continued on another number of ranks, or with
// other batches. A metric counts how often each sample is trained with, so that a checkpoint
// carries the counts of an epoch like any metric.

#include <algorithm>
#include <cmath>
#include <cstring>
#include <memory>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "comm/local.h"
#include "data/testing/counting_dataset.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "models/checkpoint/checkpoint_info.h"
#include "models/graph/builder.h"
#include "models/parameters/parameter_store.h"
#include "models/training/trainer.h"
#include "optim/losses/categorical_cross_entropy.h"
#include "optim/optimizers/sgd.h"
#include "tensor/status_macros.h"
#include "tensor/threads/parallel_for.h"
#include "tools/testing/tensors.h"

namespace dtnn {
namespace {

using ::dtnn::testing::Close;
using ::dtnn::testing::CountingDataset;
using ::dtnn::testing::Values;
using ::testing::Each;
using ::testing::HasSubstr;

constexpr int64_t kSamples = 101, kEpochs = 3;

class Visits : public Metric {
 public:
  std::string_view name() const override { return "visits"; }
  Better better() const override { return Better::kLarger; }
  bool TakesClasses() const override { return true; }
  bool TakesValues() const override { return false; }
  int64_t sums(int64_t outputs) const override { return outputs; }
  void Add(const Tensor&, const Tensor& targets, std::span<double> sums) const override {
    for (int64_t i = 0; i < targets.num_elements(); ++i) ++sums[size_t(targets.data<int32_t>()[i])];
  }
  std::string Format(std::string_view, double) const override { return ""; }
};

// A process of several ranks, from where the one before ended.
struct Leg {
  int ranks = 1;
  int64_t batch = 12;      // of each rank
  int64_t stop_at = -1;    // updates done; -1: never
  int64_t accumulate = 1;  // batches per update
  int64_t left = -1;       // samples of the epoch that the leg before left out; -1: any
  bool own_data = false;   // each rank has samples of its own, in all all of them
  int64_t steps_per_epoch = 0;
  uint64_t seed = 4;
};

// What a checkpoint holds.
struct Saved {
  std::string state;                        // empty: a new run
  std::vector<std::vector<double>> arrays;  // parameters and slots
};

struct Outcome {
  std::vector<double> losses;                 // of the epochs that ended
  std::vector<std::vector<double>> visits;    // of each, by sample
  std::vector<int64_t> steps, steps_of_pass;  // of every batch: of the run, as schedules see them
  Saved saved;
  int64_t updates = 0;
};

class Watcher : public Callback {
 public:
  Watcher(Trainer& trainer, int64_t stop_at, Outcome& outcome)
      : trainer_(trainer), stop_at_(stop_at), outcome_(outcome) {}
  absl::Status OnBatchBegin(const Pass& pass) override {
    outcome_.steps.push_back(pass.epoch * pass.steps + pass.step);
    outcome_.steps_of_pass.push_back(pass.steps);
    return absl::OkStatus();
  }
  absl::Status OnBatchEnd(const Pass& pass) override {
    EXPECT_EQ(pass.done == pass.samples, pass.step == pass.steps);
    if (trainer_.steps_done() == stop_at_) trainer_.Stop();
    return absl::OkStatus();
  }
  absl::Status OnEpochEnd(const Pass& training, const Pass*) override {
    const std::vector<double> sums = training.averages->ToDoubles();
    outcome_.losses.push_back(training.averages->Value(0));
    outcome_.visits.emplace_back(sums.begin() + 1, sums.end() - 1);
    return absl::OkStatus();
  }

 private:
  Trainer& trainer_;
  const int64_t stop_at_;
  Outcome& outcome_;
};

std::unique_ptr<Loader> LoaderOf(const Leg& leg, int rank) {
  std::vector<int64_t> indices(kSamples);
  std::iota(indices.begin(), indices.end(), 0);
  if (leg.own_data) {  // unequal parts
    const auto begin = [&](int64_t r) { return kSamples * r * r / leg.ranks / leg.ranks; };
    indices = {indices.begin() + begin(rank), indices.begin() + begin(rank + 1)};
  }
  return *Loader::Create(std::make_shared<CountingDataset>(kSamples), Split::kTrain, indices,
                         {.batch = leg.batch,
                          .rank = leg.own_data ? 0 : rank,
                          .ranks = leg.own_data ? 1 : leg.ranks,
                          .seed = leg.seed,
                          .steps_per_epoch = leg.steps_per_epoch,
                          .dtype = DType::kFloat64,
                          .normalization = {.offset = {-50}, .scale = {0.02}}});
}

std::vector<Tensor> Arrays(const ParameterStore& store) {
  std::vector<Tensor> arrays = {store.all_values()};
  arrays.insert(arrays.end(), store.slots().begin(), store.slots().end());
  return arrays;
}

absl::Status RunRank(const Leg& leg, Communicator* communicator, const Saved& from, Outcome& to) {
  SetNumThreads(1);
  GraphBuilder b("small", TensorFormat::kNHWC);
  b.Input({2, 3, 1}).Flatten().Fc(5).Tanh().Fc(kSamples).Softmax();
  const Graph graph = *b.Build();
  const auto device = *DeviceContext::Create(Device::Cpu());
  const auto store = *ParameterStore::Create(graph, *device, DType::kFloat64, 1);
  DTNN_ASSIGN_OR_RETURN(const auto trainer,
                        Trainer::Create(graph, *store, *device,
                                        {.metric_set = {std::make_shared<CategoricalCrossEntropy>(),
                                                        {std::make_shared<Visits>()}},
                                         .optimizer = std::make_shared<Sgd>(),
                                         .learning_rate = 0.1,
                                         .accumulate_steps = leg.accumulate,
                                         .communicator = communicator}));
  const std::unique_ptr<Loader> loader = LoaderOf(leg, communicator->rank());
  DTNN_RETURN_IF_ERROR(trainer->PrepareForTraining(loader->max_batch()));
  if (!from.state.empty()) {
    DTNN_ASSIGN_OR_RETURN(const CheckpointInfo info, DecodeCheckpointInfo(from.state, "leg"));
    DTNN_RETURN_IF_ERROR(trainer->Restore(info.training));
    const std::vector<Tensor> arrays = Arrays(*store);
    for (size_t i = 0; i < arrays.size(); ++i) {
      std::memcpy(arrays[i].raw_data(), from.arrays[i].data(), from.arrays[i].size() * 8);
    }
    store->MarkChanged();
  }
  Watcher watcher(*trainer, leg.stop_at, to);
  Callback* const callbacks[] = {&watcher};
  DTNN_RETURN_IF_ERROR(
      trainer->Train(*loader, nullptr, kEpochs - trainer->epochs_done(), callbacks));
  DTNN_ASSIGN_OR_RETURN(const TrainingState state, trainer->State());
  DTNN_ASSIGN_OR_RETURN(to.saved.state, EncodeCheckpointInfo({.training = state}));
  if (leg.left >= 0) {
    EXPECT_EQ(state.sampler.first, leg.left);
  }
  for (const Tensor& array : Arrays(*store)) to.saved.arrays.push_back(Values(array));
  to.updates = trainer->steps_done();
  return absl::OkStatus();
}

absl::Status RunLeg(const Leg& leg, Outcome& outcome) {
  const Saved from = std::exchange(outcome.saved, {});
  return RunRanks(leg.ranks, [&](Communicator& communicator) {
    Outcome other;
    return RunRank(leg, &communicator, from, communicator.rank() == 0 ? outcome : other);
  });
}

Outcome RunAll(const std::vector<Leg>& legs) {
  Outcome outcome;
  for (const Leg& leg : legs) {
    const absl::Status status = RunLeg(leg, outcome);
    EXPECT_TRUE(status.ok()) << status;
  }
  EXPECT_EQ(int64_t(outcome.losses.size()), kEpochs);
  for (const auto& visits : outcome.visits) EXPECT_THAT(visits, Each(1)) << "each sample once";
  return outcome;
}

void ExpectSameNumbers(const Outcome& a, const Outcome& b) {
  EXPECT_TRUE(Close(a.losses, b.losses, 1e-12));
  ASSERT_EQ(a.saved.arrays.size(), b.saved.arrays.size());
  for (size_t i = 0; i < a.saved.arrays.size(); ++i) {
    EXPECT_TRUE(Close(a.saved.arrays[i], b.saved.arrays[i], 1e-12)) << i;
  }
  EXPECT_EQ(a.updates, b.updates);
}

// 9 steps in an epoch, the last one of 5 samples.
TEST(TrainerOtherRanksTest, WithTheSameStepsTheNumbersAreThoseOfARunThatNeverStopped) {
  const Outcome whole = RunAll({{.ranks = 1, .batch = 12}});
  ASSERT_GT(std::abs(whole.losses[1] - whole.losses[0]), 0.01) << "parameters must matter";
  for (const int64_t stop : {1, 8, 9, 13}) {
    for (const auto& [from, to] :
         std::vector<std::pair<int, int>>{{2, 1}, {2, 3}, {1, 2}, {3, 4}}) {
      SCOPED_TRACE(::testing::Message() << from << " to " << to << " ranks at " << stop);
      const Outcome resumed = RunAll(
          {{.ranks = from, .batch = 12 / from, .stop_at = stop}, {.ranks = to, .batch = 12 / to}});
      ExpectSameNumbers(resumed, whole);
      EXPECT_EQ(resumed.steps, whole.steps) << "of schedules";
      EXPECT_EQ(resumed.steps_of_pass, whole.steps_of_pass);
    }
  }
  ExpectSameNumbers(RunAll({{.ranks = 2, .batch = 6, .stop_at = 11},
                            {.ranks = 3, .batch = 4, .stop_at = 12},
                            {.ranks = 1, .batch = 12, .stop_at = 20},
                            {.ranks = 4, .batch = 3}}),
                    whole);
}

TEST(TrainerOtherRanksTest, FewerRanksMayAccumulateInstead) {
  ExpectSameNumbers(RunAll({{.ranks = 2, .batch = 6, .stop_at = 12},
                            {.ranks = 1, .batch = 6, .stop_at = 14, .accumulate = 2},
                            {.ranks = 1, .batch = 4, .accumulate = 3}}),
                    RunAll({{.ranks = 1, .batch = 12}}));
}

// Steps of 10 samples, then of 12, of which none of a whole epoch begins where those end.
TEST(TrainerOtherRanksTest, OtherStepsGoOnBehindTheSamplesThatAreDone) {
  for (const int64_t stop : {1, 5, 9, 10, 12}) {  // of 10 per epoch
    const int64_t left = stop == 10 ? 0 : 10 * (stop % 10);
    const Leg begin = {.ranks = 2, .batch = 5, .stop_at = stop};
    // To the end of that epoch but one step, and then others again.
    std::vector<Outcome> outcomes;
    for (const int ranks : {1, 2, 3}) {
      SCOPED_TRACE(::testing::Message() << "on " << ranks << " ranks at " << stop);
      const Leg twice = {.ranks = ranks, .batch = 12 / ranks, .stop_at = stop + 1, .left = left};
      outcomes.push_back(RunAll({begin, twice, {.ranks = 4 - ranks, .batch = 7}}));
      outcomes.push_back(RunAll({begin, twice, {.ranks = ranks, .batch = 12 / ranks}}));
      outcomes.push_back(RunAll({begin, {.ranks = ranks, .batch = 12 / ranks}}));
      ExpectSameNumbers(outcomes.end()[-1], outcomes.end()[-2]);
      ExpectSameNumbers(outcomes.end()[-1], outcomes[2]);
    }
  }
}

TEST(TrainerOtherRanksTest, SchedulesCountAsIfAllStepsHadBeenThoseOfNow) {
  // 50 samples done of the second epoch; the other 51 make 5 steps of 12, of which an epoch has 9.
  const Outcome outcome =
      RunAll({{.ranks = 2, .batch = 5, .stop_at = 15}, {.ranks = 3, .batch = 4}});
  std::vector<int64_t> expected(15 + 5 + 9);
  std::iota(expected.begin(), expected.begin() + 15, 0);
  std::iota(expected.begin() + 15, expected.end(), 9 + 4);
  EXPECT_EQ(outcome.steps, expected);
  EXPECT_EQ(outcome.steps_of_pass.back(), 9);
}

TEST(TrainerOtherRanksTest, GivenStepsGoOnInStepsOfTheSameSize) {
  Outcome outcome;
  const Leg six = {.ranks = 2, .batch = 6, .stop_at = 3, .steps_per_epoch = 5};
  ASSERT_TRUE(RunLeg(six, outcome).ok());
  Outcome other = outcome;
  ASSERT_TRUE(RunLeg({.ranks = 3, .batch = 4, .steps_per_epoch = 5}, outcome).ok());
  for (const auto& visits : outcome.visits) {
    EXPECT_EQ(std::ranges::count(visits, 1), 60);
    EXPECT_EQ(std::ranges::count(visits, 0), kSamples - 60);
  }
  const absl::Status status = RunLeg({.ranks = 3, .batch = 6, .steps_per_epoch = 5}, other);
  EXPECT_THAT(std::string(status.message()), HasSubstr("use batches of 12 samples over all ranks"));
}

TEST(TrainerOtherRanksTest, DataOfRanksOfTheirOwnGoOnOnAsManyRanks) {
  const Leg own = {.ranks = 3, .batch = 4, .own_data = true};
  Leg begin = own;
  begin.stop_at = 17;  // of 14 in an epoch
  const Outcome whole = RunAll({own}), resumed = RunAll({begin, own});
  ExpectSameNumbers(resumed, whole);
  Outcome left;
  ASSERT_TRUE(RunLeg(begin, left).ok());
  for (const Leg& other : {Leg{.ranks = 2, .batch = 4, .own_data = true},
                           Leg{.ranks = 3, .batch = 5, .own_data = true}}) {
    Outcome refused = left;
    EXPECT_THAT(std::string(RunLeg(other, refused).message()),
                HasSubstr("end the epoch on 3 ranks with batches of 4, or resume from a checkpoint "
                          "of the end of an epoch"));
  }
  EXPECT_THAT(std::string(RunLeg({.ranks = 2, .batch = 4}, left).message()),
              HasSubstr("give each rank its own data again"));
}

TEST(TrainerOtherRanksTest, WhatCannotGoOnSaysWhatToDo) {
  Outcome left;
  // 100 of 101 samples are done.
  ASSERT_TRUE(RunLeg({.ranks = 1, .batch = 10, .stop_at = 10}, left).ok());
  Outcome few = left, one = left, seed = left;
  EXPECT_THAT(std::string(RunLeg({.ranks = 2, .batch = 12}, few).message()),
              HasSubstr("the rest of it, 1 sample, cannot be divided over more ranks than samples; "
                        "end the epoch on 1 rank, or resume"));
  EXPECT_TRUE(RunLeg({.ranks = 1, .batch = 12}, one).ok());
  const std::string message(RunLeg({.ranks = 2, .seed = 5}, seed).message());
  EXPECT_THAT(message, HasSubstr("epoch 1 was interrupted after 10 steps and cannot be continued: "
                                 "the seed was 4 and is now 5: "));
}

}  // namespace
}  // namespace dtnn
