#include "models/run/run.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_join.h"
#include "comm/local.h"
#include "data/loading/open_dataset.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "models/serving/predictor.h"
#include "optim/losses/losses.h"
#include "optim/optimizers/adam.h"
#include "tensor/must.h"

namespace dtnn {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

std::shared_ptr<const Dataset> Patterns(int64_t side = 6) {
  return Must(OpenDataset("synthetic",
                          {.synthetic = {.train_samples = 120,
                                         .test_samples = 40,
                                         .sample = {.height = side, .width = side, .channels = 1},
                                         .classes = 3,
                                         .pattern = SyntheticPattern::kClasses,
                                         .seed = 3}}));
}

Network Small(const Dataset& data) {
  Network net("small");
  return net.Input(data).Conv2d(4, {.padding = 1}).Relu().Flatten().Fc(data.outputs()).Softmax();
}

using TrainingRun = Run;  // fixtures have a Run of their own

// Without schedulers that could end it.
RunOptions Short(int64_t epochs) {
  return {.training = {.batch = 20, .epochs = epochs, .evaluate = true},
          .optimizer = {.name = "adam", .learning_rate = 0.01},
          .schedule = {.schedulers = {}}};
}

class RunTest : public ::testing::Test {
 protected:
  RunTest() {
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directories(folder_);
  }
  RunObjects Objects() const { return {.network = Small(*data_), .dataset = data_}; }
  std::string In(const std::string& name) const { return folder_ + "/" + name; }
  std::string Read(const std::string& name) const {
    std::ifstream in(In(name));
    return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
  }
  std::vector<float> Parameters(TrainingRun& run) const {
    const Tensor& all = run.store().all_values();
    return {all.data<float>(), all.data<float>() + all.num_elements()};
  }

  const std::string folder_ = ::testing::TempDir() + "run_test";
  const std::shared_ptr<const Dataset> data_ = Patterns();
};

TEST_F(RunTest, LearnsSavesAndWritesWhatWasAskedFor) {
  RunOptions options = Short(8);
  options.output = {.model = In("m.safetensors"), .history = In("h.csv"), .report = In("r.html")};
  const auto run = Must(TrainingRun::Create(options, Objects()));
  const double before = Must(run->Evaluate()).Values()[0].second;
  Must(run->Fit());
  const double after = Must(run->Evaluate()).Values()[0].second;
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
  const auto whole = Must(TrainingRun::Create(options, Objects()));
  Must(whole->Fit());

  options.checkpoint.folder = In("c");
  options.checkpoint.resume = "if-there";
  options.training.epochs = 2;
  Must(Must(TrainingRun::Create(options, Objects()))->Fit());
  options.training.epochs = 4;
  const auto resumed = Must(TrainingRun::Create(options, Objects()));
  EXPECT_EQ(resumed->trainer().epochs_done(), 2);
  Must(resumed->Fit());
  EXPECT_EQ(Parameters(*resumed), Parameters(*whole)) << "to the last bit";
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
  Must(Must(TrainingRun::Create(options, objects))->Fit());
  EXPECT_LT(epochs.count, 6);
  EXPECT_GE(epochs.count, 2);
}

TEST_F(RunTest, ObjectsOfAProgramReplaceNames) {
  RunOptions options = Short(1);
  RunObjects objects = Objects();
  objects.loss = Must(MakeLoss("mse"));
  objects.optimizer = std::make_shared<Adam>();
  options.optimizer.name = "none of ours";
  options.output.model = In("m.safetensors");
  const auto run = Must(TrainingRun::Create(options, objects));
  EXPECT_EQ(run->options().training.loss, "mse");
  EXPECT_EQ(run->options().optimizer.name, "adam");
  Must(run->Fit());
  EXPECT_EQ(Must(Predictor::Load(In("m.safetensors")))->model().description.loss, "mse");
}

TEST_F(RunTest, SchedulersWatchALossObject) {
  RunOptions options = Short(1);
  options.schedule = {};
  RunObjects objects = Objects();
  objects.loss = Must(MakeLoss("mae"));
  const auto run = Must(TrainingRun::Create(options, objects));
  EXPECT_EQ(run->options().schedule.early_stopping.metric, "val_mae");
  options.training.class_weights = "balanced";
  EXPECT_THAT(std::string(TrainingRun::Create(options, objects).status().message()),
              HasSubstr("RunOptions::training.class_weights"));
}

TEST_F(RunTest, ResultsOfATestAfterTrainingAreKept) {
  RunOptions options = Short(1);
  options.output.model = In("m.safetensors");
  const auto run = Must(TrainingRun::Create(options, Objects()));
  Must(run->Fit());
  const double loss = Must(run->Evaluate()).Values()[0].second;
  const NamedMetrics saved =
      Must(Predictor::Load(In("m.safetensors")))->model().description.training.metrics;
  const auto found =
      std::ranges::find(saved, "test_categorical_cross_entropy", &NamedMetrics::value_type::first);
  ASSERT_NE(found, saved.end());
  EXPECT_DOUBLE_EQ(found->second, loss);
}

TEST_F(RunTest, ARunThatHasEndedDoesNothingMore) {
  const auto run = Must(TrainingRun::Create(Short(1), Objects()));
  Must(run->Fit());
  EXPECT_THAT(std::string(run->Fit().message()), HasSubstr("has trained all its epochs"));
  EXPECT_TRUE(run->Evaluate().ok());
  run->End();
  EXPECT_THAT(std::string(run->Evaluate().status().message()), HasSubstr("has ended"));
  EXPECT_THAT(std::string(run->Execute().message()), HasSubstr("has ended"));
}

TEST_F(RunTest, ANetworkHasAllLayersOfABuilder) {
  const auto names = [](const auto& write) {
    Network net("n");
    write(net.Input({.height = 4, .width = 4, .channels = 1}));
    std::vector<std::string> types;
    const Graph graph = Must(net.Build(TensorFormat::kNHWC, *Must(MakeLoss("mse"))));
    for (const Node& node : graph.nodes()) types.emplace_back(node.layer->type_name());
    return absl::StrJoin(types, " ");
  };
  EXPECT_EQ(
      names([](Network& n) { n.Relu6().LeakyRelu().Arctanh().Log().Relu().Sigmoid().Tanh(); }),
      "Input Relu6 LeakyRelu Arctanh Log Relu Sigmoid Tanh");
  EXPECT_EQ(names([](Network& n) {
              n.Conv2d(2).MaxPool2d().AveragePool2d({.window = 1}).BatchNorm().Dropout(0.5);
              n.AdaptiveAveragePool2d(1).Flatten().Fc(3).Softmax();
            }),
            "Input Conv2D MaxPool2D AveragePool2D BatchNormalization Dropout AdaptiveAveragePool2D "
            "Flatten FC Softmax");
}

TEST_F(RunTest, SchedulersWatchTheLossOfTheRun) {
  RunOptions options = Short(1);
  options.schedule = {};
  options.training.loss = "mse";
  const auto run = Must(TrainingRun::Create(options, Objects()));
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
  Must(Must(TrainingRun::Create(options, objects))->Execute());
  EXPECT_THAT(printed, AllOf(HasSubstr("**** small model...\n"), HasSubstr("**** Training...\n"),
                             Not(HasSubstr(" --"))));
  ASSERT_EQ(warnings.size(), 1);
  EXPECT_THAT(warnings[0], HasSubstr("RunOptions::training.batch=1000: is more than"));
}

TEST_F(RunTest, RanksTrainOneModel) {
  std::vector<float> parameters[2];
  const absl::Status status = RunRanks(2, [&](Communicator& communicator) {
    RunObjects objects = Objects();
    objects.communicator = &communicator;
    RunOptions options = Short(2);
    options.ranks.parallel = "data";
    options.output.history = In("ranks.csv");
    const auto run = TrainingRun::Create(options, objects);
    if (!run.ok()) return run.status();
    absl::Status status = (*run)->Fit();
    const int rank = communicator.rank();
    parameters[size_t(rank)] = Parameters(**run);
    if (status.ok()) status = (*run)->Save(In(rank == 0 ? "rank0.npz" : "rank1.npz"));
    return status;
  });
  ASSERT_TRUE(status.ok()) << status;
  EXPECT_EQ(parameters[0], parameters[1]);
  EXPECT_FALSE(parameters[0].empty());
  EXPECT_EQ(std::ranges::count(Read("ranks.csv"), '\n'), 3) << "rank 0 writes for both";
  EXPECT_TRUE(std::filesystem::exists(In("rank0.npz")));
  EXPECT_FALSE(std::filesystem::exists(In("rank1.npz")));
}

TEST_F(RunTest, ACommunicatorOfSeveralRanksNeedsDataParallelism) {
  EXPECT_FALSE(RunRanks(2, [&](Communicator& communicator) {
                 RunObjects objects = Objects();
                 objects.communicator = &communicator;
                 const absl::Status status = TrainingRun::Create(Short(1), objects).status();
                 EXPECT_FALSE(status.ok());
                 if (communicator.rank() == 0) {
                   EXPECT_THAT(std::string(status.message()),
                               HasSubstr("RunOptions::ranks.parallel=sequential: 2 ranks"));
                 }
                 return status;
               }).ok());
}

TEST_F(RunTest, MistakesNameTheMember) {
  const auto error = [&](const auto& edit) {
    RunOptions options = Short(1);
    RunObjects objects = Objects();
    edit(options, objects);
    return std::string(TrainingRun::Create(options, objects).status().message());
  };
  EXPECT_THAT(error([](auto&, auto& objects) { objects.dataset = nullptr; }),
              HasSubstr("RunOptions::data.name: missing"));
  EXPECT_THAT(error([](auto&, auto& objects) { objects.network.reset(); }),
              HasSubstr("RunOptions::network.name: missing"));
  EXPECT_THAT(error([](auto& o, auto&) { o.training.epochs = -1; }),
              HasSubstr("RunOptions::training.epochs=-1: "));
  EXPECT_THAT(error([](auto& o, auto&) { o.network.dtype = "float16"; }),
              HasSubstr("RunOptions::network.dtype=float16: "));
  EXPECT_THAT(error([](auto& o, auto&) { o.network.format = "HWC"; }),
              HasSubstr("RunOptions::network.format=HWC: "));
  EXPECT_THAT(error([](auto& o, auto&) { o.checkpoint.resume = "yes"; }),
              HasSubstr("RunOptions::checkpoint.resume=yes: "));
  EXPECT_THAT(error([](auto& o, auto&) { o.checkpoint.resume = "True"; }),
              HasSubstr("RunOptions::checkpoint.resume: needs RunOptions::checkpoint.folder"));
  EXPECT_THAT(error([](auto& o, auto&) { o.optimizer.name = "lion"; }),
              AllOf(HasSubstr("RunOptions::optimizer.name"), HasSubstr("adamw")));
  EXPECT_THAT(error([](auto& o, auto&) { o.training.metrics = {"f2"}; }),
              AllOf(HasSubstr("RunOptions::training.metrics"), HasSubstr("f1_score")));
  EXPECT_THAT(error([](auto& o, auto&) { o.device.math_mode = "fp7"; }),
              HasSubstr("RunOptions::device.math_mode=fp7"));
  EXPECT_THAT(error([](auto& o, auto&) { o.data.validation_split = 1; }), HasSubstr("validation"));
  EXPECT_THAT(error([](auto&, auto& objects) { objects.dataset = Patterns(/*side=*/7); }),
              AllOf(HasSubstr("6x6x1"), HasSubstr("7x7x1")));
}

TEST_F(RunTest, StepsThatTheRunDoesNotHaveAreRefused) {
  RunOptions options = Short(1);
  options.training.evaluate = false;
  EXPECT_THAT(
      std::string(Must(TrainingRun::Create(options, Objects()))->Evaluate().status().message()),
      HasSubstr("RunOptions::training.evaluate"));
  options.training.evaluate_only = true;
  EXPECT_THAT(std::string(Must(TrainingRun::Create(options, Objects()))->Fit().message()),
              HasSubstr("RunOptions::training.evaluate_only"));
}

}  // namespace
}  // namespace dtnn
