// An aggregator that tests the parameters of rounds on data of its own.

#include "apps/aggregator/test_data.h"

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "apps/aggregator/network.h"
#include "apps/aggregator/testing/federation_programs.h"
#include "apps/testing/process.h"
#include "apps/testing/texts.h"
#include "comm/ranks/job/exit_code.h"
#include "data/datasets/imagenet/imagenet.h"
#include "data/datasets/imagenet/imagenet_shard.h"
#include "data/testing/idx_files.h"
#include "data/testing/image_files.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "models/observe/report/testing/page_checker.h"
#include "models/parameters/parameter_store.h"
#include "models/serving/saved_model.h"
#include "models/zoo/zoo.h"

namespace dtnn {
namespace {

using ::testing::HasSubstr;
using testing::kClient;
using ::testing::Not;
using testing::Outcome;
using testing::Process;
using Flags = std::vector<std::string>;

// The samples that clients of the fixture have.
const Flags kData = {
    "--dataset=synthetic",         "--synthetic-pattern=classes", "--synthetic-input-shape=1,28,28",
    "--synthetic-output-shape=10", "--synthetic-test-samples=50", "--batch-size=16"};

Flags operator+(Flags all, const Flags& more) {
  all.insert(all.end(), more.begin(), more.end());
  return all;
}

class TestDataTest : public testing::FederationPrograms {
 protected:
  std::string File(const std::string& name) const { return folder_ + "/" + name; }
  // The column of a file, by its name.
  std::vector<std::string> Column(const std::string& file, const std::string& name) const {
    std::vector<std::string> column;
    size_t at = 0;
    for (const absl::string_view line :
         absl::StrSplit(testing::Contents(File(file)), '\n', absl::SkipEmpty())) {
      const std::vector<std::string> fields = absl::StrSplit(line, ',');
      if (column.empty()) {
        while (at < fields.size() && fields[at] != name) ++at;
      }
      column.push_back(at < fields.size() ? fields[at] : "none");
    }
    return column;
  }
};

// What others find who test the file of the last round; its column is empty after rounds without.
TEST_F(TestDataTest, TestsAreOfTheParametersOfTheRound) {
  const auto aggregator =
      Aggregator(kData + Flags{"--rounds=4", "--min-clients=2", "--encryption=masked",
                               "--test-every=3", "--history-file=" + File("h.csv"),
                               "--report=" + File("h.html"), "--save-model=" + File("all.npz")});
  // Tests of their own, by the same names, do not stand in for those.
  const Flags client = {"--encryption=masked", "--validation-split=0.2"};
  const auto one = Client(1, client), two = Client(2, client);
  const Outcome outcome = aggregator->Wait();
  ASSERT_EQ(outcome.exit_code, 0) << outcome.text;
  EXPECT_THAT(outcome.text, HasSubstr("**** Tests the parameters on 50 samples of its own\n"));
  EXPECT_EQ(testing::Count(outcome.text, ", val_categorical_accuracy "), 3) << outcome.text;
  const std::vector<std::string> column = Column("h.csv", "val_categorical_accuracy");
  ASSERT_EQ(column.size(), 5u);
  for (const size_t round : {1, 3, 4}) EXPECT_NE(column[round], "") << round;
  EXPECT_EQ(column[2], "");
  EXPECT_NE(column[1], column[4]) << "or nothing was learnt";
  const Outcome tested =
      Process(kClient, kData + Flags{"--model=simplecnn8", "--evaluate-only",
                                     "--weights-and-bias-filename=" + File("all.npz")})
          .Wait();
  const size_t at = tested.text.rfind("acc: ");
  ASSERT_NE(at, tested.text.npos) << tested.text;
  EXPECT_NEAR(std::stod(column[4]), std::stod(tested.text.substr(at + 5)), 0.006);
  EXPECT_THAT(testing::Contents(File("h.html")),
              HasSubstr("weighted with their samples, those of validation are of the average on "));
  for (const auto& client : {&one, &two}) EXPECT_EQ((*client)->Wait().exit_code, 0);

  // The page names the best round of each metric, which is not the last one for all of them.
  const testing::CheckedPage page = testing::CheckPage(testing::Contents(File("h.html")));
  const auto results = testing::NumbersOf(*page.root.All("table")[0]);
  const std::vector<std::pair<std::string, bool>> metrics = {
      {"categorical_cross_entropy", false},
      {"categorical_accuracy", true},
      {"val_categorical_cross_entropy", false},
      {"val_categorical_accuracy", true}};
  ASSERT_GE(results.size(), metrics.size());
  for (size_t i = 0; i < metrics.size(); ++i) {
    const auto& [name, larger_is_better] = metrics[i];
    double best = larger_is_better ? -1e9 : 1e9;
    for (const std::string& text : Column("h.csv", name)) {
      double value = best;
      if (!absl::SimpleAtod(text, &value)) continue;  // its name, or a round without
      best = larger_is_better ? std::max(best, value) : std::min(best, value);
    }
    EXPECT_EQ(results[i][2], best) << name;
    double there = 0;
    EXPECT_TRUE(absl::SimpleAtod(Column("h.csv", name)[size_t(results[i][3])], &there));
    EXPECT_EQ(there, best) << name;
  }
}

TEST_F(TestDataTest, WithoutDataThereAreNoTests) {
  const auto aggregator =
      Aggregator({"--rounds=1", "--min-clients=1", "--history-file=" + File("h.csv")});
  EXPECT_EQ(Client(1)->Wait().exit_code, 0);
  const Outcome outcome = aggregator->Wait();
  EXPECT_EQ(outcome.exit_code, 0) << outcome.text;
  EXPECT_THAT(outcome.text, Not(HasSubstr("of its own")));
  EXPECT_EQ(Column("h.csv", "val_categorical_accuracy")[0], "none");
}

// Before it waits for clients.
TEST_F(TestDataTest, WhatCannotBeTestedIsRefusedAtOnce) {
  const auto refused = [&](const Flags& flags, int exit_code) {
    const Outcome outcome = Aggregator(Flags{"--rounds=1"} + flags)->Wait();
    EXPECT_EQ(outcome.exit_code, exit_code) << outcome.text;
    EXPECT_THAT(outcome.text, Not(HasSubstr("waits for clients")));
    return outcome.text;
  };
  EXPECT_THAT(refused({"--dataset-path=" + File("none")}, kExitFailed), HasSubstr(File("none")));
  EXPECT_THAT(
      refused({"--test-every=1", "--encryption=tenseal"}, kExitUsage),
      HasSubstr("--test-every=1: not with --encryption=tenseal, with which only clients can "
                "read the model"));
  EXPECT_THAT(
      refused({"--test-every=2", "--local-parameters=*_FC_*"}, kExitUsage),
      HasSubstr("--test-every=2: not with --local-parameters=*_FC_*, with which there is no "
                "model of all clients"));
  EXPECT_THAT(refused(kData + Flags{"--test-every=1", "--num-classes=7"}, kExitFailed),
              HasSubstr("data set synthetic has 10 classes, the aggregator's network 7 outputs"));
  EXPECT_THAT(refused(kData + Flags{"--test-every=1", "--input-shape=1,14,14"}, kExitFailed),
              HasSubstr("the test data have samples of 28x28x1, the network takes 14x14x1"));
  const Outcome unnamed =
      OwnAggregator({"--model=simplecnn8", "--rounds=1", "--test-every=1"})->Wait();
  EXPECT_EQ(unnamed.exit_code, kExitUsage);
  EXPECT_THAT(unnamed.text, HasSubstr("--dataset: missing; name the data set of the test"));
}

// Training takes 224 or 227 pixels a side from ImageNet's .npz files, whatever it makes of them.
TEST(ReadTestDataTest, SamplesAreThoseOfTheSavedModelsTraining) {
  const std::string data = testing::NewFolder("aggregator_imagenet");
  ImagenetShard shard = *ImagenetShard::Create(2);
  for (int i = 0; i < 2; ++i) {
    const auto png = testing::EncodePng(40, 30, testing::SmoothPixels(40, 30, 3, i));
    ASSERT_TRUE(shard.Add(png, i + 1, "a").ok());
  }
  ASSERT_TRUE(shard.Write(data + "/train-0.npz", "a test").ok());
  ASSERT_TRUE(shard.Write(data + "/test-0.npz", "a test").ok());
  const auto host = *DeviceContext::Create(Device::Cpu());
  for (const bool whole : {false, true}) {
    SCOPED_TRACE(whole);
    const auto trained = *OpenImagenet({.train = data, .geometry = {.crop = 0.5}, .whole = whole});
    ASSERT_EQ(trained->sample().height, whole ? 113 : 112);
    SavedModel model = {
        .graph = *BuildModel("resnet20", {.sample = trained->sample(), .classes = 1000})};
    model.preprocessing = trained->preprocessing();
    model.description.loss = "categorical_cross_entropy";
    auto store = *ParameterStore::Create(model.graph, *host, model.dtype, /*seed=*/3);
    AggregatorFlags flags;
    flags.run.network.weights = data + "/model.safetensors";
    ASSERT_TRUE(SaveModel(flags.run.network.weights, model, *store, *host).ok());
    flags.run.data.name = "imagenet";
    flags.run.data.path = data;
    const auto network = MakeAveragedNetwork(flags);
    ASSERT_TRUE(network.ok()) << network.status();
    auto test = TestData::Read(flags.run, *network, *store, *host);
    ASSERT_TRUE(test.ok()) << test.status();
    EXPECT_EQ(test->samples(), 2);
    EXPECT_TRUE(test->Test().ok());
  }
}

}  // namespace
}  // namespace dtnn
