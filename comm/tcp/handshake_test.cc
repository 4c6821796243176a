#include "comm/tcp/handshake.h"

#include <openssl/evp.h>

#include <cstring>
#include <map>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tensor/must.h"

namespace dtnn {
namespace {

using ::testing::HasSubstr;

const JobSecret& SecretOf(char letter) {
  static std::map<char, JobSecret> secrets;
  return secrets.emplace(letter, *JobSecret::Of(std::string(40, letter))).first->second;
}

constexpr RankCard kCard = {.host = "10.0.0.7", .port = 4711, .network_space = 99};

Handshake Caller(char secret = 'a', int rank = 2, int to = 1, int size = 3) {
  return Must(Handshake::Connecting(SecretOf(secret), rank, to, size, kCard));
}
Handshake Called(char secret = 'a', int rank = 1, int size = 3) {
  return Handshake::Accepting(SecretOf(secret), rank, size);
}

struct Ends {
  absl::Status caller, called;
};

// Until neither wants more, or one has failed.
Ends Shake(Handshake& caller, Handshake& called) {
  Ends ends;
  std::string to_called = caller.TakeOutput(), to_caller;
  while (true) {
    if (!to_called.empty() && called.wanted() > 0) {
      ends.called = called.Take(to_called);
      to_called.clear();
      to_caller += called.TakeOutput();
    } else if (!to_caller.empty() && caller.wanted() > 0) {
      ends.caller = caller.Take(to_caller);
      to_caller.clear();
      to_called += caller.TakeOutput();
    } else {
      return ends;
    }
  }
}

TEST(HandshakeTest, RanksOfAJobRecogniseEachOther) {
  Handshake caller = Caller(), called = Called();
  const Ends ends = Shake(caller, called);
  EXPECT_EQ(ends.caller, absl::OkStatus());
  EXPECT_EQ(ends.called, absl::OkStatus());
  EXPECT_TRUE(caller.done() && called.done());
  EXPECT_EQ(called.peer(), 2);
  EXPECT_STREQ(called.card().host, "10.0.0.7");
  EXPECT_EQ(called.card().port, 4711);
  EXPECT_EQ(called.card().network_space, 99u);
}

TEST(HandshakeTest, WhoDoesNotKnowTheSecretIsRefusedByBothSides) {
  Handshake caller = Caller('b'), called = Called('a');
  const Ends ends = Shake(caller, called);
  EXPECT_THAT(std::string(ends.caller.message()), HasSubstr("does not know this job's secret"));
  EXPECT_FALSE(called.done());
  // A caller that goes on all the same.
  Handshake forger = Caller('b'), other = Called('a');
  ASSERT_EQ(other.Take(forger.TakeOutput()), absl::OkStatus());
  const absl::Status status = other.Take(std::string(other.wanted(), 'x'));
  EXPECT_EQ(status.code(), absl::StatusCode::kPermissionDenied);
  EXPECT_FALSE(other.done());
  EXPECT_EQ(other.wanted(), 0u);
}

TEST(HandshakeTest, OtherJobsRanksAndVersionsAreRefusedWithTheReason) {
  const auto refusal = [](Handshake caller, Handshake called) {
    const Ends ends = Shake(caller, called);
    EXPECT_FALSE(ends.called.ok());
    EXPECT_FALSE(caller.done() || called.done());
    return std::string(ends.caller.message());
  };
  EXPECT_THAT(refusal(Caller('a', 2, 1, 4), Called()),
              HasSubstr("belongs to a job of 3 ranks, this rank to one of 4"));
  EXPECT_THAT(refusal(Caller('a', 2, 0, 3), Called()), HasSubstr("is not rank 0"));
  EXPECT_THAT(refusal(Caller('a', 1, 1, 3), Called()), HasSubstr("refuses a rank 1 of 3"));
  EXPECT_THAT(refusal(Caller('a', -1, 1, 3), Called()), HasSubstr("refuses a rank -1"));
  EXPECT_THAT(refusal(Caller('a', 3, 1, 3), Called()), HasSubstr("refuses a rank 3"));

  Handshake caller = Caller(), called = Called();
  std::string hello = caller.TakeOutput();
  hello[4] = 9;
  EXPECT_THAT(std::string(called.Take(hello).message()), HasSubstr("speaks version 9"));
  EXPECT_FALSE(called.TakeOutput().empty());
  hello[0] = 'X';
  Handshake third = Called();
  EXPECT_THAT(std::string(third.Take(hello).message()), HasSubstr("is not a rank of DTNN"));
}

TEST(HandshakeTest, BytesOfAnEarlierHandshakeProveNothing) {
  Handshake caller = Caller(), called = Called();
  const std::string hello = caller.TakeOutput();
  ASSERT_EQ(called.Take(hello), absl::OkStatus());
  const std::string challenge = called.TakeOutput();
  ASSERT_EQ(caller.Take(challenge), absl::OkStatus());
  const std::string proof = caller.TakeOutput();
  ASSERT_EQ(called.Take(proof), absl::OkStatus());
  // To a rank that listens again.
  Handshake again = Called();
  ASSERT_EQ(again.Take(hello), absl::OkStatus());
  EXPECT_EQ(again.Take(proof).code(), absl::StatusCode::kPermissionDenied);
  // To one that connects again.
  Handshake second = Caller();
  EXPECT_EQ(second.Take(challenge).code(), absl::StatusCode::kPermissionDenied);
  // Back to who wrote it, as if it were the other side's.
  Handshake mirror = Called();
  ASSERT_EQ(mirror.Take(hello), absl::OkStatus());
  const std::string own = mirror.TakeOutput();
  const std::string reflected = own.substr(own.size() - sizeof(Proof));
  EXPECT_EQ(mirror.Take(std::string(mirror.wanted() - sizeof(Proof), '\0') + reflected).code(),
            absl::StatusCode::kPermissionDenied);
}

// Who has only listened knows a proof over the same numbers: the challenge's.
TEST(HandshakeTest, NobodyForgesAWelcome) {
  for (const char answer : {0, 5}) {  // welcome, taken
    Handshake caller = Caller(), called = Called();
    ASSERT_EQ(called.Take(caller.TakeOutput()), absl::OkStatus());
    const std::string challenge = called.TakeOutput();
    ASSERT_EQ(caller.Take(challenge), absl::OkStatus());
    std::string forged(caller.wanted() - sizeof(Proof), '\0');
    forged.replace(0, 4, "DTNN");
    forged[4] = answer;
    EXPECT_EQ(caller.Take(forged + challenge.substr(challenge.size() - sizeof(Proof))).code(),
              absl::StatusCode::kPermissionDenied);
    EXPECT_FALSE(caller.done());
  }
  // A refusal does not become a welcome.
  Handshake caller = Caller();
  Handshake called = Handshake::Accepting(SecretOf('a'), 1, 3, [](int) { return false; });
  ASSERT_EQ(called.Take(caller.TakeOutput()), absl::OkStatus());
  ASSERT_EQ(caller.Take(called.TakeOutput()), absl::OkStatus());
  EXPECT_FALSE(called.Take(caller.TakeOutput()).ok());
  std::string refusal = called.TakeOutput();
  refusal[4] = 0;
  EXPECT_EQ(caller.Take(refusal).code(), absl::StatusCode::kPermissionDenied);
}

TEST(HandshakeTest, ARankThatIsThereAlreadyIsRefusedWithTheReason) {
  int asked = -1;
  const auto expects = [&](int rank) {
    asked = rank;
    return false;
  };
  Handshake caller = Caller(), called = Handshake::Accepting(SecretOf('a'), 1, 3, expects);
  const Ends ends = Shake(caller, called);
  EXPECT_EQ(asked, 2);
  EXPECT_FALSE(caller.done() || called.done());
  EXPECT_EQ(ends.called.message(), "is a second rank 2");
  EXPECT_EQ(ends.caller.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(ends.caller.message()),
              HasSubstr("another process has joined it as rank 2"));
  // Only who proves to be a rank hears it.
  asked = -1;
  Handshake stranger = Caller('b');
  Handshake other = Handshake::Accepting(SecretOf('a'), 1, 3, expects);
  Shake(stranger, other);
  EXPECT_EQ(asked, -1);
}

TEST(HandshakeTest, AChangedCardIsNotBelieved) {
  Handshake caller = Caller(), called = Called();
  ASSERT_EQ(called.Take(caller.TakeOutput()), absl::OkStatus());
  ASSERT_EQ(caller.Take(called.TakeOutput()), absl::OkStatus());
  std::string proof = caller.TakeOutput();
  proof[0] = '9';  // of the host
  EXPECT_EQ(called.Take(proof).code(), absl::StatusCode::kPermissionDenied);
}

// A proof of zeros is what a computation leaves that did not happen.
TEST(HandshakeTest, WithoutSha256NobodyIsRecognised) {
  Handshake caller = Caller(), called = Called();
  ASSERT_EQ(called.Take(caller.TakeOutput()), absl::OkStatus());
  ASSERT_EQ(EVP_set_default_properties(nullptr, "provider=none"), 1);
  EXPECT_EQ(called.Take(std::string(called.wanted(), '\0')).code(), absl::StatusCode::kInternal);
  std::string challenge = called.TakeOutput();
  std::memset(challenge.data() + challenge.size() - sizeof(Proof), 0, sizeof(Proof));
  EXPECT_EQ(caller.Take(challenge).code(), absl::StatusCode::kInternal);
  EXPECT_FALSE(JobSecret::Of(std::string(40, 'z')).ok());
  ASSERT_EQ(EVP_set_default_properties(nullptr, ""), 1);
  EXPECT_FALSE(caller.done() || called.done());
}

TEST(JobSecretTest, AShortSecretIsRefusedWithoutSayingIt) {
  const absl::Status status = JobSecret::Of("swordfish").status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(status.message().find("swordfish"), status.message().npos);
  EXPECT_TRUE(JobSecret::Of(Must(JobSecret::NewText())).ok());
  EXPECT_NE(Must(JobSecret::NewText()), Must(JobSecret::NewText()));
}

}  // namespace
}  // namespace dtnn
