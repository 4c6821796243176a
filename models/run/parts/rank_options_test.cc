#include "models/run/parts/rank_options.h"

#include "gtest/gtest.h"

namespace dtnn {
namespace {

TEST(ExpandRankTest, ReplacesTheRankOnly) {
  EXPECT_EQ(ExpandRank("history-$rank.txt", 3), "history-3.txt");
  EXPECT_EQ(ExpandRank("${rank}/${rank}", 12), "12/12");
  EXPECT_EQ(ExpandRank("$rank", 0), "0");
  EXPECT_EQ(ExpandRank("${rank}s", 1), "1s");
  EXPECT_EQ(ExpandRank("$ranks $rank_ $rank0 $Rank ${rank ~/x $", 1),
            "$ranks $rank_ $rank0 $Rank ${rank ~/x $");
  EXPECT_EQ(ExpandRank("", 1), "");
}

TEST(RankOptionsTest, EveryPathMayHoldTheRank) {
  RunOptions options;
  for (std::string* path : PathsOf(options)) *path = "a/$rank.x";
  RunOptions own = OptionsOfRank(options, 2, 3);
  for (const std::string* path : PathsOf(own)) EXPECT_EQ(*path, "a/2.x");
  EXPECT_EQ(OptionsOfRank(RunOptions(), 2, 3), RunOptions());
}

TEST(RankOptionsTest, OnCommonStorageOnePathIsForAll) {
  RunOptions options;
  options.output.history = "h.csv";
  options.checkpoint.folder = "c";
  EXPECT_EQ(OptionsOfRank(options, 1, 2), options);
}

TEST(RankOptionsTest, OnPrivateStorageEveryRankWritesFilesOfItsOwn) {
  RunOptions options;
  options.ranks.shared_storage = false;
  options.data.path = "data";
  options.output.history = "out/h.csv";
  options.checkpoint.folder = "c.d/";
  options.schedule.model_folder = "m$rank";
  const RunOptions own = OptionsOfRank(options, 1, 2);
  EXPECT_EQ(own.data.path, "data");
  EXPECT_EQ(own.output.history, "out/h-rank1.csv");
  EXPECT_EQ(own.checkpoint.folder, "c.d-rank1");
  EXPECT_EQ(own.schedule.model_folder, "m1");
  EXPECT_EQ(OptionsOfRank(options, 0, 1).output.history, "out/h.csv");
}

TEST(RankOptionsTest, ModelsOfTheirOwnAreSavedEachByItsRank) {
  RunOptions options;
  options.output.history = "h.csv";
  options.checkpoint.folder = "c";
  options.sync.model_steps = 10;
  const RunOptions own = OptionsOfRank(options, 1, 2);
  EXPECT_EQ(own.output.history, "h.csv");
  EXPECT_EQ(own.checkpoint.folder, "c-rank1");
}

TEST(RankOptionsTest, RanksMeetWhereTheyExchangeGradientsOrModels) {
  RunOptions options;
  EXPECT_EQ(StepsBetweenMeetings(options), 1) << "gradients, in every step";
  options.sync.model_steps = 10;
  EXPECT_EQ(StepsBetweenMeetings(options), 10);
  options.sync.model_steps = -1;
  EXPECT_GT(StepsBetweenMeetings(options), 1);
}

}  // namespace
}  // namespace dtnn
