#include "models/callbacks/history.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <limits>
#include <sstream>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "models/zoo/zoo.h"
#include "optim/losses/categorical_cross_entropy.h"
#include "optim/metrics/categorical_accuracy.h"
#include "optim/metrics/top5_accuracy.h"
#include "tensor/files/atomic_file.h"

namespace dtnn {
namespace {

using ::testing::HasSubstr;

class HistoryTest : public ::testing::Test {
 protected:
  HistoryTest() {
    metric_set_ = {std::make_shared<CategoricalCrossEntropy>(),
                   {std::make_shared<CategoricalAccuracy>()}};
    trainer_ = *Trainer::Create(graph_, *store_, *device_,
                                {.metric_set = metric_set_, .learning_rate = 0.1});
  }

  std::string Path(const std::string& name) {
    const std::string path = ::testing::TempDir() + "history_test_" + name;
    std::filesystem::remove(path);
    return path;
  }
  static std::string Content(const std::string& path) {
    std::ostringstream content;
    content << std::ifstream(path).rdbuf();
    return content.str();
  }

  // An epoch with this loss and accuracy, one more for validation.
  absl::Status End(History& history, int64_t epoch, double loss, double accuracy,
                   bool validated = true) {
    MetricAverages trained(metric_set_, 4), validation(metric_set_, 4);
    trained.FromDoubles(std::vector<double>{loss * 8, accuracy * 8, 8});
    validation.FromDoubles(std::vector<double>{loss * 16, accuracy * 4, 8});
    const Pass pass{.epoch = epoch, .averages = &trained};
    const Pass second{.kind = Pass::Kind::kValidation, .epoch = epoch, .averages = &validation};
    return history.OnEpochEnd(pass, validated ? &second : nullptr);
  }

  static NamedMetrics Test(double value) {
    return {{"test_categorical_cross_entropy", value}, {"test_categorical_accuracy", 50}};
  }

  const Graph graph_ = *BuildModel("simplemlp", {.sample = ImageExtents{4, 4, 1}, .classes = 4});
  std::unique_ptr<DeviceContext> device_ = *DeviceContext::Create(Device::Cpu());
  std::unique_ptr<ParameterStore> store_ =
      *ParameterStore::Create(graph_, *device_, DType::kFloat32, 1);
  MetricSet metric_set_;
  std::unique_ptr<Trainer> trainer_;
};

TEST_F(HistoryTest, TextHasColumns) {
  const std::string path = Path("plain");
  auto history = *History::Create(path, *trainer_, metric_set_, true, 0);
  ASSERT_TRUE(End(*history, 0, 1.5, 50).ok());
  EXPECT_EQ(Content(path),
            "  0               1.5000              50.0000               3.0000"
            "              25.0000\n");
  ASSERT_TRUE(End(*history, 1, 0.25, 75, /*validated=*/false).ok());
  EXPECT_THAT(Content(path), HasSubstr("\n  1               0.2500              75.0000\n"));
}

TEST_F(HistoryTest, CsvHasNamesAndAllDigits) {
  const std::string path = Path("table.csv");
  auto history = *History::Create(path, *trainer_, metric_set_, true, 0);
  ASSERT_TRUE(End(*history, 0, 1.0 / 3, 50).ok());
  EXPECT_EQ(Content(path),
            "epoch,learning_rate,categorical_cross_entropy,categorical_accuracy,"
            "val_categorical_cross_entropy,val_categorical_accuracy\n"
            "1,0.1,0.3333333333333333,50,0.6666666666666666,25\n");
}

TEST_F(HistoryTest, JsonLinesHoldAnObjectEach) {
  const std::string path = Path("lines.jsonl");
  auto history = *History::Create(path, *trainer_, metric_set_, true, 0);
  ASSERT_TRUE(End(*history, 0, 0.5, 50, false).ok());
  ASSERT_TRUE(End(*history, 1, std::numeric_limits<double>::infinity(), 25, false).ok());
  EXPECT_EQ(Content(path),
            "{\"epoch\": 1, \"learning_rate\": 0.1, "
            "\"categorical_cross_entropy\": 0.5, \"categorical_accuracy\": 50}\n"
            "{\"epoch\": 2, \"learning_rate\": 0.1, "
            "\"categorical_cross_entropy\": null, \"categorical_accuracy\": 25}\n");
}

TEST_F(HistoryTest, InAnothersPlaceNothingThatItHasWrittenIsLost) {
  const std::string path = Path("place.csv");
  const auto first = *History::Create(path, *trainer_, metric_set_, true, 0);
  const auto second = *History::Create(path, *trainer_, metric_set_, true, 0);
  second->set_writes(false);
  for (History* const history : {&*first, &*second}) ASSERT_TRUE(End(*history, 0, 1.5, 50).ok());
  ASSERT_TRUE(End(*first, 1, 0.5, 75).ok());
  const std::string two = Content(path);
  ASSERT_TRUE(second->WriteWhatIsMissing().ok());
  EXPECT_EQ(Content(path), two) << "an epoch that the second has not ended yet";
  ASSERT_TRUE(End(*second, 1, 0.5, 75).ok());
  ASSERT_TRUE(End(*second, 2, 0.25, 100).ok());
  EXPECT_GT(Content(path).size(), two.size());
  std::filesystem::remove(path);
  ASSERT_TRUE(second->WriteWhatIsMissing().ok());
  EXPECT_TRUE(Content(path).starts_with(two));
}

TEST_F(HistoryTest, AResumedRunKeepsTheEpochsThatAreDone) {
  for (const char* name : {"resumed", "resumed.csv", "resumed.jsonl"}) {
    const std::string whole = Path(std::string("whole_") + name), path = Path(name);
    auto all = *History::Create(whole, *trainer_, metric_set_, true, 0);
    auto first = *History::Create(path, *trainer_, metric_set_, true, 0);
    for (int epoch = 0; epoch < 3; ++epoch) ASSERT_TRUE(End(*all, epoch, epoch, epoch).ok());
    for (int epoch = 0; epoch < 2; ++epoch) ASSERT_TRUE(End(*first, epoch, epoch, epoch).ok());
    // The third line belongs to a run that was killed behind its last checkpoint.
    ASSERT_TRUE(End(*first, 2, 99, 99).ok());
    ASSERT_TRUE(first->AddTest(Test(9)).ok()) << "or that had ended";
    auto second = *History::Create(path, *trainer_, metric_set_, true, 2);
    ASSERT_TRUE(End(*second, 2, 2, 2).ok());
    EXPECT_EQ(Content(path), Content(whole));
    // With nothing left to train, the results on the test data are there once.
    ASSERT_TRUE(all->AddTest(Test(3)).ok());
    for (const double value : {1, 3}) {
      auto last = *History::Create(path, *trainer_, metric_set_, true, 3);
      ASSERT_TRUE(last->AddTest(Test(value)).ok());
    }
    EXPECT_EQ(Content(path), Content(whole));
    EXPECT_THAT(Content(path), HasSubstr("test_categorical_accuracy"));
    EXPECT_TRUE(History::Check(path).ok());
    const absl::Status status = History::Create(path, *trainer_, metric_set_, true, 4).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss) << status;
  }
}

TEST_F(HistoryTest, AnEpochAfterTheTestTakesItsResultsAway) {
  for (const char* name : {"tested", "tested.csv", "tested.jsonl"}) {
    const std::string path = Path(name), other = Path(std::string("never_") + name);
    auto tested = *History::Create(path, *trainer_, metric_set_, true, 0);
    auto never = *History::Create(other, *trainer_, metric_set_, true, 0);
    for (History* const history : {tested.get(), never.get()}) {
      ASSERT_TRUE(End(*history, 0, 1.5, 50).ok());
    }
    ASSERT_TRUE(tested->AddTest(Test(3)).ok());
    EXPECT_NE(Content(path), Content(other));
    for (History* const history : {tested.get(), never.get()}) {
      ASSERT_TRUE(End(*history, 1, 0.5, 75).ok());
    }
    EXPECT_EQ(Content(path), Content(other));
  }
}

int FailWrites(std::string_view step) { return step == "write" ? ENOSPC : 0; }

TEST_F(HistoryTest, WhoHasItInMemoryWritesItWholeWhenItIsHisTurn) {
  const std::string path = Path("handed_over.csv");
  auto writer = *History::Create(path, *trainer_, metric_set_, true, 0);
  auto other = *History::Create(path, *trainer_, metric_set_, true, 0);
  other->set_writes(false);
  for (History* history : {writer.get(), other.get()}) {
    ASSERT_TRUE(End(*history, 0, 0.5, 50).ok());
  }
  const std::string first = Content(path);
  // The writer is gone in the middle of the second epoch's end.
  ASSERT_TRUE(End(*other, 1, 0.25, 75).ok());
  EXPECT_EQ(Content(path), first);
  auto silent = History::Continue(path, *trainer_, other->text(), 2, /*writes=*/false);
  ASSERT_TRUE(silent.ok());
  EXPECT_EQ(Content(path), first);
  auto next = History::Continue(path, *trainer_, other->text(), 2, /*writes=*/true);
  ASSERT_TRUE(next.ok()) << next.status();
  EXPECT_EQ(Content(path), other->text());
  // A rank was lost after the test, whose results are those of a run that has not ended.
  const std::string text = other->text();
  ASSERT_TRUE(other->AddTest(Test(3)).ok());
  next = History::Continue(path, *trainer_, other->text(), 2, /*writes=*/true);
  ASSERT_TRUE(next.ok()) << next.status();
  EXPECT_EQ(Content(path), text);
  // Epochs that are to be ended again are left out.
  next = History::Continue(path, *trainer_, other->text(), 1, /*writes=*/true);
  EXPECT_EQ(Content(path), first);
  EXPECT_EQ((*next)->text(), first);
  EXPECT_TRUE(absl::IsFailedPrecondition(
      History::Continue(path, *trainer_, first, 2, /*writes=*/true).status()));
  EXPECT_TRUE(History::Continue(path, *trainer_, "", 0, /*writes=*/true).ok());
}

TEST_F(HistoryTest, AFullDiskIsOneWarningAndLaterEpochsAreWrittenAgain) {
  const std::string path = Path("full.csv");
  std::vector<std::string> warnings;
  auto history = *History::Create(path, *trainer_, metric_set_, true, 0,
                                  [&](std::string_view line) { warnings.emplace_back(line); });
  ASSERT_TRUE(End(*history, 0, 0, 0).ok());
  const std::string first = Content(path);
  internal::SetFileFaultHookForTesting(FailWrites);
  EXPECT_TRUE(End(*history, 1, 1, 1).ok());
  EXPECT_TRUE(End(*history, 2, 2, 2).ok());
  EXPECT_EQ(Content(path), first) << "the file of the epoch before stays";
  internal::SetFileFaultHookForTesting(nullptr);
  EXPECT_TRUE(End(*history, 3, 3, 3).ok());
  const std::string whole = Content(path);
  EXPECT_EQ(std::ranges::count(whole, '\n'), 1 + 4) << whole;
  ASSERT_EQ(warnings.size(), 1u);
  EXPECT_THAT(warnings[0], ::testing::StartsWith("the history is not written: " + path));
  EXPECT_THAT(warnings[0], HasSubstr("; training continues"));
}

TEST_F(HistoryTest, WithoutAnyoneToWarnAFullDiskIsAnError) {
  auto history = *History::Create(Path("error.csv"), *trainer_, metric_set_, true, 0);
  internal::SetFileFaultHookForTesting(FailWrites);
  const absl::Status status = End(*history, 0, 0, 0);
  internal::SetFileFaultHookForTesting(nullptr);
  EXPECT_TRUE(absl::IsResourceExhausted(status)) << status;
}

TEST_F(HistoryTest, RefusesToGoOnWithAFileThatIsTooShort) {
  const std::string path = Path("short.csv");
  auto history = *History::Create(path, *trainer_, metric_set_, true, 0);
  ASSERT_TRUE(End(*history, 0, 1, 1).ok());
  const absl::Status status = History::Create(path, *trainer_, metric_set_, true, 2).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss);
  EXPECT_THAT(std::string(status.message()), HasSubstr(path + ": has 2 lines, but 3"));
  EXPECT_THAT(
      std::string(
          History::Create(Path("missing"), *trainer_, metric_set_, true, 1).status().message()),
      HasSubstr("missing: does not exist; expected the history of the 1 "));
}

TEST_F(HistoryTest, OverwritesHistoriesAndNothingElse) {
  const std::string png = "\x89PNG\r\n\x1a\n";
  const std::string column = "               1.5000";
  const struct {
    const char* name;
    std::string content;
    bool is_history;
  } cases[] = {
      {"any", "", true},
      {"any", "  0" + column + column + "\n  1", true},
      {"any", "  0                  nan\n", true},
      {"any", "  0 10000000000000000000000.0000\n", true},
      {"any", "  0\n", false},
      {"any", "  1" + column + "\n", false},
      {"any", "0 1.5 2.5\n", false},
      {"any", "notes of a day\n", false},
      {"any", png, false},
      {"any", std::string(1 << 20, '0'), false},
      {"weights", std::string("PK\x03\x04", 4) + "0", false},
      {"table.csv", "epoch,learning_rate,mse\n1,0.1,2\n", true},
      {"table.csv", "name,place\n", false},
      {"table.csv", "  0" + column + "\n", false},
      // Logs of Keras and of Lightning.
      {"table.csv", "epoch,accuracy,loss\n1,.5,.7\n", false},
      {"table.csv", "epoch,learning_rate,loss,val_loss\n0,0.1,2,2\n", false},
      {"table.csv", "epoch,learning_rate\n1,0.1\n", false},
      {"table.csv", "epoch,step,train_loss\n", false},
      {"lines.jsonl", "{\"epoch\": 1, \"learning_rate\": 0.1, \"mse\": 0.5}\n", true},
      {"lines.jsonl", "{\"epoch\": 1, \"learning_rate\": 0.1, \"loss\": 0.5}\n", false},
      {"lines.jsonl", "{\"prompt\": \"a\"}\n", false},
      {"lines.jsonl", "\n", false},
  };
  for (const auto& c : cases) {
    SCOPED_TRACE(std::string(c.name) + ": " + c.content.substr(0, 40));
    const std::string path = Path(c.name);
    std::ofstream(path, std::ios::binary) << c.content;
    for (const absl::Status& status :
         {History::Check(path), History::Create(path, *trainer_, metric_set_, true, 0).status()}) {
      EXPECT_EQ(status.ok(), c.is_history) << status;
      if (c.is_history) continue;
      EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
      EXPECT_THAT(std::string(status.message()), HasSubstr(path + ": is not a history"));
    }
    EXPECT_EQ(Content(path), c.content);
  }
}

// It could be replaced, but nobody could tell what it was.
TEST_F(HistoryTest, AFileThatCannotBeReadIsNotReplaced) {
  const std::string folder = ::testing::TempDir() + "history_test_unreadable";
  std::filesystem::create_directories(folder);
  ASSERT_EQ(chmod(folder.c_str(), 0777), 0);
  // Relative, so that another user need not be allowed into the folders above.
  const std::filesystem::path before = std::filesystem::current_path();
  std::filesystem::current_path(folder);
  std::ofstream("h.csv") << "notes of a day\n";
  ASSERT_EQ(chmod("h.csv", 0222), 0);
  const bool root = geteuid() == 0;  // root may read everything
  if (root) {
    ASSERT_EQ(seteuid(65534), 0);
  }
  const absl::Status status = History::Check("h.csv");
  if (root) {
    ASSERT_EQ(seteuid(0), 0);
  }
  std::filesystem::current_path(before);
  EXPECT_EQ(status.code(), absl::StatusCode::kPermissionDenied) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("h.csv: cannot be opened"));
}

TEST_F(HistoryTest, AFolderThatTakesNoFilesIsNamedBeforeTheFirstEpoch) {
  const absl::Status status = History::Check("/proc/h.csv");
  EXPECT_FALSE(status.ok());
  EXPECT_THAT(std::string(status.message()), HasSubstr("/proc/h.csv: "));
}

TEST_F(HistoryTest, AFolderThatIsMissingIsNamedBeforeTheFirstEpoch) {
  EXPECT_TRUE(absl::IsInvalidArgument(
      History::Create(Path("h.json"), *trainer_, metric_set_, true, 0).status()));
  const absl::Status status =
      History::Create("/no/such/folder/h.csv", *trainer_, metric_set_, true, 0).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(status.message()), HasSubstr("/no/such/folder"));
}

TEST_F(HistoryTest, ARunWithOtherColumnsIsRefused) {
  MetricSet more = metric_set_, fewer = metric_set_, others = metric_set_;
  more.metrics.push_back(std::make_shared<Top5Accuracy>());
  fewer.metrics.clear();
  others.metrics[0] = std::make_shared<Top5Accuracy>();
  for (const char* name : {"columns", "columns.csv", "columns.jsonl"}) {
    const std::string path = Path(name);
    auto first = *History::Create(path, *trainer_, metric_set_, true, 0);
    for (int epoch = 0; epoch < 2; ++epoch) ASSERT_TRUE(End(*first, epoch, epoch, epoch).ok());
    const std::string content = Content(path);
    const auto status = [&](const MetricSet& metric_set, bool validates) {
      return History::Create(path, *trainer_, metric_set, validates, 2).status();
    };
    EXPECT_TRUE(status(metric_set_, true).ok()) << name;
    for (const MetricSet* metric_set : {&more, &fewer}) {
      EXPECT_EQ(status(*metric_set, true).code(), absl::StatusCode::kFailedPrecondition) << name;
    }
    EXPECT_EQ(status(metric_set_, false).code(), absl::StatusCode::kFailedPrecondition) << name;
    if (std::string(name) == "columns") continue;  // which does not name them
    EXPECT_EQ(status(others, true).message(),
              path +
                  ": has the columns "
                  "epoch,learning_rate,categorical_cross_entropy,categorical_accuracy,val_"
                  "categorical_cross_entropy,val_categorical_accuracy, this run writes "
                  "epoch,learning_rate,categorical_cross_entropy,top5_accuracy,val_categorical_"
                  "cross_entropy,val_top5_accuracy; use the metrics and validation of the run that "
                  "this one continues, or no file for the history");
    EXPECT_EQ(Content(path), content);
  }
}

}  // namespace
}  // namespace dtnn
