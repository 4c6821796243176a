#include "comm/mqtt/mqtt_will.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tensor/must.h"

namespace dtnn {
namespace {

JobSecret Known(char letter) { return Must(JobSecret::Of(std::string(40, letter))); }

TEST(MqttWillTest, OnlyRanksOfTheJobHaveWritten) {
  const Instance who = {.rank = 3, .number = 0x123456789abcdef0};
  const std::vector<uint8_t> will = Must(MakeWill(Known('s'), who));
  EXPECT_EQ(ReadWill(Known('s'), will), who);
  EXPECT_EQ(ReadWill(Known('t'), will), std::nullopt);
  for (size_t at = 0; at < will.size(); ++at) {
    std::vector<uint8_t> changed = will;
    changed[at] ^= 1;
    EXPECT_EQ(ReadWill(Known('s'), changed), std::nullopt) << at;
    EXPECT_EQ(ReadWill(Known('s'), std::span(will).first(at)), std::nullopt) << at;
  }
}

TEST(MqttWillTest, JobsHaveTopicsOfTheirOwn) {
  const std::string topic = Must(JobTopic(Known('s')));
  EXPECT_THAT(topic, ::testing::MatchesRegex("dtnn/[0-9a-f]+"));
  EXPECT_EQ(topic.size(), 5 + 32u);
  EXPECT_EQ(topic, Must(JobTopic(Known('s'))));
  EXPECT_NE(topic, Must(JobTopic(Known('t'))));
}

}  // namespace
}  // namespace dtnn
