#include "models/training/ranks/share_decisions.h"

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "comm/local.h"
#include "gtest/gtest.h"

namespace dtnn {
namespace {

BestOfKey Key(const std::string& problem) { return BestOfKey::Here("op", "there", problem); }

TEST(ShareDecisionsTest, AllRanksHaveThoseOfRankZero) {
  constexpr int kRanks = 3;
  std::vector<std::string> common(kRanks), own(kRanks);
  std::vector<int64_t> known(kRanks);
  const absl::Status status = RunRanks(kRanks, [&](Communicator& communicator) -> absl::Status {
    const int rank = communicator.rank();
    const size_t r = size_t(rank);
    const std::string name = absl::StrCat("of_rank_", rank);
    BestOf::Options options;
    options.known.Add(Key("common"), {.chosen = name, .candidates = {{name, 1.5}, {"x", {}}}});
    options.known.Add(Key(name), {.chosen = name, .candidates = {{name, {}}}});
    BestOfKey elsewhere = Key("common");  // a line of a file that serves several machines
    elsewhere.machine = "AVX2@Else-1-2";
    if (rank == 0) options.known.Add(elsewhere, {.chosen = "else", .candidates = {{"else", {}}}});
    BestOfKey gpu = Key("common");
    gpu.machine = "gpu:any-library1";
    if (rank == 0) options.known.Add(gpu, {.chosen = "plan", .candidates = {{"plan", {}}}});
    BestOf best_of(options);
    const absl::Status shared = ShareDecisions(communicator, best_of);
    if (!shared.ok()) return shared;
    EXPECT_EQ(best_of.decisions().Find(elsewhere) != nullptr, rank == 0);
    EXPECT_NE(best_of.decisions().Find(gpu), nullptr);
    common[r] = best_of.Choose(Key("common"), [] { return absl::InternalError("timed"); }).value();
    own[r] = best_of.decisions().Find(Key(name))->chosen;
    known[r] = int64_t(best_of.decisions().all().size());
    return absl::OkStatus();
  });
  ASSERT_TRUE(status.ok()) << status;
  for (size_t r = 0; r < kRanks; ++r) {
    EXPECT_EQ(common[r], "of_rank_0");
    EXPECT_EQ(own[r], absl::StrCat("of_rank_", r));
    EXPECT_EQ(known[r], 4);
  }
}

// Nothing is known on any rank, or on rank 0.
TEST(ShareDecisionsTest, RankZeroMayKnowNothing) {
  const absl::Status status = RunRanks(2, [&](Communicator& communicator) -> absl::Status {
    BestOf::Options options;
    if (communicator.rank() == 1) {
      options.known.Add(Key("y"), {.chosen = "a", .candidates = {{"a", 1}}});
    }
    BestOf best_of(options);
    const absl::Status shared = ShareDecisions(communicator, best_of);
    EXPECT_EQ(best_of.decisions().all().size(), size_t(communicator.rank()));
    return shared;
  });
  EXPECT_TRUE(status.ok()) << status;
}

}  // namespace
}  // namespace dtnn
