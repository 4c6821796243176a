#include "models/observe/report/time_section.h"

#include <array>
#include <string>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace dtnn {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

// An activity of 3 s inside a training of 10 s.
std::array<double, 5> SecondsOf(Activity activity) {
  Profile profile(1);
  profile.Begin({.activity = Activity::kTraining});
  profile.Begin({.activity = activity});
  profile.End({.activity = activity, .begin = 0, .end = 3'000'000'000});
  profile.End({.activity = Activity::kTraining, .begin = 0, .end = 10'000'000'000});
  return SumActivities(profile).seconds;
}

TEST(ActivitySecondsTest, EachActivityBelongsToOneGroup) {
  using enum Activity;
  const std::vector<std::vector<Activity>> groups = {
      {kStep, kEvaluate, kForward, kBackward, kInference, kLoss, kUpdate},
      {kWaitForData, kReadData},
      {kExchange, kWaitForGradients, kBarrier, kBroadcast, kAllReduce, kAllGather, kReduceScatter,
       kAllToAll, kSend, kReceive},
      {kCheckpoint},
      {kValidation, kTest, kMemory, kEnergy}};
  size_t activities = 1;  // and the training itself
  for (size_t group = 0; group < groups.size(); ++group) {
    activities += groups[group].size();
    for (const Activity activity : groups[group]) {
      std::array<double, 5> expected = {0, 0, 0, 0, 7};
      expected[group] += 3;
      EXPECT_EQ(SecondsOf(activity), expected) << int(activity);
    }
  }
  EXPECT_EQ(activities, size_t(kActivities)) << "each has a group";
}

TEST(ActivitySecondsTest, AnEpochIsTheDifference) {
  const ActivitySeconds after = {{5, 1, 0, 2, 3}}, before = {{2, 3, 0, 1, 1.5}};
  EXPECT_THAT((after - before).seconds, ElementsAre(3, 0, 0, 1, 1.5));
  EXPECT_EQ(after.total(), 11);
}

ProfileReport ReportOf(int layers) {
  ProfileReport report;
  report.steps = 400;
  for (int i = 0; i < layers; ++i) {
    report.layers.push_back({.name = "layer_" + std::to_string(100 + i),
                             .forward = 4.0 + i,
                             .backward = 2,
                             .update = 1,
                             .share = 0.25,
                             .flops_per_second = 5e9,
                             .arena = 3e6,
                             .parameters = 1e6});
  }
  return report;
}

std::string Cell(const std::string& number) {
  return "<data value=\"" + number + "\">" + number + "</data>";
}

TEST(FormatTimesTest, SecondsHaveTheirShares) {
  const std::string text = FormatTimes({{6, 2, 1, 1, 0}}, {}, ReportOf(1));
  EXPECT_THAT(text, HasSubstr("all training"));
  EXPECT_THAT(text, Not(HasSubstr("last epoch"))) << "which is not known";
  const std::vector<std::pair<std::string, std::string>> rows = {
      {"6", "60.0 %"}, {"2", "20.0 %"}, {"1", "10.0 %"}, {"1", "10.0 %"}, {"0", "0.0 %"}};
  size_t at = text.find("Time by activity as a table");
  ASSERT_NE(at, text.npos);
  for (size_t i = 0; i < rows.size(); ++i) {
    for (const std::string& piece :
         {std::string(ActivitySeconds::kNames[i]), Cell(rows[i].first), rows[i].second}) {
      at = text.find(piece, at);
      ASSERT_NE(at, text.npos) << piece << " of row " << i;
      at += piece.size();
    }
  }
  EXPECT_THAT(FormatTimes({{6, 2, 1, 1, 0}}, {{1, 0, 0, 0, 0}}, ReportOf(1)),
              HasSubstr("last epoch"));
}

TEST(FormatTimesTest, LayersHaveMillisecondsOfAStep) {
  ProfileReport report = ReportOf(1);
  std::string text = FormatTimes({{6, 2, 1, 1, 0}}, {}, report);
  text = text.substr(text.find("Time by layer as a table"));
  // 4, 2 and 1 seconds in 400 steps; 25 %, 5 GFLOP/s, 4 MB.
  size_t at = 0;
  for (const std::string& piece : {std::string("layer_100"), Cell("10"), Cell("5"), Cell("2.5"),
                                   std::string("25.0 %"), Cell("5"), Cell("4")}) {
    at = text.find(piece, at);
    ASSERT_NE(at, text.npos) << piece;
    at += piece.size();
  }
  EXPECT_THAT(text, Not(HasSubstr("joules")));
  report.layers[0].joules = 42;
  report.layers[0].algorithms = "forward gemm";
  text = FormatTimes({{6, 2, 1, 1, 0}}, {}, report);
  EXPECT_THAT(text, HasSubstr("joules"));
  EXPECT_THAT(text, HasSubstr(Cell("42")));
  EXPECT_THAT(text, HasSubstr("forward gemm"));
  EXPECT_EQ(FormatTimes({{6, 2, 1, 1, 0}}, {}, ProfileReport()), "");
}

// All are in the table; the costliest 40 are drawn.
TEST(FormatTimesTest, TheCostliestLayersAreDrawn) {
  const std::string text = FormatTimes({{6, 2, 1, 1, 0}}, {}, ReportOf(43));
  const std::string picture = text.substr(0, text.find("Time by activity as a table"));
  const std::string table = text.substr(text.find("Time by layer as a table"));
  for (int i = 0; i < 43; ++i) {
    const std::string name = "layer_" + std::to_string(100 + i);
    EXPECT_THAT(table, HasSubstr(name));
    EXPECT_EQ(picture.find(name) != picture.npos, i >= 3) << name;
  }
}

}  // namespace
}  // namespace dtnn
