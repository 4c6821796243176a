#include "comm/federation/factors.h"

#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace dtnn::federation {
namespace {

using ::testing::DoubleEq;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(FactorsTest, AreWeightsOverTheLargest) {
  const std::vector<int64_t> samples = {100, 300, 200};
  EXPECT_THAT(ClientFactors(RankWeighting::kEqual, samples), ElementsAre(1, 1, 1));
  EXPECT_THAT(ClientFactors(RankWeighting::kSamples, samples),
              ElementsAre(DoubleEq(100.0 / 300), 1, DoubleEq(200.0 / 300)));
  EXPECT_THAT(ClientFactors(RankWeighting::kInverseSamples, samples),
              ElementsAre(1, DoubleEq(100.0 / 300), DoubleEq(200.0 / 300)));
  EXPECT_THAT(ClientFactors(RankWeighting::kSamples, std::vector<int64_t>{7}), ElementsAre(1));
}

TEST(FactorsTest, StepsDivideWeights) {
  EXPECT_THAT(ClientFactors(RankWeighting::kSamples, std::vector<int64_t>{100, 300, 200},
                            std::vector<int64_t>{1, 6, 1}),
              ElementsAre(DoubleEq(0.5), DoubleEq(0.25), 1));
}

// Equal weights are those of clients: three behind one have three times its weight.
TEST(FactorsTest, ClientsBehindOneMultiplyEqualWeights) {
  const std::vector<int64_t> samples = {100, 300}, clients = {1, 3};
  EXPECT_THAT(ClientFactors(RankWeighting::kEqual, samples, {}, clients),
              ElementsAre(DoubleEq(1.0 / 3), 1));
  EXPECT_THAT(ClientFactors(RankWeighting::kSamples, samples, {}, clients),
              ElementsAre(DoubleEq(1.0 / 3), 1))
      << "these are the samples of all of them already";
  const GroupSize told = {.clients = 4, .samples = 1000}, answered = {.clients = 3, .samples = 100};
  EXPECT_EQ(ShareOfGroup(RankWeighting::kEqual, told, answered), 0.75);
  EXPECT_EQ(ShareOfGroup(RankWeighting::kSamples, told, answered), 0.1);
}

TEST(FactorsTest, OneThatCountsForAllIsEffectivelyAlone) {
  EXPECT_DOUBLE_EQ(EffectiveNumber(std::vector<double>(5, 0.25)), 5);
  EXPECT_DOUBLE_EQ(EffectiveNumber(std::vector<double>{1, 0.5}), 1.8);
  EXPECT_NEAR(EffectiveNumber(std::vector<double>{1, 1e-12, 1e-12}), 1, 1e-9);
  EXPECT_EQ(EffectiveNumber({}), 0);
}

TEST(FactorsTest, TheLeastIsIncluded) {
  for (const int clients : {1, 2, 3, 7, 64}) {
    const std::vector<double> equal(size_t(clients), 1.0 / 3);
    EXPECT_EQ(CheckHidden(equal, clients), absl::OkStatus()) << clients;
    EXPECT_TRUE(absl::IsFailedPrecondition(CheckHidden(equal, clients + 0.001))) << clients;
  }
  const absl::Status status = CheckHidden(std::vector<double>{1, 0.1}, 1.5);
  EXPECT_THAT(std::string(status.message()),
              HasSubstr("the 2 clients of this sum hide one update no better than 1.2 equal ones"));
  EXPECT_THAT(std::string(status.message()), HasSubstr("wants 1.5 (least_clients)"));
}

TEST(FactorsTest, TheClientsThatAreLeftMayNotWeighTooLittle) {
  EXPECT_EQ(CheckWeightLeft(1.0 / 16), absl::OkStatus());
  EXPECT_EQ(CheckWeightLeft(0.0625 * 0.999).message(),
            "the clients that are left have 0.0624375 of the weight of the largest one that was "
            "asked: rounding would drown their mean");
  EXPECT_EQ(CheckPlainWeightLeft(3 * 0x1p-20, 3), absl::OkStatus());
  EXPECT_EQ(CheckPlainWeightLeft(0x1p-20, 2).message(),
            "the clients that are left have 9.53674e-07 of the weight of the largest one that was "
            "asked: rounding would drown their mean");
}

}  // namespace
}  // namespace dtnn::federation
