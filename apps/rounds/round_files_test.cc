#include "apps/rounds/round_files.h"

#include <cerrno>
#include <fstream>
#include <string>
#include <vector>

#include "apps/testing/texts.h"
#include "data/testing/idx_files.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tensor/files/atomic_file.h"
#include "tensor/must.h"

namespace dtnn {
namespace {

using testing::Contents;
using testing::Count;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;

federation::RoundRecord Round(int64_t round) {
  federation::RoundRecord record;
  record.round = round;
  record.metrics = {{"loss", 0.5}};
  record.clients = {{.name = "a"}, {.name = "b"}};
  return record;
}

class RoundFilesTest : public ::testing::Test {
 protected:
  ~RoundFilesTest() override { internal::SetFileFaultHookForTesting(nullptr); }

  RoundFiles Open(int64_t rounds_done) {
    return Must(RoundFiles::Open(history_, clients_, rounds_done,
                                 [this](std::string_view line) { warnings_.emplace_back(line); }));
  }
  // No file can be written from now on, or all can.
  static void FillDisk() {
    internal::SetFileFaultHookForTesting(
        [](std::string_view step) { return step == "write" ? ENOSPC : 0; });
  }
  static void EmptyDisk() { internal::SetFileFaultHookForTesting(nullptr); }

  const std::string folder_ = testing::NewFolder("round_files");
  const std::string history_ = folder_ + "/rounds.csv", clients_ = folder_ + "/clients.csv";
  std::vector<std::string> warnings_;
};

TEST_F(RoundFilesTest, BothFilesHaveNamesOfCsv) {
  const auto error = [](const std::string& history, const std::string& clients) {
    return std::string(
        RoundFiles::Open(history, clients, 0, [](std::string_view) {}).status().message());
  };
  EXPECT_EQ(error("", ""), "") << "which none needs";
  EXPECT_EQ(error(folder_ + "/a.txt", clients_),
            "--history-file: " + folder_ + "/a.txt: the name must end in .csv");
  EXPECT_EQ(error(history_, folder_ + "/csv"),
            "--clients-file: " + folder_ + "/csv: the name must end in .csv");
}

TEST_F(RoundFilesTest, WhatCannotBeWrittenIsNamedWithItsOption) {
  const auto error = [](const std::string& history, const std::string& clients) {
    return std::string(
        RoundFiles::Open(history, clients, 0, [](std::string_view) {}).status().message());
  };
  const std::string nowhere = folder_ + "/nowhere/a.csv";
  EXPECT_THAT(error(nowhere, ""), StartsWith("--history-file: " + nowhere + ": cannot be written"));
  EXPECT_THAT(error("", nowhere), StartsWith("--clients-file: " + nowhere + ": cannot be written"));
  const std::string of_others = folder_ + "/of_others.csv";
  std::ofstream(of_others) << "epoch,accuracy\n1,.5\n";
  EXPECT_THAT(error(of_others, ""), StartsWith("--history-file: " + of_others + ": is not a file"));
  EXPECT_THAT(error("", of_others), StartsWith("--clients-file: " + of_others + ": is not a file"));
}

TEST_F(RoundFilesTest, AFullDiskIsAWarningPerFileAndOneMoreAtTheEnd) {
  RoundFiles files = Open(0);
  files.Add(Round(1));
  FillDisk();
  files.Add(Round(2));
  files.Add(Round(3));
  EXPECT_THAT(warnings_,
              ElementsAre(StartsWith("the history is not written: " + history_ + ": "),
                          StartsWith("the file of clients is not written: " + clients_ + ": ")));
  EXPECT_THAT(warnings_[0], HasSubstr("No space left on device; the rounds continue"));
  warnings_.clear();
  files.Finish();
  EXPECT_THAT(warnings_,
              ElementsAre(StartsWith(history_ + ": is incomplete, without the rounds after 1: "),
                          StartsWith(clients_ + ": is incomplete, without the rounds after 1: ")));
  EXPECT_EQ(Count(Contents(history_), "\n"), 2) << "the whole file of the first round";
  EXPECT_EQ(Count(Contents(clients_), "\n"), 3);
}

TEST_F(RoundFilesTest, NothingIsMissingWhereTheDiskHasRoomAgain) {
  RoundFiles files = Open(0);
  FillDisk();
  files.Add(Round(1));
  files.Add(Round(2));
  EmptyDisk();
  files.Finish();
  EXPECT_EQ(warnings_.size(), 2u) << "only those of the first round";
  EXPECT_EQ(Count(Contents(history_), "\n"), 3);
  EXPECT_EQ(Count(Contents(clients_), "\n"), 5);
}

TEST_F(RoundFilesTest, WhatAFileLacksIsSaidWhenItIsContinued) {
  Open(0).Add(Round(1));
  Open(1);
  EXPECT_THAT(warnings_, ElementsAre());
  Open(3);
  const std::string lack =
      ": has nothing of the rounds from 2 to 3, which are done; the file continues without them";
  EXPECT_THAT(warnings_, ElementsAre(history_ + lack, clients_ + lack));
}

TEST_F(RoundFilesTest, RoundsAfterThoseThatAreDoneAreDropped) {
  RoundFiles first = Open(0);
  for (int round = 1; round <= 3; ++round) first.Add(Round(round));
  RoundFiles second = Open(1);
  second.Add(Round(2));
  second.Finish();
  EXPECT_EQ(Count(Contents(history_), "\n"), 3);
  EXPECT_EQ(Count(Contents(clients_), "\n"), 5);
  EXPECT_TRUE(warnings_.empty());
}

TEST_F(RoundFilesTest, ClipsThatAdaptHaveColumns) {
  RoundFiles files = Open(0);
  federation::RoundRecord record = Round(1);
  record.epsilons = {.model = 1.5, .aggregator = 2};
  record.clipping = {.clip = 0.25, .below = 0.625};
  files.Add(record);
  EXPECT_EQ(Contents(history_),
            "epoch,loss,clients,samples,attempts,seconds,bytes_sent,bytes_received,epsilon,"
            "epsilon_aggregator,clip,below_clip\n1,0.5,0,0,0,0,0,0,1.5,2,0.25,0.625\n");
}

TEST_F(RoundFilesTest, RoundsOfABufferHaveColumnsOfTheirOwn) {
  RoundFiles files = Open(0);
  federation::RoundRecord record = Round(1);
  record.clients[1].staleness = 3;
  record.buffer = {.staleness = 1.5, .too_stale = 2};
  record.simulated_seconds = 0.25;
  files.Add(record);
  EXPECT_EQ(Contents(history_),
            "epoch,loss,clients,samples,attempts,seconds,bytes_sent,bytes_received,staleness,"
            "too_stale,simulated_seconds\n1,0.5,0,0,0,0,0,0,1.5,2,0.25\n");
  EXPECT_EQ(Contents(clients_),
            "round,client,result,samples,seconds,staleness,loss\n"
            "1,a,waiting,0,0,0,\n1,b,waiting,0,0,3,\n");
}

}  // namespace
}  // namespace dtnn
