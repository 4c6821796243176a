#include "apps/printing/log_callback.h"

#include <ostream>
#include <sstream>
#include <string>
#include <vector>

#include "apps/testing/two_samples.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"

namespace dtnn {
namespace {

using nlohmann::json;

class LogCallbackTest : public ::testing::Test {
 protected:
  Pass PassOf(Pass::Kind kind, int64_t epoch, int64_t epochs) const {
    Pass pass;
    pass.kind = kind;
    pass.epoch = epoch;
    pass.epochs = epochs;
    pass.samples = pass.done = 2;
    pass.averages = &averages_;
    return pass;
  }
  std::vector<json> Objects() const {
    std::vector<json> objects;
    std::istringstream text(written_.str());
    for (std::string line; std::getline(text, line);) objects.push_back(json::parse(line));
    return objects;
  }

  const MetricAverages averages_ = testing::TwoSamples({"categorical_accuracy"});
  std::stringbuf written_;
  JsonLines lines_{written_, {.program = "benchmark"}, Severity::kInfo};
  std::ostream out_{&lines_};
  LogCallback log_{true, out_};
};

TEST_F(LogCallbackTest, AnEpochIsAnObjectWithItsNumbers) {
  const Pass training = PassOf(Pass::Kind::kTraining, 1, 5);
  const Pass validation = PassOf(Pass::Kind::kValidation, 1, 5);
  ASSERT_TRUE(log_.OnPassBegin(training).ok());
  ASSERT_TRUE(log_.OnPassEnd(training).ok());
  ASSERT_TRUE(log_.OnEpochEnd(training, &validation).ok());
  const json object = Objects().at(0);
  EXPECT_EQ(object["message"], "Epoch 2/5");
  EXPECT_EQ(object["epoch"], 2);
  EXPECT_EQ(object["epochs"], 5);
  EXPECT_EQ(object["samples"], 2);
  EXPECT_GE(object["seconds"], 0);
  EXPECT_EQ(object["loss"], 0.75);
  EXPECT_EQ(object["metrics"]["categorical_accuracy"], 50);
  EXPECT_EQ(object["metrics"]["val_categorical_cross_entropy"], 0.75);
  EXPECT_FALSE(object.contains("round"));
}

TEST_F(LogCallbackTest, AClientCountsEpochsWithinItsRound) {
  ASSERT_TRUE(log_.OnRoundBegin(3, 10, 4).ok());
  ASSERT_TRUE(log_.OnEpochEnd(PassOf(Pass::Kind::kTraining, 5, 6), nullptr).ok());
  const json object = Objects().at(0);
  EXPECT_EQ(object["round"], 3);
  EXPECT_EQ(object["epoch"], 2);
  EXPECT_EQ(object["epochs"], 2);
}

TEST_F(LogCallbackTest, TestsAreLoggedWhereEpochsAreNot) {
  LogCallback quiet(false, out_);
  ASSERT_TRUE(quiet.OnEpochEnd(PassOf(Pass::Kind::kTraining, 0, 1), nullptr).ok());
  const Pass test = PassOf(Pass::Kind::kTest, 0, 0);
  ASSERT_TRUE(quiet.OnPassBegin(test).ok());
  ASSERT_TRUE(quiet.OnPassEnd(test).ok());
  ASSERT_EQ(Objects().size(), 1);
  EXPECT_EQ(Objects()[0]["metrics"]["test_categorical_accuracy"], 50);
}

}  // namespace
}  // namespace dtnn
