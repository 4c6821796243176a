#include "models/run/parts/make_trainer_options.h"

#include <cstdint>
#include <sstream>
#include <string>

#include "comm/local.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace dtnn {
namespace {

TEST(MakeTrainerOptionsTest, OneRankLearnsAtTheRateAsGiven) {
  RunOptions options;
  options.optimizer.learning_rate = 0.3;
  options.optimizer.learning_rate_scaling = RateScaling::kDivide;
  const TrainerOptions made = MakeTrainerOptions(options, {}, nullptr, nullptr);
  EXPECT_EQ(made.learning_rate, 0.3);
  EXPECT_EQ(made.communicator, nullptr);
  EXPECT_EQ(made.model_sync.frequency, 0);
  EXPECT_FALSE(made.whole_steps);
  EXPECT_TRUE(made.choose_buckets);
}

TEST(MakeTrainerOptionsTest, WholeStepsAreForRunsThatContinueFromThem) {
  RunOptions options;
  options.checkpoint.folder = "x";
  EXPECT_TRUE(MakeTrainerOptions(options, {}, nullptr, nullptr).whole_steps);
  options.ranks.parallel = Parallel::kFederated;
  EXPECT_FALSE(MakeTrainerOptions(options, {}, nullptr, nullptr).whole_steps);
  options.checkpoint.folder = "";
  options.ranks = {.parallel = Parallel::kData, .elastic = "1:2"};
  EXPECT_TRUE(MakeTrainerOptions(options, {}, nullptr, nullptr).whole_steps);
}

// Per rank and step, of 1000 gradients.
TEST(MakeTrainerOptionsTest, WhatRanksExchangeInBytes) {
  RunOptions options;
  options.ranks.parallel = Parallel::kData;
  EXPECT_EQ(ExchangedBytes(options, 1000), 4000);
  options.sync.compression = "bf16";
  EXPECT_EQ(ExchangedBytes(options, 1000), 2000);
  options.sync.compression = "none";
  options.network.dtype = DType::kFloat64;
  EXPECT_EQ(ExchangedBytes(options, 1000), 8000);
  options.network.dtype = DType::kFloat32;
  // Index and value of 10 gradients go to one rank, and the sum's value to all: 4 bytes each.
  options.optimizer.name = "oktopk";
  options.optimizer.density = 0.01;
  EXPECT_DOUBLE_EQ(ExchangedBytes(options, 1000), 120);
  // Numbers of 60 bits, of sums twice as many; an all-reduce of plain ones sends two of each.
  options.optimizer.name = "sgd";
  options.encryption.kind = "tenseal";
  EXPECT_EQ(ExchangedBytes(options, 1000), 11250);
  options.encryption.global_scale = 61;  // two primes of 41 bits
  EXPECT_EQ(ExchangedBytes(options, 1000), 15375);
}

TEST(MakeTrainerOptionsTest, VariantsAndTheirNames) {
  RunOptions options;
  options.convolution.best_of_methods = {"convdirect_block_blis_nhwc_blis", "planar",
                                         "convdirect_block_blis_nhwc_8x12"};
  EXPECT_THAT(BestOfNames(options),
              ::testing::ElementsAre(::testing::Pair("direct", "planar"),
                                     ::testing::Pair("gemm", "convdirect_block_blis_nhwc_blis")));
  options.convolution.variant = "winograd";
  EXPECT_EQ(ConvVariantOf(options), "winograd");
  EXPECT_EQ(MakeTrainerOptions(options, {}, nullptr, nullptr).conv_variant, "winograd");
}

TEST(MakeTrainerOptionsTest, RanksSynchroniseAsTheyWereTold) {
  RunOptions options;
  options.optimizer.learning_rate = 0.3;
  options.optimizer.learning_rate_scaling = RateScaling::kMultiply;
  options.checkpoint.folder = "x";
  options.sync.bucket_mb = "0.5";
  options.sync.blocking = false;
  options.sync.model_steps = -2;
  options.sync.participation = Participation::kWithData;
  options.sync.min_available = 1;
  options.sync.initial_model = false;
  options.sync.final_model = false;
  const auto ranks = *LocalGroup::Create(2);
  for (const RankWeighting weighting :
       {RankWeighting::kEqual, RankWeighting::kSamples, RankWeighting::kInverseSamples}) {
    options.sync.weighting = weighting;
    const TrainerOptions made = MakeTrainerOptions(options, {}, nullptr, ranks[1].get());
    EXPECT_EQ(made.learning_rate, 0.6);
    EXPECT_EQ(made.communicator, ranks[1].get());
    EXPECT_EQ(made.model_sync.frequency, -2);
    EXPECT_EQ(made.model_sync.weighting, weighting);
    EXPECT_EQ(made.model_sync.participation, Participation::kWithData);
    EXPECT_EQ(made.model_sync.min_available, 1);
    EXPECT_FALSE(made.initial_model_sync || made.final_model_sync || made.sync_batch_norm);
    EXPECT_EQ(made.reducer.bucket_bytes, 1 << 19);
    EXPECT_FALSE(made.choose_buckets);
    EXPECT_FALSE(made.reducer.blocking);
    EXPECT_TRUE(made.whole_steps);
  }
}

}  // namespace
}  // namespace dtnn
