// The list of the clients that may take part changes while the federation runs.

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <mutex>
#include <string>
#include <thread>

#include "comm/federation/testing/identity_fixture.h"
#include "comm/transport/tcp/socket.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tensor/must.h"

namespace dtnn::federation {
namespace {

using std::chrono::milliseconds;
using ::testing::HasSubstr;

TEST_F(IdentityTest, AClientThatIsTakenOffTheListIsGoneByTheNextRound) {
  options_.rounds = 4;
  options_.min_clients = 2;
  options_.round_done = [&](const RoundRecord& record, const FederationState&) {
    records_.push_back(record);
    if (record.round == 2) WriteList({0, 1});
    return absl::OkStatus();
  };
  std::atomic<bool> came = false;
  const Train train = [&](const RoundTask& task, int client) {
    while (!came) std::this_thread::sleep_for(milliseconds(1));
    return Trained(task.parameters, client);
  };
  Start(0, train);
  Start(1, train);
  threads_.emplace_back([&] {
    const auto self = Must(FederationClient::Create(OptionsOf(2), Job()));
    while (true) {
      const absl::StatusOr<RoundTask> task = self->Next();
      if (!task.ok()) {
        EXPECT_THAT(std::string(task.status().message()),
                    HasSubstr("refuses this client: client-2 is no longer on the list"));
        return;
      }
      came = true;
      ASSERT_FALSE(task->over);
      Must(self->Submit(Trained(task->parameters, 2), {.samples = SamplesOf(2)}));
    }
  });
  options_.say = [&](std::string_view line) {
    Note(line);
    if (line.find("client-2 is there") != line.npos) came = true;
  };
  ASSERT_EQ(Run(), absl::OkStatus()) << said();
  JoinAll();
  ASSERT_EQ(records_.size(), 4u);
  for (const RoundRecord& record : records_) {
    const auto has = std::ranges::count(record.clients, "client-2", &Asked::name);
    if (record.round != 1) {
      EXPECT_EQ(has, record.round == 2 ? 1 : 0) << record.round;
    }
  }
  EXPECT_THAT(said(), HasSubstr("client client-2 is sent away: client-2 is no longer on the list"));
}

// Its update was there already.
TEST_F(IdentityTest, NoSumHasTheUpdateOfOneThatIsTakenOffTheList) {
  for (const Protection protection : {Protection::kNone, Protection::kMasked}) {
    records_.clear();
    WriteList({0, 1, 2});
    options_.protection.protection = protection;
    options_.rounds = 1;
    state_ = {};
    state_.parameters.assign(kValues, 1);
    if (!place_.datagrams) {
      if (listener_ < 0) options_.place.listener = Must(Listen(place_.address)).Release();
      listener_ = -1;
    }
    std::atomic<bool> sent = false, changed = false;
    const Train train = [&](const RoundTask& task, int client) {
      while (!sent) std::this_thread::sleep_for(milliseconds(1));
      if (!changed.exchange(true)) WriteList({0, 1});
      AwaitSaid("client client-2 is sent away");
      return Trained(task.parameters, client);
    };
    threads_.emplace_back([&] {
      const auto self = Must(FederationClient::Create(OptionsOf(2), Job()));
      const RoundTask task = Must(self->Next());
      Must(self->Submit(Trained(task.parameters, 2), {.samples = SamplesOf(2)}));
      sent = true;
      EXPECT_FALSE(self->Next().ok());
    });
    Start(0, train, "client-2 is there");
    Start(1, train, "client-2 is there");
    // All three are asked together, and two are enough.
    options_.min_clients = 3;
    options_.say = [&](std::string_view line) {
      Note(line);
      const std::string now = said();
      bool all = true;
      for (const char* client : {"client-0 is there", "client-1 is there", "client-2 is there"}) {
        all = all && now.find(client) != now.npos;
      }
      if (all) options_.min_clients = 2;
    };
    ASSERT_EQ(Run(), absl::OkStatus()) << said();
    JoinAll();
    ASSERT_EQ(records_.size(), 1u);
    EXPECT_EQ(records_[0].attempts, 2u) << said();
    EXPECT_THAT(said(), HasSubstr("it is tried again"));
    EXPECT_LT(Distance(state_.parameters, Wanted({0, 1}, 1)), 2e-5);
    const std::lock_guard lock(mutex_);
    said_.clear();
  }
}

// Else the aggregator has two sums of a round, whose difference is the update of that client.
TEST_F(IdentityTest, NoSumWithTheUpdateOfOneThatIsTakenOffTheListIsRead) {
  struct Sums : FederationObserver {
    void OnStepEnd(Step step, double) override { read += step == Step::kFinish ? 1 : 0; }
    int read = 0;
  } sums;
  options_.observer = &sums;
  options_.protection.protection = Protection::kMasked;
  options_.rounds = 1;
  // All three are asked together, and two are enough.
  options_.say = [&](std::string_view line) {
    Note(line);
    const std::string now = said();
    bool all = true;
    for (const char* client : {"client-0 is there", "client-1 is there", "client-2 is there"}) {
      all = all && now.find(client) != now.npos;
    }
    if (all) options_.min_clients = 2;
  };
  threads_.emplace_back([&] {
    const auto self = Must(FederationClient::Create(OptionsOf(2), Job()));
    const RoundTask task = Must(self->Next());
    WriteList({0, 1});
    Must(self->Submit(Trained(task.parameters, 2), {.samples = SamplesOf(2)}));
    Note("it has sent its update");
    EXPECT_FALSE(self->Next().ok());
  });
  const Train train = [&](const RoundTask& task, int client) {
    AwaitSaid("it has sent its update");
    return Trained(task.parameters, client);
  };
  Start(0, train);
  Start(1, train);
  ASSERT_EQ(Run(), absl::OkStatus()) << said();
  JoinAll();
  ASSERT_EQ(records_.size(), 1u);
  EXPECT_EQ(records_[0].attempts, 2u) << said();
  EXPECT_EQ(sums.read, 1);
  EXPECT_LT(Distance(state_.parameters, Wanted({0, 1}, 1)), 2e-5);
}

TEST_F(IdentityTest, OneThatIsTakenOffTheListDoesNotGetTheLastParameters) {
  options_.rounds = 1;
  options_.round_done = [&](const RoundRecord&, const FederationState&) {
    WriteList({0, 1});
    return absl::OkStatus();
  };
  Start(0);
  Start(1);
  threads_.emplace_back([&] {
    const auto self = Must(FederationClient::Create(OptionsOf(2), Job()));
    const RoundTask task = Must(self->Next());
    Must(self->Submit(Trained(task.parameters, 2), {.samples = SamplesOf(2)}));
    EXPECT_THAT(std::string(self->Next().status().message()),
                HasSubstr("refuses this client: client-2 is no longer on the list"));
  });
  ASSERT_EQ(Run(), absl::OkStatus()) << said();
  JoinAll();
  EXPECT_EQ(final_.size(), 2u);
}

TEST_F(IdentityTest, AClientComesAgainWithItsNewKey) {
  options_.rounds = 4;
  options_.round_done = [&](const RoundRecord& record, const FederationState&) {
    records_.push_back(record);
    if (record.round == 2) {
      NewKey(1);
      WriteList({0, 1, 2});
    }
    return absl::OkStatus();
  };
  StartAll();
  ASSERT_EQ(Run(), absl::OkStatus()) << said();
  JoinAll();
  EXPECT_LT(Distance(state_.parameters, Wanted({0, 1, 2}, 4)), 2e-5);
  EXPECT_THAT(said(), HasSubstr("client client-1 is sent away: the list of clients has another key "
                                "for client-1 now"));
  EXPECT_THAT(said(), HasSubstr("client 1: lost the aggregator at"));
}

TEST_F(IdentityTest, TheOldKeyIsWorthNothingWhenTheListHasAnother) {
  options_.min_clients = 2;
  options_.rounds = 3;
  std::atomic<bool> ended = false;
  options_.round_done = [&](const RoundRecord& record, const FederationState&) {
    if (record.round != 1) return absl::OkStatus();
    const std::string old = KeyFile(1) + ".old";
    std::rename(KeyFile(1).c_str(), old.c_str());
    NewKey(1);
    std::rename(old.c_str(), KeyFile(1).c_str());
    WriteList({0, 1, 2});
    return absl::OkStatus();
  };
  const Train train = [&](const RoundTask& task, int client) {
    while (task.round > 2 && !ended) std::this_thread::sleep_for(milliseconds(1));
    return Trained(task.parameters, client);
  };
  Start(0, train);
  Start(2, train);
  threads_.emplace_back([&] {
    const auto self = Must(FederationClient::Create(OptionsOf(1), Job()));
    absl::StatusOr<RoundTask> task = self->Next();
    while (task.ok() && !task->over) {
      Must(self->Submit(Trained(task->parameters, 1), {.samples = SamplesOf(1)}));
      task = self->Next();
    }
    EXPECT_THAT(std::string(task.status().message()),
                HasSubstr("it does not prove that it is client-1"));
    ended = true;
  });
  ASSERT_EQ(Run(), absl::OkStatus()) << said();
}

TEST_F(IdentityTest, AListThatCannotBeReadIsAnErrorAtTheStart) {
  std::remove(list_.c_str());
  const absl::Status status = Run();
  EXPECT_TRUE(absl::IsNotFound(status)) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr(list_));
}

}  // namespace
}  // namespace dtnn::federation
