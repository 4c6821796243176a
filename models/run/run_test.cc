#include "models/run/run.h"

#include <algorithm>
#include <fstream>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "models/run/testing/run_fixture.h"
#include "models/serving/predictor.h"
#include "tensor/must.h"

namespace dtnn {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

using RunTest = RunFixture;

TEST_F(RunTest, LearnsSavesAndWritesWhatWasAskedFor) {
  RunOptions options = Short(8);
  options.output = {.model = In("m.safetensors"), .history = In("h.csv"), .report = In("r.html")};
  const auto run = Begin(options);
  const double before = Must(run->Evaluate())["categorical_cross_entropy"];
  Must(run->Fit());
  const double after = Must(run->Evaluate())["categorical_cross_entropy"];
  EXPECT_LT(after, before / 2);
  EXPECT_EQ(run->trainer().epochs_done(), 8);
  EXPECT_EQ(run->options().network.name, "small");
  EXPECT_TRUE(Predictor::Load(In("m.safetensors")).ok());
  const std::string history = Read("h.csv");
  EXPECT_EQ(std::ranges::count(history, '\n'), 9) << history;
  EXPECT_THAT(Read("r.html"), HasSubstr("small"));
}

TEST_F(RunTest, ContinuesWhereItsCheckpointEnds) {
  RunOptions options = Short(4);
  const auto whole = Begin(options);
  Must(whole->Fit());

  options.checkpoint.folder = In("c");
  options.checkpoint.resume = Resume::kIfThere;
  options.training.epochs = 2;
  Must(Begin(options)->Fit());
  options.training.epochs = 4;
  const auto resumed = Begin(options);
  EXPECT_EQ(resumed->trainer().epochs_done(), 2);
  Must(resumed->Fit());
  EXPECT_EQ(Parameters(*resumed), Parameters(*whole)) << "to the last bit";
}

TEST_F(RunTest, OneThatWasCancelledLeavesItsCheckpointsAndCanBeSaved) {
  struct StopSecond : Callback {
    absl::Status OnEpochEnd(const Pass& training, const Pass*) override {
      return training.epoch == 1 ? absl::CancelledError("enough") : absl::OkStatus();
    }
  };
  StopSecond stop;
  RunOptions options = Short(4);
  options.checkpoint.folder = In("c");
  options.checkpoint.resume = Resume::kIfThere;
  RunObjects objects = Objects();
  objects.callbacks = {&stop};
  const auto cancelled = Begin(options, objects);
  EXPECT_EQ(TrainingRun::Create(options, Objects()).status().code(),
            absl::StatusCode::kFailedPrecondition)
      << "while it trains, it holds them";
  EXPECT_EQ(cancelled->Fit().message(), "enough");
  const auto next = Begin(options);
  EXPECT_EQ(next->trainer().epochs_done(), 1);
  Must(cancelled->Save(In("m.safetensors")));
  EXPECT_TRUE(Predictor::Load(In("m.safetensors")).ok());
  Must(next->Fit());
  EXPECT_EQ(next->trainer().epochs_done(), 4);
}

// As where a peer is lost between the end of an epoch's steps and its line in the history.
TEST_F(RunTest, ContinuesFromTheEndOfAnEpochThatFailed) {
  struct FailSecond : Callback {
    absl::Status OnEpochEnd(const Pass& training, const Pass*) override {
      return fails && training.epoch == 1 ? absl::DataLossError("gone") : absl::OkStatus();
    }
    bool fails = true;
  };
  RunOptions options = Short(4);
  const auto whole = Begin(options);
  Must(whole->Fit());

  FailSecond fail;
  options.checkpoint.folder = In("c");
  options.checkpoint.resume = Resume::kIfThere;
  options.output.history = In("h.csv");
  RunObjects objects = Objects();
  objects.callbacks = {&fail};
  EXPECT_THAT(std::string(Begin(options, objects)->Fit().message()),
              HasSubstr("gone; RunOptions::checkpoint.resume continues from "));
  fail.fails = false;
  const auto resumed = Begin(options, objects);
  EXPECT_EQ(resumed->trainer().epochs_done(), 1);
  Must(resumed->Fit());
  EXPECT_EQ(Parameters(*resumed), Parameters(*whole)) << "to the last bit";
  EXPECT_EQ(std::ranges::count(Read("h.csv"), '\n'), 5);
}

TEST_F(RunTest, EarlyStoppingEndsItAndCallbacksSeeEveryEpoch) {
  struct Epochs : Callback {
    absl::Status OnEpochEnd(const Pass&, const Pass*) override {
      ++count;
      return absl::OkStatus();
    }
    int count = 0;
  };
  Epochs epochs;
  RunOptions options = Short(100);
  options.optimizer.learning_rate = 1e-30;  // the first epoch is the best
  options.schedule = {.schedulers = {"early_stopping"}, .early_stopping = {.patience = 2}};
  RunObjects objects = Objects();
  objects.callbacks = {&epochs};
  Must(Begin(options, objects)->Fit());
  EXPECT_LT(epochs.count, 6);
  EXPECT_GE(epochs.count, 2);
}

TEST_F(RunTest, ResultsOfATestAfterTrainingAreKept) {
  RunOptions options = Short(1);
  options.output.model = In("m.safetensors");
  const auto run = Begin(options);
  Must(run->Fit());
  const double loss = Must(run->Evaluate())["categorical_cross_entropy"];
  const NamedMetrics saved =
      Must(Predictor::Load(In("m.safetensors")))->model().description.training.metrics;
  const auto found =
      std::ranges::find(saved, "test_categorical_cross_entropy", &NamedMetrics::value_type::first);
  ASSERT_NE(found, saved.end());
  EXPECT_DOUBLE_EQ(found->second, loss);
}

TEST_F(RunTest, ARunThatHasEndedDoesNothingMore) {
  const auto run = Begin(Short(1));
  Must(run->Fit());
  EXPECT_THAT(std::string(run->Fit().message()), HasSubstr("has trained all its epochs"));
  EXPECT_TRUE(run->Evaluate().ok());
  run->End();
  EXPECT_THAT(std::string(run->Evaluate().status().message()), HasSubstr("has ended"));
  EXPECT_THAT(std::string(run->Execute().message()), HasSubstr("has ended"));
  EXPECT_THAT(std::string(run->Save("never.safetensors").message()), HasSubstr("has ended"));
}

TEST_F(RunTest, WhatIsLeftIsTrained) {
  const auto run = Begin(Short(3));
  Must(run->Fit(1));
  EXPECT_EQ(run->trainer().epochs_done(), 1);
  Must(run->Fit());
  EXPECT_EQ(run->trainer().epochs_done(), 3);
  EXPECT_THAT(std::string(run->Fit().message()), HasSubstr("has trained all its epochs"));
}

TEST_F(RunTest, SchedulersWatchTheLossOfTheRun) {
  RunOptions options = Short(1);
  options.schedule = {};
  options.training.loss = "mse";
  const auto run = Begin(options);
  EXPECT_EQ(run->options().schedule.early_stopping.metric, "val_mse");
}

TEST_F(RunTest, SaysWhatItDoesWhereItIsTold) {
  std::string printed;
  std::vector<std::string> warnings;
  RunOptions options = Short(1);
  options.training.batch = 1000;
  RunObjects objects = Objects();
  objects.sinks = {.print = [&](std::string_view text) { printed += text; },
                   .warn = [&](std::string_view line) { warnings.emplace_back(line); }};
  Must(Begin(options, objects)->Execute());
  EXPECT_THAT(printed, AllOf(HasSubstr("**** small model...\n"), HasSubstr("**** Training...\n"),
                             Not(HasSubstr(" --"))));
  ASSERT_EQ(warnings.size(), 1);
  EXPECT_THAT(warnings[0], HasSubstr("RunOptions::training.batch=1000: is more than"));
}

TEST_F(RunTest, ClassWeightsChangeWhatIsLearntButNotWhatIsMeasured) {
  const auto run_with = [&](const std::string& weights, int64_t epochs) {
    RunOptions options = Short(epochs);
    options.training.class_weights = weights;
    auto run = Begin(options);
    Must(run->Fit());
    return run;
  };
  // A class of weight 0 is not learnt; before training there is no difference.
  const auto without = run_with("", 8), first_only = run_with("1,0,0", 8);
  EXPECT_GT(Must(without->Evaluate())["categorical_accuracy"], 80);
  EXPECT_LT(Must(first_only->Evaluate())["categorical_accuracy"], 60);
  EXPECT_EQ(Must(run_with("1,0,0", 0)->Evaluate()).Values(),
            Must(run_with("", 0)->Evaluate()).Values());
  std::ofstream(In("weights.txt")) << "1\n0\n0\n";
  const auto of_file = run_with(In("weights.txt"), 8);
  EXPECT_EQ(Parameters(*of_file), Parameters(*first_only));
  EXPECT_EQ(of_file->options().training.class_weights, "1,0,0") << "what a checkpoint compares";
  std::ofstream(In("weights.txt")) << "0.12345678\n1\n2\n";
  EXPECT_EQ(run_with(In("weights.txt"), 1)->options().training.class_weights, "0.12345678,1,2");
  RunOptions options = Short(1);
  options.training.class_weights = "1,2";
  EXPECT_THAT(Message(TrainingRun::Create(options, Objects()).status()),
              HasSubstr("RunOptions::training.class_weights"));
}

TEST_F(RunTest, ANetworkOfTheZooFitsTheData) {
  const auto data = Patterns(/*side=*/32, /*channels=*/3);
  RunOptions options = Short(1);
  options.training.steps_per_epoch = 1;
  const auto run = Begin(options, {.network = Network::Zoo("simplecnn8", *data), .dataset = data});
  EXPECT_EQ(run->graph().output_shape()[0], 3);
  Must(run->Fit());
  EXPECT_THAT(
      Message(TrainingRun::Create(
                  options, {.network = Network::Zoo("simplecnn8", *data).Relu(), .dataset = data})
                  .status()),
      HasSubstr("simplecnn8"));
}

TEST_F(RunTest, NeedsAreKnownWithoutARun) {
  const RunOptions options = Short(1);
  const RunNeeds needs = Must(TrainingRun::Needs(options, Objects()));
  const auto run = Begin(options);
  EXPECT_EQ(needs.graph.num_parameters(), run->graph().num_parameters());
  EXPECT_EQ(needs.batch, 20);
  Must(run->trainer().PrepareForTraining(20));
  ASSERT_TRUE(needs.memory.training);
  EXPECT_EQ(needs.memory.training->total(), run->trainer().engine().training_memory()->total());
  EXPECT_THAT(Describe(needs), AllOf(HasSubstr("**** small model..."),
                                     HasSubstr("**** Memory for training on batches of 20")));
  // On several ranks, by names, for tests alone.
  RunOptions named = {.network = {.name = "simplemlp"},
                      .training = {.global_batch = 32, .evaluate_only = true},
                      .ranks = {.parallel = Parallel::kData}};
  const RunNeeds tests = Must(TrainingRun::Needs(named, {}, 4));
  EXPECT_EQ(tests.batch, 8);
  EXPECT_FALSE(tests.memory.training);
  EXPECT_THAT(Describe(tests), HasSubstr("**** 4 ranks, 8 samples per rank and step, 32 in all"));
  EXPECT_EQ(tests.warnings.size(), 1u) << "random weights";
  named.optimizer.beta1 = 0.5;
  EXPECT_THAT(Message(TrainingRun::Needs(named).status()),
              HasSubstr("RunOptions::optimizer.beta1=0.5: optimizer sgd has no"));
  named.optimizer = {};
  EXPECT_THAT(Message(TrainingRun::Needs(named).status()),
              HasSubstr("RunOptions::ranks.parallel=data: needs ranks"));
  named.sync.min_available = 3;
  EXPECT_THAT(Message(TrainingRun::Needs(named, {}, 2).status()),
              HasSubstr("RunOptions::sync.min_available=3: must be at most"));
  named.sync = {};
  named.ranks = {};
  EXPECT_THAT(Message(TrainingRun::Needs(named, {}, 2).status()),
              HasSubstr("RunOptions::ranks.parallel=sequential: 2 ranks share"));
  named.network.name = "";
  EXPECT_THAT(Message(TrainingRun::Needs(named).status()),
              HasSubstr("RunOptions::network.name: missing"));
}

TEST_F(RunTest, WhatIsHardlyMeantIsAWarning) {
  RunOptions options = Short(1);
  options.data.share = 5;
  std::vector<std::string> warnings;
  RunObjects objects = Objects();
  objects.sinks.warn = [&](std::string_view line) { warnings.emplace_back(line); };
  Begin(options, objects);
  EXPECT_THAT(warnings, ElementsAre(HasSubstr("RunOptions::data.share=5: is a share")));
}

TEST_F(RunTest, MistakesNameTheMember) {
  const auto error = [&](const auto& edit) {
    RunOptions options = Short(1);
    RunObjects objects = Objects();
    edit(options, objects);
    return Message(TrainingRun::Create(options, objects).status());
  };
  EXPECT_THAT(error([](auto&, auto& objects) { objects.dataset = nullptr; }),
              HasSubstr("RunOptions::data.name: missing"));
  EXPECT_THAT(error([](auto&, auto& objects) { objects.network.reset(); }),
              HasSubstr("RunOptions::network.name: missing"));
  EXPECT_THAT(error([](auto& o, auto&) { o.ranks.parallel = Parallel::kData; }),
              HasSubstr("RunOptions::ranks.parallel=data: needs ranks, and this process was "
                        "started alone"));
  EXPECT_THAT(
      error([](auto& o, auto&) { o.ranks = {.parallel = Parallel::kData, .elastic = "1:2"}; }),
      HasSubstr("RunOptions::ranks.elastic=1:2: ranks of a Run stay"));
  EXPECT_THAT(error([](auto& o, auto&) { o.schedule.cosine.min_rate = 0.5; }),
              HasSubstr("RunOptions::schedule.cosine.min_rate=0.5: the run has no scheduler"));
  EXPECT_THAT(error([](auto& o, auto&) { o.training.epochs = -1; }),
              HasSubstr("RunOptions::training.epochs=-1: "));
  EXPECT_THAT(error([](auto& o, auto&) { o.network.dtype = DType::kFloat16; }),
              HasSubstr("RunOptions::network.dtype=float16: "));
  EXPECT_THAT(error([](auto& o, auto&) { o.network.format = "HWC"; }),
              HasSubstr("RunOptions::network.format=HWC: "));
  EXPECT_THAT(error([](auto& o, auto&) { o.checkpoint.resume = Resume::kYes; }),
              HasSubstr("RunOptions::checkpoint.resume: needs RunOptions::checkpoint.folder"));
  EXPECT_THAT(error([](auto& o, auto&) { o.optimizer.name = "lion"; }),
              AllOf(HasSubstr("RunOptions::optimizer.name"), HasSubstr("adamw")));
  EXPECT_THAT(error([](auto& o, auto&) { o.training.metrics = {"f2"}; }),
              AllOf(HasSubstr("RunOptions::training.metrics"), HasSubstr("f1_score")));
  EXPECT_THAT(error([](auto& o, auto&) { o.training.loss = "hinge"; }),
              AllOf(HasSubstr("RunOptions::training.loss"), HasSubstr("hinge"), HasSubstr("mse")));
  EXPECT_THAT(error([this](auto&, auto& objects) {
                objects.network = Network("n").Input(*data_).Conv2d(4, {.kernel = 9});
              }),
              HasSubstr("Conv2D"));
  EXPECT_THAT(error([](auto& o, auto&) { o.data.validation_split = 1; }), HasSubstr("validation"));
  EXPECT_THAT(error([](auto&, auto& objects) { objects.dataset = Patterns(/*side=*/7); }),
              AllOf(HasSubstr("6x6x1"), HasSubstr("7x7x1")));
}

}  // namespace
}  // namespace dtnn
