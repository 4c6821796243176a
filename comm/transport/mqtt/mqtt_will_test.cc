#include "comm/transport/mqtt/mqtt_will.h"

#include <cstring>
#include <string>
#include <vector>

#include "comm/secrets/crypto/random_secret.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tensor/must.h"

namespace dtnn {
namespace {

JobSecret Known(char letter) { return Must(JobSecret::Of(std::string(40, letter))); }

TEST(MqttWillTest, OnlyTheRankItselfHasWritten) {
  const JobSecret secret = Known('s');
  const Secret token = Must(RandomSecret());
  const Instance who = {.rank = 3, .number = Must(NumberOf(secret, token))};
  const std::vector<uint8_t> will = MakeWill(3, token);
  EXPECT_EQ(ReadWill(secret, will), who);
  EXPECT_NE(ReadWill(Known('t'), will), who);
  for (size_t at = 0; at < will.size(); ++at) {
    std::vector<uint8_t> changed = will;
    changed[at] ^= 1;
    EXPECT_NE(ReadWill(secret, changed), who) << at;
    EXPECT_EQ(ReadWill(secret, std::span(will).first(at)), std::nullopt) << at;
  }
  std::vector<uint8_t> longer = will;
  longer.push_back(0);
  EXPECT_EQ(ReadWill(secret, longer), std::nullopt);
}

// What other processes know of a rank: the secret, and the number of its instance.
TEST(MqttWillTest, TheNumberOfAnInstanceDoesNotMakeItsWill) {
  const JobSecret secret = Known('s');
  const uint64_t number = Must(NumberOf(secret, Must(RandomSecret())));
  Secret guess;
  std::memcpy(guess.bytes().data(), &number, sizeof(number));
  EXPECT_NE(ReadWill(secret, MakeWill(3, guess))->number, number);
}

TEST(MqttWillTest, JobsHaveTopicsOfTheirOwn) {
  const std::string topic = Must(JobTopic(Known('s')));
  EXPECT_THAT(topic, ::testing::MatchesRegex("dtnn/[0-9a-f]+"));
  EXPECT_EQ(topic.size(), 5 + 32u);
  EXPECT_EQ(topic, Must(JobTopic(Known('s'))));
  EXPECT_NE(topic, Must(JobTopic(Known('t'))));
}

TEST(MqttWillTest, RankZerosTopicIsLikeNoOther) {
  EXPECT_EQ(TopicOfRank("dtnn/1", 0), "dtnn/1/0");
  EXPECT_EQ(TopicOfRank("dtnn/1", 10), "dtnn/1/others/10");
}

}  // namespace
}  // namespace dtnn
