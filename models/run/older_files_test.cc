// Files of an earlier release (testdata/README.md) are read, and mean what they meant.

#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <vector>

#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "kernels/best_of/decisions.h"
#include "models/run/run.h"
#include "models/run/testing/run_fixture.h"
#include "models/serving/saved_model.h"
#include "tensor/files/array_file.h"
#include "tensor/must.h"

namespace dtnn {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::DoubleNear;
using ::testing::ElementsAre;
using ::testing::FloatNear;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pointwise;

const std::string kFiles = "models/run/testdata/";
constexpr double kRounding = 2e-5;  // of kernels for other machines

class OlderFilesTest : public RunFixture {
 protected:
  OlderFilesTest() {
    std::filesystem::copy_file(kFiles + "checkpoint-24.npz", In("checkpoint-24.npz"));
  }

  // As testdata/README.md says.
  RunOptions Trained() const {
    return {.network = {.name = "simplecnn", .format = "NHWC"},
            .training = {.batch = 8,
                         .epochs = 4,
                         .metrics = {{"categorical_accuracy"}},
                         .clip_norm = 2,
                         .label_smoothing = 0.125},
            .data = {.name = "synthetic",
                     .synthetic = {.train_samples = 80,
                                   .test_samples = 24,
                                   .input_shape = {1, 4, 4},
                                   .output_shape = {3},
                                   .pattern = "classes"},
                     .augment = {.transforms = "flip:0.5"},
                     .normalize = true},
            .optimizer = {.name = "adam", .learning_rate = 0.01, .beta1 = 0.9},
            .schedule = {.schedulers = {{"cosine"}}, .cosine = {.min_rate = 0.001}}};
  }
  RunOptions Resumed() const {
    RunOptions options = Trained();
    options.checkpoint = {.folder = folder_, .resume = Resume::kYes};
    return options;
  }

  std::unique_ptr<TrainingRun> Create(const RunOptions& options) {
    warnings_.clear();
    printed_.clear();
    return Begin(
        options,
        {.sinks = {.print = [this](std::string_view text) { printed_.append(text); },
                   .warn = [this](std::string_view line) { warnings_.emplace_back(line); }}});
  }

  std::vector<std::string> warnings_;
  std::string printed_;
};

std::string FileOf(const std::string& name) {
  std::ifstream in(kFiles + name);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

// The columns of the last row of a history.
std::vector<double> LastRow(const std::string& history) {
  std::vector<double> columns;
  const size_t row = history.rfind('\n', history.size() - 2) + 1;
  const std::vector<std::string> words = absl::StrSplit(history.substr(row), ',');
  for (const std::string& word : words) columns.push_back(std::stod(word));
  return columns;
}

std::map<std::string, double> ByName(const NamedMetrics& metrics) {
  return {metrics.begin(), metrics.end()};
}

TEST_F(OlderFilesTest, ARunContinuesFromACheckpointAsItWouldHaveThen) {
  const std::string history = FileOf("history.csv");
  std::ofstream(In("history.csv"))
      << history.substr(0, history.rfind('\n', history.size() - 2) + 1);
  RunOptions options = Resumed();
  options.output.history = In("history.csv");
  const auto run = Create(options);
  EXPECT_THAT(warnings_, IsEmpty());
  EXPECT_EQ(run->trainer().epochs_done(), 3);
  EXPECT_EQ(run->trainer().steps_done(), 24);
  EXPECT_NEAR(ByName(run->last_metrics())["val_categorical_cross_entropy"], 0.7472845837473869,
              kRounding);

  Must(run->Fit());
  EXPECT_EQ(run->trainer().epochs_done(), 4);
  EXPECT_THAT(LastRow(Read("history.csv")), Pointwise(DoubleNear(kRounding), LastRow(history)));

  // It ends with the parameters of the model that was saved then.
  const auto model =
      Create({.network = {.weights = kFiles + "model.safetensors"}, .data = Trained().data});
  EXPECT_THAT(Parameters(*run), Pointwise(FloatNear(float(kRounding)), Parameters(*model)));
}

// What a run was is in its checkpoint, under names that stay.
TEST_F(OlderFilesTest, ACheckpointIsComparedWithTheRunThatResumes) {
  struct Change {
    std::string says;
    void (*change)(RunOptions& options);
  };
  const Change changes[] = {
      {"the beta1 of the optimizer was 0.9 and is now 0.75",
       [](RunOptions& o) { o.optimizer.beta1 = 0.75; }},
      {"the RunOptions::training.clip_norm was 2 and is now 3",
       [](RunOptions& o) { o.training.clip_norm = 3; }},
      {"the RunOptions::training.label_smoothing was 0.125 and is now 0",
       [](RunOptions& o) { o.training.label_smoothing = 0; }},
      {"the checksum of the samples was ",
       [](RunOptions& o) { o.data.synthetic.pattern = "zeros"; }},
  };
  for (const auto& [says, change] : changes) {
    RunOptions options = Resumed();
    change(options);
    Create(options);
    EXPECT_THAT(warnings_, Contains(HasSubstr(says)));
  }
  RunOptions same = Resumed();
  same.training.batch = 16;  // of which it says nothing
  Create(same);
  EXPECT_THAT(warnings_, IsEmpty());
  RunOptions other = Resumed();
  other.optimizer = {.name = "sgd"};
  EXPECT_THAT(Message(TrainingRun::Create(other).status()),
              AllOf(HasSubstr("checkpoint-24.npz"), HasSubstr("adam"), HasSubstr("sgd")));
}

TEST_F(OlderFilesTest, AModelPredictsWhatItPredictedThen) {
  const std::string path = kFiles + "model.safetensors";
  RunOptions options = {.network = {.weights = path},
                        .training = {.metrics = {{"categorical_accuracy"}},
                                     .label_smoothing = 0.125,
                                     .evaluate_only = true},
                        .data = Trained().data};
  options.data.normalize = {};  // the file says how
  const auto run = Create(options);
  std::map<std::string, double> test = ByName(Must(run->Evaluate()).Values());
  EXPECT_NEAR(test["categorical_cross_entropy"], 0.687277, kRounding);
  EXPECT_NEAR(test["categorical_accuracy"], 100 * 13. / 24, 1e-9);

  const RunOptions then = Must(TrainingRun::OptionsOfModel(path));
  EXPECT_EQ(then.optimizer.name, "adam");
  EXPECT_EQ(then.optimizer.learning_rate, 0.01);
  EXPECT_EQ(then.training.loss, "categorical_cross_entropy");
  ArrayFileReader file = Must(ArrayFileReader::Open(path));
  const TrainingRecord record = Must(ReadModel(file)).description.training;
  EXPECT_EQ(record.dataset, "synthetic");
  EXPECT_EQ(record.epochs, 4);
  EXPECT_NEAR(ByName(record.metrics)["val_categorical_cross_entropy"], 0.7361790649592876, 1e-12);
}

// On the machine that they were made on: the test puts this one into the file.
TEST_F(OlderFilesTest, ChoicesOfBestOfAreUsed) {
  const std::string here = BestOfKey::Here("o", "d", "p").ToString().substr(5);
  const std::string text =
      absl::StrReplaceAll(FileOf("best_of.txt"), {{"/t2/AVX512@GenuineIntel-6-207", here}});
  std::ofstream(In("best_of.txt")) << text;

  RunOptions options = Trained();
  options.convolution = {.best_of = true, .best_of_file = In("best_of.txt")};
  const auto run = Create(options);
  EXPECT_THAT(printed_, HasSubstr("BestOf: 7 decisions, 0 by timing"));
  Must(run->trainer().PrepareForTraining(8));
  EXPECT_THAT(run->trainer().engine().TrainingAlgorithms(),
              ElementsAre("layer 1 (Conv2D): forward gemm, backward filter winograd",
                          "layer 2 (Conv2D): forward winograd, backward data gemm, backward filter "
                          "winograd"));
  EXPECT_EQ(Read("best_of.txt"), text);
}

}  // namespace
}  // namespace dtnn
