#include "comm/transport/meeting/handshake.h"

#include <openssl/evp.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <string>
#include <string_view>
#include <utility>

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

constexpr char kPurpose[] = "rank 1 of 3", kCard[] = "10.0.0.7";

Handshake Caller(char secret = 'a', const std::string& purpose = kPurpose) {
  return Must(Handshake::Calling(SecretOf(secret), purpose, kCard));
}
Handshake Called(char secret = 'a', Handshake::Admit admit = nullptr) {
  return Handshake::Answering(SecretOf(secret), kPurpose, std::move(admit));
}

// A message whose head is judged before the rest is awaited.
absl::Status TakeAll(Handshake& end, std::string message) {
  absl::Status status;
  while (status.ok() && !message.empty()) {
    const size_t count = std::min(end.wanted(), message.size());
    if (count == 0) break;
    status = end.Take(message.substr(0, count));
    message.erase(0, count);
  }
  return status;
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
      ends.called = TakeAll(called, to_called);
      to_called.clear();
      to_caller += called.TakeOutput();
    } else if (!to_caller.empty() && caller.wanted() > 0) {
      ends.caller = TakeAll(caller, to_caller);
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
  EXPECT_EQ(called.card(), kCard + std::string(kCardBytes - strlen(kCard), '\0'));
}

TEST(HandshakeTest, WhoDoesNotKnowTheSecretIsRefusedByBothSides) {
  Handshake caller = Caller('b'), called = Called('a');
  const Ends ends = Shake(caller, called);
  EXPECT_THAT(std::string(ends.caller.message()), HasSubstr("does not know this job's secret"));
  EXPECT_FALSE(called.done());
  // A caller that continues all the same.
  Handshake forger = Caller('b'), other = Called('a');
  ASSERT_EQ(TakeAll(other, forger.TakeOutput()), absl::OkStatus());
  const absl::Status status = other.Take(std::string(other.wanted(), 'x'));
  EXPECT_EQ(status.code(), absl::StatusCode::kPermissionDenied);
  EXPECT_FALSE(other.done());
  EXPECT_EQ(other.wanted(), 0u);
}

TEST(HandshakeTest, WhoLooksForAnotherDoorIsRefusedWithTheReason) {
  Handshake caller = Caller('a', "rank 1 of 4"), called = Called();
  const Ends ends = Shake(caller, called);
  EXPECT_EQ(ends.called.message(), "calls rank 1 of 4; this is rank 1 of 3");
  EXPECT_EQ(
      ends.caller.message(),
      "it is rank 1 of 3, and this process calls rank 1 of 4; are two jobs at the same port?");
  EXPECT_FALSE(caller.done() || called.done());
  // A purpose that is none is shown all the same.
  Handshake odd = Caller('a', "\x1b[2J\x7f"), other = Called();
  EXPECT_EQ(Shake(odd, other).called.message(), "calls ?[2J?; this is rank 1 of 3");
}

TEST(HandshakeTest, TheFirst47CharactersOfAPurposeCount) {
  const auto meet = [](const std::string& called_for, const std::string& is) {
    Handshake caller = Caller('a', called_for);
    Handshake called = Handshake::Answering(SecretOf('a'), is, nullptr);
    Shake(caller, called);
    return caller.done() && called.done();
  };
  const std::string same(46, 'p');
  EXPECT_TRUE(meet(same + "x", same + "x"));
  EXPECT_FALSE(meet(same + "x", same + "y"));
  EXPECT_FALSE(meet(same, same + "x"));
  EXPECT_TRUE(meet(same + "xy", same + "xz")) << "a longer one is cut";
}

TEST(HandshakeTest, APurposeIsPartOfTheProof) {
  Handshake caller = Caller('a', "rank 1 of 4"), called = Called();
  std::string hello = caller.TakeOutput();
  hello.replace(8, strlen(kPurpose), kPurpose);  // by somebody in between
  ASSERT_EQ(TakeAll(called, hello), absl::OkStatus());
  EXPECT_EQ(TakeAll(caller, called.TakeOutput()).code(), absl::StatusCode::kPermissionDenied);
}

// The head of a message is the same in all versions, and its rest is not waited for.
TEST(HandshakeTest, OtherVersionsAreToldSoWhicheverSideIsOlder) {
  Handshake caller = Caller(), called = Called();
  std::string hello = caller.TakeOutput();
  hello[4] = 2;
  EXPECT_EQ(called.Take(hello.substr(0, called.wanted())).message(),
            "speaks version 2 of the protocol, not 3");
  std::string answer = called.TakeOutput();
  EXPECT_GE(answer.size(), 80u) << "as much as version 2 waits for";
  answer[12] = 2;  // as that would say it
  EXPECT_THAT(std::string(caller.Take(answer.substr(0, caller.wanted())).message()),
              HasSubstr("it speaks version 2 of the protocol, this process version 3"));

  hello[0] = 'X';
  Handshake third = Called();
  EXPECT_THAT(std::string(third.Take(hello.substr(0, third.wanted())).message()),
              HasSubstr("is not a process of DTNN"));
}

TEST(HandshakeTest, BytesOfAnEarlierHandshakeProveNothing) {
  Handshake caller = Caller(), called = Called();
  const std::string hello = caller.TakeOutput();
  ASSERT_EQ(TakeAll(called, hello), absl::OkStatus());
  const std::string challenge = called.TakeOutput();
  EXPECT_FALSE(caller.proved());
  ASSERT_EQ(TakeAll(caller, challenge), absl::OkStatus());
  EXPECT_TRUE(caller.proved());
  const std::string proof = caller.TakeOutput();
  ASSERT_EQ(TakeAll(called, proof), absl::OkStatus());
  // To a rank that listens again.
  Handshake again = Called();
  ASSERT_EQ(TakeAll(again, hello), absl::OkStatus());
  EXPECT_EQ(TakeAll(again, proof).code(), absl::StatusCode::kPermissionDenied);
  // To one that connects again.
  Handshake second = Caller();
  EXPECT_EQ(TakeAll(second, challenge).code(), absl::StatusCode::kPermissionDenied);
  // Back to its writer, as if it were the other side's.
  Handshake mirror = Called();
  ASSERT_EQ(TakeAll(mirror, hello), absl::OkStatus());
  const std::string own = mirror.TakeOutput();
  const std::string reflected = own.substr(own.size() - sizeof(Proof));
  EXPECT_EQ(TakeAll(mirror, std::string(mirror.wanted() - sizeof(Proof), '\0') + reflected).code(),
            absl::StatusCode::kPermissionDenied);
}

// A process that has only listened knows a proof over the same numbers: the challenge's.
TEST(HandshakeTest, NobodyForgesAWelcome) {
  for (const char answer : {0, 5}) {  // welcome, refused
    Handshake caller = Caller(), called = Called();
    ASSERT_EQ(TakeAll(called, caller.TakeOutput()), absl::OkStatus());
    const std::string challenge = called.TakeOutput();
    ASSERT_EQ(TakeAll(caller, challenge), absl::OkStatus());
    std::string forged(caller.wanted() - sizeof(Proof), '\0');
    forged.replace(0, 4, "DTNN");
    forged[4] = answer;
    EXPECT_EQ(TakeAll(caller, forged + challenge.substr(challenge.size() - sizeof(Proof))).code(),
              absl::StatusCode::kPermissionDenied);
    EXPECT_FALSE(caller.done());
  }
  // A refusal does not become a welcome.
  Handshake caller = Caller();
  Handshake called = Called('a', [](std::string_view) { return absl::NotFoundError("full"); });
  ASSERT_EQ(TakeAll(called, caller.TakeOutput()), absl::OkStatus());
  ASSERT_EQ(TakeAll(caller, called.TakeOutput()), absl::OkStatus());
  EXPECT_FALSE(TakeAll(called, caller.TakeOutput()).ok());
  std::string refusal = called.TakeOutput();
  refusal[4] = 0;
  EXPECT_EQ(TakeAll(caller, refusal).code(), absl::StatusCode::kPermissionDenied);
}

TEST(HandshakeTest, WhoIsNotAdmittedIsToldWhy) {
  std::string asked;
  const auto admit = [&](std::string_view card) -> absl::Status {
    asked = card;
    return absl::InvalidArgumentError("another process has joined it as rank 2");
  };
  Handshake caller = Caller(), called = Called('a', admit);
  const Ends ends = Shake(caller, called);
  EXPECT_TRUE(asked.starts_with(kCard));
  EXPECT_FALSE(caller.done() || called.done());
  EXPECT_EQ(ends.called.message(), "is refused: another process has joined it as rank 2");
  EXPECT_EQ(ends.caller, absl::InvalidArgumentError("another process has joined it as rank 2"));
  // Only a caller that knows the secret hears it.
  asked.clear();
  Handshake unknown = Caller('b'), other = Called('a', admit);
  Shake(unknown, other);
  EXPECT_EQ(asked, "");
}

TEST(HandshakeTest, AChangedCardIsNotBelieved) {
  Handshake caller = Caller(), called = Called();
  ASSERT_EQ(TakeAll(called, caller.TakeOutput()), absl::OkStatus());
  ASSERT_EQ(TakeAll(caller, called.TakeOutput()), absl::OkStatus());
  std::string proof = caller.TakeOutput();
  proof[0] = '9';
  EXPECT_EQ(TakeAll(called, proof).code(), absl::StatusCode::kPermissionDenied);
}

// A proof of zeros is what a computation leaves that did not happen.
TEST(HandshakeTest, WithoutSha256NobodyIsRecognised) {
  Handshake caller = Caller(), called = Called();
  ASSERT_EQ(TakeAll(called, caller.TakeOutput()), absl::OkStatus());
  ASSERT_EQ(EVP_set_default_properties(nullptr, "provider=none"), 1);
  EXPECT_EQ(TakeAll(called, std::string(called.wanted(), '\0')).code(),
            absl::StatusCode::kInternal);
  std::string challenge = called.TakeOutput();
  std::memset(challenge.data() + challenge.size() - sizeof(Proof), 0, sizeof(Proof));
  EXPECT_EQ(TakeAll(caller, challenge).code(), absl::StatusCode::kInternal);
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

// The head of what answers, of sixteen bytes.
std::string AnswerOf(char answer, const std::string& magic = "DTNN") {
  std::string head = magic + std::string(12, '\0');
  head[4] = answer;
  head[12] = 3;
  return head;
}

TEST(HandshakeTest, AnswersOfAnotherProtocolAreRefused) {
  const auto error = [](const std::string& head) {
    Handshake caller = Caller();
    EXPECT_EQ(caller.wanted(), 16u);
    const absl::Status status = caller.Take(head);
    EXPECT_EQ(caller.wanted(), 0u) << head;
    return std::string(status.message());
  };
  EXPECT_EQ(error(AnswerOf(0, "HTTP")),
            "what answers is not a process of DTNN; is another program at its port?");
  for (const char answer : {3, 4, 5, 7, 127}) {
    EXPECT_EQ(error(AnswerOf(answer)), "its answer is not one of this protocol") << int(answer);
  }
  EXPECT_THAT(error(AnswerOf(1)), HasSubstr("it speaks version 3 of the protocol"));
  EXPECT_THAT(error(AnswerOf(6)), HasSubstr("it uses TLS, which this process was not told to"));
  EXPECT_THAT(error(Handshake::NeedsTls().substr(0, 16)), HasSubstr("it uses TLS"));
}

TEST(HandshakeTest, EachMessageHasItsSizeAndNoneFollowsTheLast) {
  Handshake caller = Caller(), called = Called();
  EXPECT_EQ(caller.Take("x").message(), "a message of a wrong size");
  EXPECT_EQ(called.Take(std::string(called.wanted() + 1, 'x')).message(),
            "a message of a wrong size");
  const Ends ends = Shake(caller, called);
  EXPECT_EQ(ends.caller, absl::OkStatus());
  EXPECT_EQ(ends.called, absl::OkStatus());
  EXPECT_EQ(caller.wanted(), 0u);
  EXPECT_EQ(caller.Take("").message(), "the handshake is over");
  EXPECT_EQ(called.Take("").message(), "the handshake is over");
  EXPECT_EQ(called.Take("x").message(), "a message of a wrong size");
}

TEST(HandshakeTest, WhoBeginsWithTlsIsToldSo) {
  Handshake called = Called();
  ASSERT_EQ(called.wanted(), 8u);
  EXPECT_EQ(called.Take(std::string("\x16\x03\x01\x02\x00\x01\x00\x01", 8)).message(),
            "uses TLS, which this process was not told to use; start all with PYMPI_SSL=yes, and "
            "PYMPI_SSL_CERT and PYMPI_SSL_KEY, or all without");
  EXPECT_NE(called.TakeOutput(), "") << "its end says so too";
  Handshake other = Called();
  EXPECT_EQ(other.Take(std::string("\x16\x02\x01\x02\x00\x01\x00\x01", 8)).message(),
            "is not a process of DTNN");
}

// As far as it has come.
TEST(HandshakeTest, ACallWithoutTlsIsRecognisedByItsFirstBytes) {
  for (const std::string_view begin : {"D", "DT", "DTNN", "DTNN and more"}) {
    EXPECT_TRUE(Handshake::CallsWithoutTls(begin)) << begin;
  }
  for (const std::string_view begin : {"", "d", "DTNX", "\x16\x03\x01"}) {
    EXPECT_FALSE(Handshake::CallsWithoutTls(begin)) << begin;
  }
}

}  // namespace
}  // namespace dtnn
