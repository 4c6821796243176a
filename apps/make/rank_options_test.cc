#include "apps/make/rank_options.h"

#include "apps/flags/option_table.h"
#include "apps/flags/value.h"
#include "gtest/gtest.h"

namespace dtnn {
namespace {

TEST(RankOptionsTest, EveryPathMayHoldTheRank) {
  int paths = 0;
  for (const OptionSpec& spec : OptionTable()) {
    if (spec.type != OptionType::kPath) continue;
    ++paths;
    Options options;
    Store(Value("a/$rank.x"), spec, &options);
    const Options own = OptionsOfRank(options, 2, 3);
    EXPECT_EQ(Load(&own, spec), Value("a/2.x")) << spec.name;
    EXPECT_EQ(OptionsOfRank(Options(), 2, 3), Options());
  }
  Options options;
  EXPECT_EQ(PathsOf(options).size(), paths);
}

TEST(RankOptionsTest, OnCommonStorageOnePathIsForAll) {
  Options options;
  options.output.history = "h.csv";
  options.checkpoint.folder = "c";
  EXPECT_EQ(OptionsOfRank(options, 1, 2), options);
}

TEST(RankOptionsTest, OnPrivateStorageEveryRankWritesFilesOfItsOwn) {
  Options options;
  options.ranks.shared_storage = false;
  options.data.path = "data";
  options.output.history = "out/h.csv";
  options.checkpoint.folder = "c.d/";
  options.schedule.model_folder = "m$rank";
  const Options own = OptionsOfRank(options, 1, 2);
  EXPECT_EQ(own.data.path, "data");
  EXPECT_EQ(own.output.history, "out/h-rank1.csv");
  EXPECT_EQ(own.checkpoint.folder, "c.d-rank1");
  EXPECT_EQ(own.schedule.model_folder, "m1");
  EXPECT_EQ(OptionsOfRank(options, 0, 1).output.history, "out/h.csv");
}

TEST(RankOptionsTest, ModelsOfTheirOwnAreSavedEachByItsRank) {
  Options options;
  options.output.history = "h.csv";
  options.checkpoint.folder = "c";
  options.sync.model_steps = 10;
  const Options own = OptionsOfRank(options, 1, 2);
  EXPECT_EQ(own.output.history, "h.csv");
  EXPECT_EQ(own.checkpoint.folder, "c-rank1");
}

TEST(RankOptionsTest, RanksMeetWhereTheyExchangeGradientsOrModels) {
  Options options;
  EXPECT_EQ(StepsBetweenMeetings(options), 1) << "gradients, in every step";
  options.sync.model_steps = 10;
  EXPECT_EQ(StepsBetweenMeetings(options), 10);
  options.sync.model_steps = -1;
  EXPECT_GT(StepsBetweenMeetings(options), 1);
}

}  // namespace
}  // namespace dtnn
