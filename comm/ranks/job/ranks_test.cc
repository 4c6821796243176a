#include "comm/ranks/job/ranks.h"

#include <array>
#include <memory>
#include <vector>

#include "comm/local.h"
#include "comm/ranks/job/exit_code.h"
#include "gtest/gtest.h"

namespace dtnn {
namespace {

TEST(RanksTest, WithoutOthersOneAgreesWithOneself) {
  EXPECT_TRUE(Agree(nullptr, absl::OkStatus()).ok());
  EXPECT_EQ(Agree(nullptr, absl::NotFoundError("x")), absl::NotFoundError("x"));
}

// What each of three ranks answers where the ranks fare like that.
std::array<absl::Status, 3> Answers(const std::array<absl::Status, 3>& fare) {
  std::array<absl::Status, 3> answers;
  EXPECT_TRUE(RunRanks(3, [&](Communicator& communicator) {
                answers[size_t(communicator.rank())] =
                    Agree(&communicator, fare[size_t(communicator.rank())]);
                return absl::OkStatus();
              }).ok());
  return answers;
}

TEST(RanksTest, AllAreWell) {
  for (const absl::Status& answer : Answers({})) EXPECT_TRUE(answer.ok()) << answer;
}

TEST(RanksTest, OneThatIsNotEndsAll) {
  const absl::Status usage = UsageError("--x: wrong");
  const auto answers = Answers({absl::OkStatus(), usage, absl::NotFoundError("file")});
  const absl::Status other = WithExitCode(absl::AbortedError("rank 1 cannot continue"), kExitUsage);
  EXPECT_EQ(answers[0], other);
  EXPECT_EQ(answers[1], usage);
  EXPECT_EQ(answers[2], other);
}

TEST(RanksTest, AnotherRankIsLostWhereItDoesNotAnswer) {
  EXPECT_TRUE(IsLossOfPeer(absl::UnavailableError("")));
  EXPECT_TRUE(IsLossOfPeer(absl::DeadlineExceededError("")));
  for (const absl::Status& other :
       {absl::OkStatus(), absl::AbortedError(""), absl::CancelledError(""),
        absl::InvalidArgumentError(""), absl::DataLossError("")}) {
    EXPECT_FALSE(IsLossOfPeer(other)) << other;
  }
}

TEST(RanksTest, TheLowestRankLeftIsNoneOfTheLost) {
  std::vector<std::unique_ptr<Communicator>> ranks = *LocalGroup::Create(3);
  EXPECT_EQ(LowestRankLeft(*ranks[2]), 0);
  ranks[0]->Abort(absl::DataLossError("x"));
  EXPECT_EQ(LowestRankLeft(*ranks[2]), 1);
}

}  // namespace
}  // namespace dtnn
