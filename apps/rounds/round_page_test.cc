#include "apps/rounds/round_page.h"

#include <filesystem>
#include <fstream>
#include <vector>

#include "apps/rounds/round_files.h"
#include "apps/testing/texts.h"
#include "data/testing/idx_files.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tensor/must.h"

namespace dtnn {
namespace {

using ::testing::AllOf;
using testing::Contents;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::SizeIs;

federation::RoundRecord Round(int64_t round, double loss) {
  federation::RoundRecord record;
  record.round = round;
  record.attempts = 1;
  record.samples = 9;
  record.metrics = {{"loss", loss}};
  return record;
}

class RoundPageTest : public ::testing::Test {
 protected:
  RoundPage Page(const std::string& path) {
    return RoundPage(path, {.network = "net", .sentence = "It <is> averaged."},
                     {{"loss", Better::kSmaller}}, 3,
                     [this](std::string_view line) { warnings_.emplace_back(line); });
  }

  const std::string folder_ = testing::NewFolder("page");
  std::vector<std::string> warnings_;
};

// Also where the history is not written.
TEST_F(RoundPageTest, ShowsAllRoundsWhileTheyGoOn) {
  const std::string path = folder_ + "/run.html";
  RoundFiles files = Must(RoundFiles::Open("", "", 0, {}));
  RoundPage page = Page(path);
  Must(page.Check());
  EXPECT_FALSE(std::filesystem::exists(path)) << "before the first round";
  for (int round = 1; round <= 2; ++round) {
    files.Add(Round(round, 0.5 / round));
    page.Add(files.history());
    EXPECT_THAT(Contents(path),
                HasSubstr("Training continues: " + std::to_string(round) + " of 3"));
  }
  EXPECT_THAT(Contents(path), AllOf(HasSubstr("It &lt;is&gt; averaged."), HasSubstr("0.25"),
                                    HasSubstr("bytes received"), Not(HasSubstr("NaN"))));
  page.Finish(absl::UnavailableError("nobody came"));
  EXPECT_THAT(Contents(path),
              AllOf(HasSubstr("Training has stopped: 2 of 3"), HasSubstr("nobody came")));
}

TEST_F(RoundPageTest, AResumedRunShowsTheRoundsBefore) {
  const std::string history = folder_ + "/rounds.csv";
  {
    RoundFiles files = Must(RoundFiles::Open(history, "", 0, {}));
    for (int round = 1; round <= 2; ++round) files.Add(Round(round, 7.125));
  }
  RoundFiles files = Must(RoundFiles::Open(history, "", 1, {}));
  files.Add(Round(2, 3.375));
  RoundPage page = Page(folder_ + "/run.html");
  page.Add(files.history());
  page.Finish(absl::OkStatus());
  EXPECT_THAT(Contents(folder_ + "/run.html"), AllOf(HasSubstr("Training has ended: 2 of 3"),
                                                     HasSubstr("7.125"), HasSubstr("3.375")));
}

TEST_F(RoundPageTest, WhatCannotBeWrittenIsOneWarningAndOneAtTheEnd) {
  RoundFiles files = Must(RoundFiles::Open("", "", 0, {}));
  files.Add(Round(1, 1));
  RoundPage page = Page(folder_ + "/no/folder/run.html");
  EXPECT_FALSE(page.Check().ok());
  for (int round = 1; round <= 2; ++round) page.Add(files.history());
  ASSERT_THAT(warnings_, SizeIs(1));
  EXPECT_THAT(warnings_[0], HasSubstr("the report is not written: "));
  page.Finish(absl::OkStatus());
  ASSERT_THAT(warnings_, SizeIs(2));
  EXPECT_THAT(warnings_[1], HasSubstr("/no/folder/run.html: is incomplete: "));
}

// Metrics are called what clients call them.
TEST_F(RoundPageTest, MetricsWithTheNamesOfOtherColumnsAreLeftOut) {
  RoundFiles files = Must(RoundFiles::Open("", "", 0, {}));
  federation::RoundRecord record = Round(1, 1);
  for (const char* name : {"epoch", "seconds", "epsilon"}) record.metrics.emplace_back(name, 7);
  files.Add(record);
  RoundPage page = Page(folder_ + "/run.html");
  page.Add(files.history());
  page.Finish(absl::OkStatus());
  EXPECT_THAT(warnings_, SizeIs(0));
  EXPECT_TRUE(files.history().starts_with("epoch,loss,clients,")) << files.history();
}

TEST_F(RoundPageTest, WithoutANameThereIsNone) {
  RoundPage page = Page("");
  Must(page.Check());
  page.Add("not looked at");
  page.Finish(absl::OkStatus());
  EXPECT_THAT(warnings_, SizeIs(0));
}

}  // namespace
}  // namespace dtnn
