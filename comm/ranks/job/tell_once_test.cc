#include "comm/ranks/job/tell_once.h"

#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include "comm/local.h"
#include "comm/ranks/job/exit_code.h"
#include "gtest/gtest.h"

namespace dtnn {
namespace {

constexpr int kOfLoss = 75;

// The error of a rank of three, of which `lost` gave up.
absl::Status Told(int rank, const absl::Status& status, int lost = -1) {
  std::vector<std::unique_ptr<Communicator>> ranks = *LocalGroup::Create(3);
  if (lost >= 0) ranks[size_t(lost)]->Abort(absl::DataLossError("x"));
  return ErrorOfRank(*ranks[size_t(rank)], status, kOfLoss);
}

TEST(ErrorOfRankTest, AnErrorNamesItsRank) {
  EXPECT_EQ(Told(1, absl::OkStatus()), absl::OkStatus());
  const absl::Status error = Told(1, UsageError("--x: wrong"));
  EXPECT_EQ(error.message(), "rank 1: --x: wrong");
  EXPECT_EQ(ExitCodeOf(error), kExitUsage);
  EXPECT_EQ(ExitCodeOf(Told(1, absl::NotFoundError("x"))), kExitFailed);
}

TEST(ErrorOfRankTest, WhatAnotherRankSaysIsNotSaidAgain) {
  EXPECT_EQ(Told(0, absl::AbortedError("rank 1 cannot continue")).message(), "");
  EXPECT_EQ(Told(0, absl::CancelledError("a signal")).message(), "rank 0: a signal");
  EXPECT_EQ(Told(1, absl::CancelledError("a signal")).message(), "");
  EXPECT_FALSE(Told(1, absl::CancelledError("a signal")).ok());
}

// The lost one, and the lowest of the others.
TEST(ErrorOfRankTest, ALossIsToldByTwo) {
  const absl::Status loss = absl::UnavailableError("rank 0 is gone");
  EXPECT_EQ(Told(0, loss, /*lost=*/0).message(), "rank 0: rank 0 is gone");
  EXPECT_EQ(Told(1, loss, /*lost=*/0).message(), "rank 1: rank 0 is gone");
  EXPECT_EQ(Told(2, loss, /*lost=*/0).message(), "");
  EXPECT_EQ(Told(0, loss, /*lost=*/2).message(), "rank 0: rank 0 is gone");
  EXPECT_EQ(Told(1, loss, /*lost=*/2).message(), "");
  for (const int rank : {0, 1, 2}) {
    EXPECT_EQ(ExitCodeOf(Told(rank, loss, 0)), kOfLoss);
    EXPECT_EQ(ExitCodeOf(Told(rank, loss)), kExitFailed) << "nobody is lost";
    EXPECT_EQ(ExitCodeOf(Told(rank, absl::DataLossError("x"), 0)), kExitFailed);
  }
}

TEST(TellOnceTest, AloneItIsTheErrorItself) {
  std::ostringstream out, err;
  const absl::Status wrong = UsageError("--x: wrong");
  EXPECT_EQ(TellOnce(wrong, {}, "program", out, err), wrong);
  EXPECT_EQ(TellOnce(wrong, {.launched = true, .ranks = 1}, "program", out, err), wrong);
  EXPECT_EQ(out.str() + err.str(), "");
}

}  // namespace
}  // namespace dtnn
