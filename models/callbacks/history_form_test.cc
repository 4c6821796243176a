#include "models/callbacks/history_form.h"

#include "gtest/gtest.h"

namespace dtnn {
namespace {

TEST(HistoryFormTest, TheEndingChooses) {
  for (const char* path : {"h.csv", "a/h.CSV", "h.json.Csv"}) {
    EXPECT_EQ(HistoryFormOf(path), HistoryForm::kCsv) << path;
  }
  for (const char* path : {"h.jsonl", "H.JSONL"}) {
    EXPECT_EQ(HistoryFormOf(path), HistoryForm::kJsonLines) << path;
  }
  for (const char* path : {"h", "h.txt", "h.TXT", "h.log", "h.dat", "a.csv/h", "run1.5", "h.$rank",
                           "h.0", "h.", ".csv"}) {
    EXPECT_EQ(HistoryFormOf(path), HistoryForm::kText) << path;
  }
}

TEST(HistoryFormTest, OtherEndingsHaveNone) {
  for (const char* path : {"h.json", "h.JSON", "h.yaml", "h.csvv", "h.csv.gz", "weights.npz"}) {
    EXPECT_EQ(HistoryFormOf(path), std::nullopt) << path;
  }
}

}  // namespace
}  // namespace dtnn
