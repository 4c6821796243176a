// Clients that prove their names, and some that cannot.

#include <atomic>
#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "comm/federation/client/ask_classes.h"
#include "comm/federation/identity/identity.h"
#include "comm/federation/testing/identity_fixture.h"
#include "comm/transport/tls/testing/host_files.h"
#include "comm/transport/tls/tls_stream.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tensor/must.h"

namespace dtnn::federation {
namespace {

using std::chrono::milliseconds;
using ::testing::HasSubstr;
using ::testing::Not;

TEST_F(IdentityTest, ThoseOnTheListTrain) {
  StartAll();
  ASSERT_EQ(Run(), absl::OkStatus()) << said();
  JoinAll();
  ASSERT_EQ(final_.size(), 3u);
  EXPECT_LT(Distance(state_.parameters, Wanted({0, 1, 2}, 2)), 2e-5);
  EXPECT_THAT(said(), Not(HasSubstr("refused")));
}

TEST_F(IdentityTest, OthersAreRefusedWithTheReason) {
  threads_.emplace_back([&] {
    ClientOptions anothers = OptionsOf(1);
    anothers.identity_key_file = KeyFile(2);
    EXPECT_THAT(RefusalOf(anothers), HasSubstr("refuses this client: it does not prove that it is "
                                               "client-1: "));
    EXPECT_THAT(RefusalOf(OptionsOf(3)),
                HasSubstr("refuses this client: it does not prove that it is client-3: "));
    ClientOptions without = OptionsOf(1);
    without.identity_key_file.clear();
    const char* const no_proof =
        "takes clients that prove their names; start it with the file of its identity key";
    EXPECT_THAT(RefusalOf(without), HasSubstr(no_proof));
    EXPECT_THAT(RefusalOf(PlainOptionsOf(1)), HasSubstr(no_proof));
    Note("all were refused");
  });
  StartAll("all were refused");
  ASSERT_EQ(Run(), absl::OkStatus()) << said();
  JoinAll();
  EXPECT_EQ(final_.size(), 3u);
  EXPECT_THAT(said(), HasSubstr("no client called client-3 is on the list"));
}

// A client that says hello in its own name takes nobody's place with it.
TEST_F(IdentityTest, NobodyEndsAnotherByItsName) {
  options_.rounds = 3;
  std::atomic<bool> tried = false;
  threads_.emplace_back([&] {
    AwaitSaid("client client-1 is there");
    RawClient raw(place_);
    raw.SendHello(GoodHello("client-1"));
    const std::optional<Frame> frame = raw.Await(FrameKind::kRefusal);
    EXPECT_THAT(frame ? TextFromBytes(frame->body) : "no refusal", HasSubstr("prove their names"));
    tried = true;
  });
  StartAll("", [&](const RoundTask& task, int client) {
    while (!tried) std::this_thread::sleep_for(milliseconds(1));
    return Trained(task.parameters, client);
  });
  ASSERT_EQ(Run(), absl::OkStatus()) << said();
  JoinAll();
  EXPECT_LT(Distance(state_.parameters, Wanted({0, 1, 2}, 3)), 2e-5);
  EXPECT_THAT(said(), Not(HasSubstr("has come again")));
}

TEST_F(IdentityTest, ClassesAreToldToThoseOnTheList) {
  options_.classes = {.outputs = 2, .names = {"a", "b"}};
  threads_.emplace_back([&] {
    CallOptions call = {.place = place_,
                        .identity = {.name = "client-1",
                                     .key_file = KeyFile(1),
                                     .aggregator = OptionsOf(1).aggregator_key},
                        .timeout = std::chrono::seconds(60)};
    EXPECT_EQ(Must(AskClasses(call, Job())).names, options_.classes.names);
    call.identity.key_file = KeyFile(2);
    EXPECT_THAT(std::string(AskClasses(call, Job()).status().message()),
                HasSubstr("does not prove that it is client-1"));
    call.identity = {};
    EXPECT_TRUE(absl::IsFailedPrecondition(AskClasses(call, Job()).status()));
    Note("all asked");
  });
  StartAll("all asked");
  ASSERT_EQ(Run(), absl::OkStatus()) << said();
}

TEST_F(IdentityTest, AnAggregatorWithoutTheKeyIsLeft) {
  threads_.emplace_back([&] {
    ClientOptions other = OptionsOf(1);
    other.aggregator_key = keys_.at(3);
    EXPECT_THAT(TroubleOf(other), HasSubstr("does not prove that it has the aggregator's key " +
                                            ToText(keys_.at(3))));
    Note("it is left");
  });
  StartAll("it is left");
  ASSERT_EQ(Run(), absl::OkStatus()) << said();
}

TEST_F(IdentityTest, AnAggregatorWithoutAKeyIsLeftByThoseWhoExpectOne) {
  options_.identity = std::nullopt;
  options_.allowed_clients.clear();
  options_.rounds = options_.min_clients = 1;
  threads_.emplace_back([&] {
    ClientOptions expects = PlainOptionsOf(1);
    expects.aggregator_key = keys_.at(3);
    EXPECT_THAT(TroubleOf(expects), HasSubstr("has no key, but this client expects"));
    Note("it is left");
  });
  tune_ = nullptr;
  Start(0, nullptr, "it is left");
  ASSERT_EQ(Run(), absl::OkStatus()) << said();
}

// More than have a place; clients prove their names in places of their own.
TEST_F(IdentityTest, CallersThatProveNothingDoNotKeepOutClients) {
  options_.rounds = 1;
  options_.hello_time = std::chrono::seconds(60);  // all are there at the same time
  threads_.emplace_back([&] {
    std::vector<std::unique_ptr<RawClient>> silent;
    for (int i = 0; i < 70; ++i) silent.push_back(std::make_unique<RawClient>(place_));
    Note("all are silent");
    for (const char* client : {"client-0", "client-1", "client-2"}) {
      AwaitSaid(StrCat("client ", client, " is there"));
    }
  });
  StartAll("all are silent");
  ASSERT_EQ(Run(), absl::OkStatus()) << said();
  JoinAll();
  EXPECT_THAT(said(), HasSubstr("there are 64 connections without a proof already"));
}

// One that knows the secret and stands between a client and the aggregator passes on all that they
// say.
TEST_F(IdentityTest, AProofThatIsPassedOnProvesNothing) {
  options_.rounds = 1;
  MeetingPlace between = place_;
  if (place_.datagrams) {
    if (PlaceUnderTest()) between = PlaceUnderTest()();
  } else {  // two connections over TLS, with certificates of this host
    const StreamMaker tls = Must(TlsStreams(testing::WriteHostFiles(::testing::TempDir())));
    options_.place.stream = place_.stream = between.stream = tls;
    Socket listener = Must(Listen({.host = "127.0.0.1", .port = 0}));
    between.address = Must(listener.Local());
    between.listener = listener.Release();
  }
  const JobSecret other_job = Must(JobSecret::Of(std::string(40, 'b')));  // its topics are others
  threads_.emplace_back([&] {
    const std::unique_ptr<Door> door =
        Must(OpenDoor(between, other_job, {.timeout = std::chrono::seconds(60)}));
    std::unique_ptr<Channel> victim;
    while (victim == nullptr) {
      std::vector<pollfd> descriptors;
      door->AddTo(descriptors);
      poll(descriptors.data(), nfds_t(descriptors.size()), 20);
      for (Caller& caller : Must(door->Advance(descriptors, Door::Clock::now()))) {
        victim = std::make_unique<Channel>(std::move(caller.stream), caller.address);
      }
    }
    RawClient raw(place_);
    const auto any = [](const FrameHeader&) { return std::optional<size_t>(1 << 20); };
    const auto pass_on = [&](FrameKind kind) {
      absl::StatusOr<std::optional<Frame>> frame = std::nullopt;
      while (frame.ok() && !*frame) {
        frame = victim->Receive(any);
        std::this_thread::sleep_for(milliseconds(1));
      }
      ASSERT_EQ(frame.status(), absl::OkStatus());
      ASSERT_EQ((**frame).header.kind, kind);
      raw.Send(kind, 0, 0, (**frame).body);
    };
    pass_on(FrameKind::kIntroduce);
    const std::optional<Frame> challenge = raw.Await(FrameKind::kChallenge);
    ASSERT_TRUE(challenge);
    victim->Send(FrameKind::kChallenge, 0, 0, challenge->body);
    while (!victim->flushed() && victim->Write().ok()) {
    }
    pass_on(FrameKind::kProof);
    pass_on(FrameKind::kHello);
    const std::optional<Frame> answer = raw.Next();
    ASSERT_TRUE(answer);
    EXPECT_EQ(answer->header.kind, FrameKind::kRefusal);
    EXPECT_THAT(TextFromBytes(answer->body), HasSubstr("it does not prove that it is client-1: "));
    victim = nullptr;
    Note("the proof was passed on");
  });
  threads_.emplace_back([&] {
    ClientOptions options = OptionsOf(1);
    options.place = between;
    options.place.listener = -1;
    options.interrupted = [&] {
      return said().find("the proof was passed on") != std::string::npos;
    };
    options.aggregator_key.reset();  // whose signature would tell the victim, too
    EXPECT_FALSE(Must(FederationClient::Create(options, other_job))->Next().ok());
  });
  StartAll("the proof was passed on");
  ASSERT_EQ(Run(), absl::OkStatus()) << said();
  EXPECT_THAT(said(), HasSubstr("it does not prove that it is client-1: the list has another key "
                                "for this name, or another process carries what the two say"));
}

TEST_F(IdentityTest, ProofsOutOfTurnLoseTheConnection) {
  threads_.emplace_back([&] {
    const auto lost = [&](const std::vector<FrameKind>& kinds) {
      RawClient raw(place_);
      for (const FrameKind kind : kinds) {
        raw.Send(
            kind, 0, 0,
            kind == FrameKind::kIntroduce ? ToBytes(Introduction{.name = "client-1"}) : Bytes(64));
      }
      while (raw.Next()) {
      }
    };
    lost({FrameKind::kProof});
    lost({FrameKind::kIntroduce, FrameKind::kIntroduce});
    lost({FrameKind::kIntroduce, FrameKind::kProof, FrameKind::kProof});
    Note("all are lost");
  });
  StartAll("all are lost");
  ASSERT_EQ(Run(), absl::OkStatus()) << said();
  JoinAll();
  EXPECT_THAT(said(), HasSubstr("a frame \"proof\" that nobody asked for"));
  EXPECT_THAT(said(), HasSubstr("a frame \"introduction\" that nobody asked for"));
}

}  // namespace
}  // namespace dtnn::federation
