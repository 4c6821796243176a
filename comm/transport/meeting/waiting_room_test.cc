#include "comm/transport/meeting/waiting_room.h"

#include <set>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace dtnn {
namespace {

using ::testing::ElementsAre;
using Time = std::chrono::steady_clock::time_point;

const Time kNow = Time() + std::chrono::hours(1);

// All that may be dropped.
std::set<size_t> Dropped(const std::vector<WaitingCaller>& callers, Time now = kNow) {
  std::set<size_t> dropped;
  for (uint64_t random = 0; random < 10 * uint64_t(kSilence.count()); ++random) {
    dropped.insert(CallerToDrop(callers, now, random));
  }
  return dropped;
}

TEST(WaitingRoomTest, AnyOfTheAddressWithMostPlacesForAnotherAddress) {
  EXPECT_THAT(Dropped({{"b", kNow - kSilence},
                       {"a", kNow - kSilence},
                       {"a", kNow},
                       {"a", kNow - 2 * kSilence},
                       {"b", kNow}}),
              ElementsAre(1, 2, 3));
}

TEST(WaitingRoomTest, OnlyThoseThatAreSilentForOneOfTheSame) {
  EXPECT_THAT(Dropped({{"a", kNow - kSilence}, {"a", kNow}, {"a", kNow}}), ElementsAre(0));
  EXPECT_THAT(Dropped({{"a", kNow}, {"a", kNow}, {"a", kNow}}), ElementsAre(2));
  // Addresses with equally many places compete too.
  EXPECT_THAT(Dropped({{"a", kNow}, {"b", kNow}, {"a", kNow}, {"b", kNow}}), ElementsAre(3));
}

TEST(WaitingRoomTest, TheLongerTheSilenceTheLikelier) {
  for (const int share : {0, 1, 2, 4}) {
    const std::vector<WaitingCaller> callers = {{"a", kNow - share * kSilence / 4}, {"a", kNow}};
    int dropped = 0;
    for (uint64_t random = 0; random < uint64_t(kSilence.count()); ++random) {
      dropped += CallerToDrop(callers, kNow, random) == 0;
    }
    EXPECT_EQ(dropped, share * kSilence.count() / 4);
  }
}

TEST(WaitingRoomTest, ANewcomerAloneIsTheOnlyOneToDrop) {
  EXPECT_THAT(Dropped({{"a", kNow}}), ElementsAre(0));
}

}  // namespace
}  // namespace dtnn
