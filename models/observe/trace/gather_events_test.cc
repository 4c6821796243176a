#include "models/observe/trace/gather_events.h"

#include <vector>

#include "comm/local.h"
#include "gtest/gtest.h"
#include "tensor/errors.h"

namespace dtnn {
namespace {

// Rank r has told r * 20000 events, the first of them at 1000 - r.
absl::Status Gather(Communicator* communicator, const EventTaker& taker) {
  const int rank = communicator == nullptr ? 0 : communicator->rank();
  EventLog log(rank == 0 ? 1 : 100'000);
  for (int64_t i = 0; i < rank * 20'000; ++i) {
    log.End({.activity = Activity::kStep, .samples = i, .begin = 1000 - rank + i, .end = 100'000});
  }
  return GatherEvents(log, communicator, ClockOffset(), taker);
}

int64_t Steps(const RankEvents& rank) {
  int64_t steps = 0;
  for (const LoggedEvent& logged : rank.events) {
    if (logged.event.activity != Activity::kStep) continue;
    EXPECT_EQ(logged.event.samples, steps) << "rank " << rank.rank;
    EXPECT_EQ(logged.event.begin, 1000 - rank.rank + steps);
    ++steps;
  }
  return steps;
}

TEST(GatherEventsTest, RankZeroGetsThoseOfAllInTheirOrder) {
  const absl::Status status = RunRanks(3, [](Communicator& communicator) {
    int64_t origin = -1;
    std::vector<int64_t> steps;
    const absl::Status gathered =
        Gather(&communicator, {.begin =
                                   [&](int64_t first) {
                                     origin = first;
                                     return absl::OkStatus();
                                   },
                               .take =
                                   [&](const RankEvents& rank) {
                                     EXPECT_EQ(rank.rank, int(steps.size()));
                                     steps.push_back(Steps(rank));
                                     return absl::OkStatus();
                                   }});
    if (communicator.rank() == 0) {
      EXPECT_EQ(origin, 998) << "the earliest of all";
      EXPECT_EQ(steps, (std::vector<int64_t>{0, 20'000, 40'000}));
    } else {
      EXPECT_TRUE(steps.empty());
    }
    return gathered;
  });
  EXPECT_TRUE(status.ok()) << status;
}

TEST(GatherEventsTest, AnErrorOfTheTakerDoesNotKeepTheOthers) {
  const absl::Status status = RunRanks(3, [](Communicator& communicator) {
    int taken = 0;
    const absl::Status gathered = Gather(
        &communicator, {.begin = [](int64_t) { return absl::OkStatus(); },
                        .take =
                            [&](const RankEvents&) {
                              return ++taken == 2 ? DataLoss("the disk is full") : absl::OkStatus();
                            }});
    EXPECT_EQ(gathered.ok(), communicator.rank() != 0) << gathered;
    EXPECT_EQ(taken, communicator.rank() == 0 ? 2 : 0);
    return communicator.Barrier();
  });
  EXPECT_TRUE(status.ok()) << status;
}

// What another rank says becomes an index.
TEST(GatherEventsTest, EventsThatNoRankCanHaveAreRefused) {
  for (const int64_t wrong : {0, 1, 2}) {  // among others
    const absl::Status status = RunRanks(2, [&](Communicator& communicator) {
      EventLog log(1000);
      for (int64_t i = 0; i < 3; ++i) {
        const bool bad = communicator.rank() == 1 && i == wrong;
        log.End({.activity = bad ? Activity(250) : Activity::kStep, .end = 1 + i});
      }
      return GatherEvents(log, &communicator, ClockOffset(),
                          {.begin = [](int64_t) { return absl::OkStatus(); },
                           .take = [](const RankEvents&) { return absl::OkStatus(); }});
    });
    EXPECT_TRUE(absl::IsDataLoss(status)) << status;
    EXPECT_NE(status.message().find("rank 1 told events that no rank can have"), std::string::npos);
  }
}

TEST(GatherEventsTest, OneRankNeedsNoCommunicator) {
  int taken = 0;
  EXPECT_TRUE(Gather(nullptr, {.begin = [](int64_t) { return absl::OkStatus(); },
                               .take =
                                   [&](const RankEvents&) {
                                     ++taken;
                                     return absl::OkStatus();
                                   }})
                  .ok());
  EXPECT_EQ(taken, 1);
}

}  // namespace
}  // namespace dtnn
