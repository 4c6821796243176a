// With which code the launcher of an elastic job exits, where other ranks than its own decide how
// the run ends: one that is this process.

#include <signal.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <future>
#include <sstream>
#include <string>

#include "apps/testing/launch_job.h"
#include "apps/testing/process.h"
#include "comm/ranks/elastic/membership.h"
#include "comm/ranks/job/exit_code.h"
#include "comm/ranks/job/rank_process.h"
#include "comm/secrets/crypto/job_secret.h"
#include "comm/transport/tcp/socket.h"
#include "data/testing/idx_files.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tensor/must.h"

namespace dtnn {
namespace {

using ::testing::HasSubstr;
using testing::NewFolder;
using testing::Outcome;
using testing::Process;

constexpr char kSecret[] = "0123456789abcdef0123456789abcdef";

class Job {
 public:
  explicit Job(int ranks, const std::string& range)
      : launch_(testing::kLaunch,
                {"-n", std::to_string(ranks), "--elastic=" + range, "--", "sleep", "1000"}) {}

  Process& launch() { return launch_; }
  // Where its ranks meet.
  const std::string& Address() {
    constexpr char kSays[] = "meet at ";
    if (!address_.empty()) return address_;
    EXPECT_TRUE(launch_.ReadUntil(kSays) && launch_.ReadUntil("\n"));
    const std::string& text = launch_.text();
    const size_t at = text.find(kSays) + sizeof(kSays) - 1;
    return address_ = text.substr(at, text.find('\n', at) - at);
  }
  Membership Rank(std::chrono::milliseconds timeout) {
    return Membership({.coordinator = Must(ParseEndpoint(Address()))}, Must(JobSecret::Of(kSecret)),
                      {.timeout = timeout, .warn_after = timeout});
  }

 private:
  Process launch_;
  std::string address_;
};

class LaunchOutcomeTest : public ::testing::Test {
 protected:
  void SetUp() override { setenv("DTNN_JOB_SECRET", kSecret, 1); }
  void TearDown() override { unsetenv("DTNN_JOB_SECRET"); }

  const std::chrono::milliseconds kLong{30'000};
};

TEST_F(LaunchOutcomeTest, ARunWithTooFewRanksIsAFailure) {
  Job job(0, "2:4");
  Membership alone = job.Rank(std::chrono::milliseconds(300));
  EXPECT_TRUE(absl::IsFailedPrecondition(alone.Form({}).status()));
  const Outcome outcome = job.launch().Wait();
  EXPECT_EQ(outcome.exit_code, kExitFailed) << outcome.text;
  EXPECT_THAT(outcome.text, HasSubstr("launch: --elastic: fewer than the 2 ranks"));
}

TEST_F(LaunchOutcomeTest, ARunWhoseStateIsLostIsAFailure) {
  Job job(0, "1:4");
  {
    Membership lost = job.Rank(kLong);
    ASSERT_TRUE(lost.Form({}).ok());
  }
  const Outcome outcome = job.launch().Wait();
  EXPECT_EQ(outcome.exit_code, kExitFailed) << outcome.text;
  EXPECT_THAT(outcome.text, HasSubstr("all ranks are gone"));
}

TEST_F(LaunchOutcomeTest, ARunThatOthersCompleteIsCompleteEvenIfItsOwnRanksWereLost) {
  for (const int own : {0, 1}) {
    SCOPED_TRACE(own);
    Job job(own, "1:2");
    Membership rank = job.Rank(kLong);
    ASSERT_TRUE(rank.Form({}).ok());
    if (own > 0) {
      ASSERT_EQ(kill(testing::RanksOf(job.launch().pid()).at(0), SIGKILL), 0);
      ASSERT_TRUE(job.launch().ReadUntil("was ended by signal 9"));
    }
    rank.Finish();
    const Outcome outcome = job.launch().Wait();
    EXPECT_EQ(outcome.exit_code, kExitDone) << outcome.text;
  }
}

TEST_F(LaunchOutcomeTest, ARunThatASignalToARankStoppedIsAFailure) {
  Job job(0, "1:2");
  Membership rank = job.Rank(kLong);
  ASSERT_TRUE(rank.Form({}).ok());
  rank.Finish(/*complete=*/false);
  const Outcome outcome = job.launch().Wait();
  EXPECT_EQ(outcome.exit_code, kExitFailed) << outcome.text;
  EXPECT_THAT(outcome.text,
              HasSubstr("the run has failed, or was stopped, before it was complete"));
}

// As a program that knows nothing of ranks that come and go: it works in one generation.
TEST_F(LaunchOutcomeTest, HowAProgramsWorkEndedIsHowTheRunEnded) {
  for (const absl::Status& end : {absl::OkStatus(), absl::InternalError("the disk is full")}) {
    SCOPED_TRACE(end.message());
    SetUp();  // a rank takes the secret from the environment
    Job job(0, "1:1");
    std::ostringstream out, err;
    const absl::Status status = RunAsRank(
        {.transport = Transport::kTcp, .address = job.Address(), .elastic = "1:1"},
        {.communicator = {.timeout = kLong}}, out, err, [&](Communicator&) { return end; });
    EXPECT_EQ(ExitCodeOf(status), end.ok() ? kExitDone : kExitFailed) << status;
    const Outcome outcome = job.launch().Wait();
    EXPECT_EQ(outcome.exit_code, end.ok() ? kExitDone : kExitFailed) << outcome.text;
    EXPECT_EQ(outcome.text.find("before it was complete") == std::string::npos, end.ok());
  }
}

TEST_F(LaunchOutcomeTest, AFailureCountsMoreThanThatOthersAreDone) {
  Job job(0, "2:2");
  Membership one = job.Rank(kLong), other = job.Rank(kLong);
  auto forming = std::async(std::launch::async, [&] { return Must(one.Form({})); });
  ASSERT_TRUE(other.Form({}).ok());
  // The launcher hears ranks in their order.
  const bool in_order = forming.get()->mesh.place.rank == 0;
  Membership &done = in_order ? one : other, &failed = in_order ? other : one;
  // So it hears of both at once.
  ASSERT_EQ(kill(job.launch().pid(), SIGSTOP), 0);
  done.Finish();
  failed.Finish(/*complete=*/false);
  ASSERT_EQ(kill(job.launch().pid(), SIGCONT), 0);
  EXPECT_EQ(job.launch().Wait().exit_code, kExitFailed);
}

TEST_F(LaunchOutcomeTest, ASignalToTheLauncherIsSaidByItsExitCode) {
  Job job(0, "1:2");
  Membership rank = job.Rank(kLong);
  ASSERT_TRUE(rank.Form({}).ok());
  job.launch().Signal(SIGINT);
  EXPECT_EQ(job.launch().Wait().exit_code, ExitCodeOfSignal(SIGINT));
}

TEST_F(LaunchOutcomeTest, WhyNoReplacementIsStartedIsSaid) {
  const std::string program = NewFolder("gone") + "/program";
  std::ofstream(program) << "#!/bin/sh\nrm \"$0\"; kill -9 $$\n";
  std::filesystem::permissions(program, std::filesystem::perms::owner_all);
  const Outcome outcome =
      Process(testing::kLaunch, {"-n", "1", "--elastic=1:1", "--restarts=1", "--", program}).Wait();
  EXPECT_EQ(outcome.exit_code, ExitCodeOfSignal(SIGKILL)) << outcome.text;
  EXPECT_THAT(outcome.text, HasSubstr("no other can be started: "));
  EXPECT_THAT(outcome.text, HasSubstr("No such file or directory"));
}

}  // namespace
}  // namespace dtnn
