#include "models/callbacks/test_columns.h"

#include <limits>
#include <string>

#include "gtest/gtest.h"

namespace dtnn {
namespace {

const NamedMetrics kTest = {{"test_cce", 0.125}, {"test_acc", 97.5}};

struct Case {
  HistoryForm form;
  std::string before, after;
};

const Case kCases[] = {
    {HistoryForm::kCsv, "epoch,learning_rate,cce,acc\n1,0.1,2,50\n2,0.1,1,60\n",
     "epoch,learning_rate,cce,acc,test_cce,test_acc\n1,0.1,2,50,,\n2,0.1,1,60,0.125,97.5\n"},
    {HistoryForm::kJsonLines,
     "{\"epoch\": 1, \"cce\": 2, \"acc\": 50}\n{\"epoch\": 2, \"cce\": 1, \"acc\": null}\n",
     "{\"epoch\": 1, \"cce\": 2, \"acc\": 50}\n{\"epoch\": 2, \"cce\": 1, \"acc\": null, "
     "\"test_cce\": 0.125, \"test_acc\": 97.5}\n"},
    {HistoryForm::kText, "  0  2.0000  50.0000\n  1  1.0000  60.0000\n",
     "  0  2.0000  50.0000\n  1  1.0000  60.0000\n# test_cce 0.1250 test_acc 97.5000\n"},
};

TEST(TestColumnsTest, TheLastEpochHasTheResults) {
  for (const Case& c : kCases) EXPECT_EQ(WithTest(c.before, c.form, kTest), c.after);
  EXPECT_EQ(WithTest("{\"epoch\": 1, \"cce\": 2}\n", HistoryForm::kJsonLines,
                     {{"test_cce", std::numeric_limits<double>::infinity()}}),
            "{\"epoch\": 1, \"cce\": 2, \"test_cce\": null}\n");
}

TEST(TestColumnsTest, TheyComeOffAgainAndAreNeverTwice) {
  for (const Case& c : kCases) {
    EXPECT_EQ(WithoutTest(c.after, c.form), c.before);
    EXPECT_EQ(WithoutTest(c.before, c.form), c.before) << "an older history";
    EXPECT_EQ(WithTest(WithTest(c.before, c.form, {{"test_cce", 7}}), c.form, kTest), c.after);
  }
}

TEST(TestColumnsTest, LinesMayEndAsOnWindows) {
  EXPECT_EQ(WithoutTest("epoch,cce,test_cce\r\n1,2,3\r\n", HistoryForm::kCsv), "epoch,cce\n1,2\n");
}

TEST(TestColumnsTest, WithoutEpochsThereIsNothingToAddTo) {
  for (const Case& c : kCases) EXPECT_EQ(WithTest("", c.form, kTest), "");
  EXPECT_EQ(WithTest("epoch,learning_rate,cce\n", HistoryForm::kCsv, kTest),
            "epoch,learning_rate,cce\n");
  EXPECT_EQ(WithTest("epoch,cce\n1,2\n2,", HistoryForm::kCsv, kTest), "epoch,cce\n1,2\n2,")
      << "a file that was cut";
}

// A loss of a program's own may have any name.
TEST(TestColumnsTest, AMetricWhoseNameBeginsLikeThatStays) {
  const std::string csv = "epoch,learning_rate,test_loss\n1,0.1,2\n";
  EXPECT_EQ(WithoutTest(csv, HistoryForm::kCsv), csv);
  const std::string json = "{\"epoch\": 1, \"test_loss\": 2}\n";
  EXPECT_EQ(WithoutTest(json, HistoryForm::kJsonLines), json);
  const std::string with = WithTest(csv, HistoryForm::kCsv, {{"test_test_loss", 3}});
  EXPECT_EQ(with, "epoch,learning_rate,test_loss,test_test_loss\n1,0.1,2,3\n");
  EXPECT_EQ(WithoutTest(with, HistoryForm::kCsv), csv);
}

TEST(TestColumnsTest, AnyTextIsTaken) {
  for (const std::string text : {"\n", "\n\n", "}", "}\n", ",", ",,\n,", "#", "#\n", "{\"a", "\r\n",
                                 "cce,test_cce", "cce,test_cce\n1", ", \"test_\": "}) {
    for (const HistoryForm form :
         {HistoryForm::kText, HistoryForm::kCsv, HistoryForm::kJsonLines}) {
      WithTest(text, form, kTest);
      WithoutTest(text, form);
    }
  }
}

}  // namespace
}  // namespace dtnn
