#include "comm/federation/aggregator/round_record.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace dtnn::federation {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;

Asked Accepted(int64_t samples, Metrics metrics) {
  return {.state = Asked::State::kAccepted,
          .report = {.samples = samples, .metrics = std::move(metrics)}};
}

TEST(RoundRecordTest, MetricsOfAllAreWeightedWithSamples) {
  RoundRecord record = {.clients = {Accepted(100, {{"loss", 1}, {"own", 7}, {"accuracy", 50}}),
                                    Accepted(300, {{"accuracy", 90}, {"loss", 3}})}};
  SumReports(record);
  EXPECT_EQ(record.samples, 400);
  EXPECT_THAT(record.metrics, ElementsAre(Pair("loss", 2.5), Pair("accuracy", 80)));
}

TEST(RoundRecordTest, WhoIsLeftOutDoesNotCount) {
  RoundRecord record = {.clients = {Accepted(100, {{"loss", 1}}), Accepted(900, {{"loss", 9}})}};
  record.clients[1].state = Asked::State::kLeftOut;
  SumReports(record);
  EXPECT_EQ(record.samples, 100);
  EXPECT_THAT(record.metrics, ElementsAre(Pair("loss", 1)));
}

TEST(RoundRecordTest, WithoutMetricsThereAreNone) {
  RoundRecord record = {.clients = {Accepted(10, {})}};
  SumReports(record);
  EXPECT_THAT(record.metrics, IsEmpty());
}

}  // namespace
}  // namespace dtnn::federation
