#include "models/observe/report/comparison.h"

#include <cmath>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "models/observe/report/metric_title.h"
#include "models/observe/report/read_history.h"
#include "models/observe/report/testing/page_checker.h"

namespace dtnn {
namespace {

using ::dtnn::testing::CheckedPage;
using ::dtnn::testing::CheckPage;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;
using ::testing::StartsWith;

std::vector<ReportEpoch> Parsed(std::string_view text, HistoryForm form) {
  auto run = ParseHistory(text, form, "run");
  EXPECT_TRUE(run.ok()) << run.status();
  return run.ok() ? run->epochs : std::vector<ReportEpoch>();
}

TEST(ReadHistoryTest, BothFormatsHoldTheSame) {
  const auto csv =
      Parsed("epoch,learning_rate,mse,val_mse\n3,0.1,0.30000000000000004,nan\n4,0.05,inf,2\n",
             HistoryForm::kCsv);
  const auto json = Parsed(
      "{\"epoch\": 3, \"learning_rate\": 0.1, \"mse\": 0.30000000000000004, \"val_mse\": null}\n"
      "{\"epoch\": 4, \"learning_rate\": 0.05, \"mse\": null, \"val_mse\": 2}\n",
      HistoryForm::kJsonLines);
  for (const auto& epochs : {csv, json}) {
    ASSERT_EQ(epochs.size(), 2u);
    EXPECT_EQ(epochs[0].epoch, 3);
    EXPECT_EQ(epochs[0].learning_rate, 0.1);
    EXPECT_THAT(epochs[0].metrics[0], Pair("mse", 0.30000000000000004));
    EXPECT_TRUE(std::isnan(MetricOf(epochs[0], "val_mse")));
    EXPECT_EQ(MetricOf(epochs[1], "val_mse"), 2);
    EXPECT_FALSE(std::isfinite(MetricOf(epochs[1], "mse")));
  }
}

TEST(ReadHistoryTest, WhatIsNoHistoryIsAnErrorWithItsLine) {
  const std::pair<const char*, const char*> tables[] = {
      {"", "run: holds no epochs"},
      {"epoch,mse\n", "run: holds no epochs"},
      {"a,b\n1,2\n", "run, line 1: the first column is not \"epoch\""},
      {"epoch,mse\n1\n", "run, line 2: 1 values for 2 names"},
      {"epoch,mse\n1,2,3\n", "run, line 2: 3 values for 2 names"},
      {"epoch,mse\n1,x\n", "run, line 2: a value is not a number"},
      {"epoch,mse\n0,1\n", "run, line 2: the epoch is not a number"},
      {"epoch,mse\nnan,1\n", "run, line 2: the epoch is not a number"},
      {"epoch,mse\n2,1\n2,1\n", "run, line 3: an epoch that is not after"},
      {"epoch,mse\n1,0.25\n2,0.1", "run, line 3: the last line has no end, as if the file was cut"},
  };
  for (const auto& [text, message] : tables) {
    const auto epochs = ParseHistory(text, HistoryForm::kCsv, "run");
    EXPECT_THAT(std::string(epochs.status().message()), StartsWith(message)) << text;
  }
  std::string names = "epoch", values = "\n1";
  for (int i = 1; i < 1000; ++i) names += ",m" + std::to_string(i), values += ",2";
  EXPECT_EQ(Parsed(names + values + "\n", HistoryForm::kCsv)[0].metrics.size(), 999u);
  const auto more = ParseHistory(names + ",m" + values + ",2\n", HistoryForm::kCsv, "run");
  EXPECT_THAT(std::string(more.status().message()), StartsWith("run, line 1: too many columns"));
  for (const char* line : {"{", "[]", "{\"epoch\": 1", "{\"epoch\": 1, mse: 2}", "{\"mse\": 2}",
                           "{\"epoch\": \"1\"}", "{\"epoch\": 1, \"\": 2}", "{\"epoch\": {}}"}) {
    const auto epochs = ParseHistory(line, HistoryForm::kJsonLines, "run");
    EXPECT_THAT(std::string(epochs.status().message()), StartsWith("run, line 1: ")) << line;
  }
  EXPECT_THAT(std::string(ReadHistory("/no/such.csv").status().message()), HasSubstr("/no/such"));
  EXPECT_THAT(std::string(ReadHistory("x.json").status().message()),
              HasSubstr("expected .csv or .jsonl"));
  EXPECT_THAT(std::string(ParseHistory("", HistoryForm::kText, "run").status().message()),
              HasSubstr("have no names"));
}

std::vector<ComparedRun> TwoRuns() {
  return {{.name = "a<b>.csv",
           .epochs = Parsed("epoch,learning_rate,mse,val_categorical_accuracy\n1,1,3,50\n2,1,1,70\n"
                            "3,1,2,60\n",
                            HistoryForm::kCsv)},
          {.name = "other.csv",
           .epochs = Parsed("epoch,learning_rate,mse\n1,1,5\n2,1,4\n", HistoryForm::kCsv)}};
}

TEST(ComparisonTest, EachMetricHasAChartWithEachRun) {
  const CheckedPage page = CheckPage(FormatComparison(TwoRuns()));
  EXPECT_THAT(page.problems, IsEmpty());
  std::vector<std::string> titles;
  for (const auto* picture : page.root.All("svg")) titles.push_back(picture->children[0]->text);
  EXPECT_THAT(titles, ElementsAre("mse", "val categorical accuracy, %", "learning rate"));
  EXPECT_THAT(page.root.All("desc")[0]->text,
              HasSubstr("a<b>.csv: from 3 at epoch 1 to 2 at epoch 3; lowest 1 at epoch 2"));
  EXPECT_THAT(page.root.All("desc")[1]->text, HasSubstr("other.csv: no values."));
  const auto mse = NumbersOf(*page.root.All("table")[0]);
  ASSERT_EQ(mse.size(), 2u);
  EXPECT_EQ(mse[0][2], 2) << "last";
  EXPECT_EQ(mse[0][3], 1) << "best";
  EXPECT_EQ(mse[0][4], 2) << "its epoch";
  EXPECT_EQ(NumbersOf(*page.root.All("table")[1])[0][3], 70) << "the larger the better";
}

TEST(ComparisonTest, TerminalsGetATable) {
  EXPECT_EQ(FormatComparisonText(TwoRuns()),
            "run        metric                                   last         best  in epoch\n"
            "a<b>.csv   mse                                         2            1         2\n"
            "other.csv  mse                                         4            4         2\n"
            "a<b>.csv   val_categorical_accuracy                   60           70         2\n"
            "other.csv  val_categorical_accuracy                    -            -         -\n");
}

TEST(ReadHistoryTest, ResultsOnTheTestDataAreNotThoseOfAnEpoch) {
  for (const auto& [form, text] :
       {std::pair(HistoryForm::kCsv, "epoch,mse,mae,test_mse,test_mae\n1,3,5,,\n2,1,4,0.5,2\n"),
        {HistoryForm::kJsonLines,
         "{\"epoch\": 1, \"mse\": 3, \"mae\": 5}\n"
         "{\"epoch\": 2, \"mse\": 1, \"mae\": 4, \"test_mse\": 0.5, \"test_mae\": 2}\n"}}) {
    const auto run = ParseHistory(text, form, "run");
    ASSERT_TRUE(run.ok()) << run.status();
    EXPECT_THAT(run->test, ElementsAre(Pair("mse", 0.5), Pair("mae", 2)));
    for (const ReportEpoch& epoch : run->epochs) {
      EXPECT_THAT(epoch.metrics, ElementsAre(Pair("mse", ::testing::_), Pair("mae", ::testing::_)));
    }
  }
  // The name of a loss of a program's own.
  const auto run = ParseHistory("epoch,test_loss\n1,3\n", HistoryForm::kCsv, "run");
  ASSERT_TRUE(run.ok()) << run.status();
  EXPECT_THAT(run->epochs[0].metrics, ElementsAre(Pair("test_loss", 3)));
}

TEST(ComparisonTest, ResultsOnTheTestDataStandBesideEachOther) {
  std::vector<ComparedRun> runs = TwoRuns();
  runs[1].test = {{"mse", 0.25}, {"categorical_accuracy", 97.5}};
  const CheckedPage page = CheckPage(FormatComparison(runs));
  EXPECT_THAT(page.problems, IsEmpty());
  EXPECT_THAT(page.root.text, HasSubstr("On the test data, after training"));
  const auto test = NumbersOf(*page.root.All("table")[2]);
  ASSERT_EQ(test.size(), 2u);
  EXPECT_EQ(test[1][1], 0.25);
  EXPECT_EQ(test[1][2], 97.5);
  EXPECT_EQ(page.root.All("svg").size(), 3u) << "one value makes no curve";
  EXPECT_THAT(
      FormatComparisonText(runs),
      ::testing::EndsWith(
          "a<b>.csv   test_mse                                    -            -         -\n"
          "other.csv  test_mse                                 0.25            -         -\n"
          "a<b>.csv   test_categorical_accuracy                   -            -         -\n"
          "other.csv  test_categorical_accuracy                97.5            -         -\n"));
}

TEST(ComparisonTest, SettingsThatAreEqualStandOnce) {
  std::vector<ComparedRun> runs = TwoRuns();
  runs[0].settings = {{"batch", "64"}, {"loss", "mse"}, {"optimizer", "adam"}};
  runs[1].settings = {{"batch", "64"}, {"loss", "mse"}, {"optimizer", "sgd"}};
  runs.push_back({.name = "a history"});
  const std::string text = FormatComparisonText(runs);
  EXPECT_THAT(text, ::testing::EndsWith("a<b>.csv   optimizer                        adam\n"
                                        "other.csv  optimizer                        sgd\n"
                                        "a history  optimizer                        -\n"
                                        "all        batch                            64\n"
                                        "all        loss                             mse\n"));
  const CheckedPage page = CheckPage(FormatComparison(runs));
  EXPECT_THAT(page.problems, IsEmpty());
  EXPECT_THAT(page.root.text, HasSubstr("Settings that differ"));
  EXPECT_THAT(page.root.text, HasSubstr("Settings that are equal"));
  runs[1].settings.clear();
  EXPECT_THAT(FormatComparisonText(runs),
              HasSubstr("a<b>.csv   batch                            64\n"
                        "other.csv  batch                            -\n"))
      << "only one run states its settings";
}

TEST(MetricTitleTest, KnowsUnitsAndWhatIsBetter) {
  EXPECT_EQ(MetricTitle("val_categorical_accuracy"), "val categorical accuracy, %");
  EXPECT_EQ(MetricTitle("categorical_cross_entropy"), "categorical cross entropy");
  EXPECT_EQ(BetterByName("val_categorical_accuracy"), Better::kLarger);
  EXPECT_EQ(BetterByName("binary_cross_entropy"), Better::kSmaller);
  EXPECT_EQ(BetterByName("my_own"), std::nullopt);
}

}  // namespace
}  // namespace dtnn
