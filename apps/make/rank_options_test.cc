#include "apps/make/rank_options.h"

#include "gtest/gtest.h"

namespace dtnn {
namespace {

TEST(RankOptionsTest, EveryPathMayHoldTheRank) {
  Options options;
  for (std::string Options::*path :
       {&Options::dataset_path, &Options::dataset_train_path, &Options::dataset_test_path,
        &Options::weights_and_bias_filename, &Options::history_file, &Options::checkpoint_dir,
        &Options::model_dir}) {
    options.*path = "a/$rank.x";
    EXPECT_EQ(OptionsOfRank(options, 2, 3).*path, "a/2.x");
    options.*path = "";
    EXPECT_EQ(OptionsOfRank(options, 2, 3).*path, "");
  }
}

TEST(RankOptionsTest, OnCommonStorageOnePathIsForAll) {
  Options options;
  options.history_file = "h.csv";
  options.checkpoint_dir = "c";
  EXPECT_EQ(OptionsOfRank(options, 1, 2), options);
}

TEST(RankOptionsTest, OnPrivateStorageEveryRankWritesFilesOfItsOwn) {
  Options options;
  options.shared_storage = false;
  options.dataset_path = "data";
  options.history_file = "out/h.csv";
  options.checkpoint_dir = "c.d/";
  options.model_dir = "m$rank";
  const Options own = OptionsOfRank(options, 1, 2);
  EXPECT_EQ(own.dataset_path, "data");
  EXPECT_EQ(own.history_file, "out/h-rank1.csv");
  EXPECT_EQ(own.checkpoint_dir, "c.d-rank1");
  EXPECT_EQ(own.model_dir, "m1");
  EXPECT_EQ(OptionsOfRank(options, 0, 1).history_file, "out/h.csv");
}

TEST(RankOptionsTest, ModelsOfTheirOwnAreSavedEachByItsRank) {
  Options options;
  options.history_file = "h.csv";
  options.checkpoint_dir = "c";
  options.model_sync_freq = 10;
  const Options own = OptionsOfRank(options, 1, 2);
  EXPECT_EQ(own.history_file, "h.csv");
  EXPECT_EQ(own.checkpoint_dir, "c-rank1");
}

TEST(RankOptionsTest, RanksMeetWhereTheyExchangeGradientsOrModels) {
  Options options;
  EXPECT_EQ(StepsBetweenMeetings(options), 1) << "gradients, in every step";
  options.model_sync_freq = 10;
  EXPECT_EQ(StepsBetweenMeetings(options), 10);
  options.model_sync_freq = -1;
  EXPECT_GT(StepsBetweenMeetings(options), 1);
}

}  // namespace
}  // namespace dtnn
