#include "comm/transport/meeting/handshake.h"

#include <algorithm>
#include <cstring>
#include <type_traits>
#include <utility>

#include "comm/secrets/crypto/random_secret.h"
#include "tensor/errors.h"

namespace dtnn {
namespace {

constexpr uint32_t kMagic = 0x4e4e5444;  // "DTNN"
constexpr uint16_t kVersion = 3;

// The numbers of kWelcome, kVersion and kTls are the same in all versions.
enum class Answer : uint32_t { kWelcome = 0, kVersion = 1, kPurpose = 2, kRefused = 5, kTls = 6 };

using PurposeText = std::array<char, kMostPurpose + 1>;
using Reason = std::array<char, 120>;

// The same in all versions.
struct HelloHead {
  uint32_t magic = kMagic;
  uint16_t version = kVersion, reserved = 0;
};
struct ChallengeHead {
  uint32_t magic = kMagic;
  Answer answer = Answer::kWelcome;  // else a refusal
  uint32_t reserved = 0;
  uint16_t version = kVersion, reserved_too = 0;
};

struct Hello {
  HelloHead head;
  PurposeText purpose = {};
  std::array<uint8_t, 32> nonce = {};
};
struct Challenge {
  ChallengeHead head;
  PurposeText purpose = {};
  std::array<uint8_t, 32> nonce = {};
  Proof proof = {};
};
struct ProofMessage {
  std::array<char, kCardBytes> card = {};
  Proof proof = {};
};
struct Welcome {
  uint32_t magic = kMagic;
  Answer answer = Answer::kWelcome;  // or kRefused
  Reason reason = {};
  Proof proof = {};
};
// What waits for a challenge of version 2 gets it whole.
static_assert(sizeof(Challenge) >= 80);

// The role is part of what is proved.
constexpr std::string_view kAnswers = "answers", kCalls = "calls";
std::string_view RoleOf(const Welcome& welcome) {
  return welcome.answer == Answer::kWelcome ? "welcomes" : "refuses";
}

constexpr char kAllOrNone[] =
    "start all with PYMPI_SSL=yes, and PYMPI_SSL_CERT and PYMPI_SSL_KEY, or all without";

template <typename T>
std::string_view BytesOf(const T& value) {
  static_assert(std::is_trivially_copyable_v<T> && std::has_unique_object_representations_v<T>);
  return {reinterpret_cast<const char*>(&value), sizeof(value)};
}

template <typename T>
T Read(std::string_view bytes) {
  T value;
  std::memcpy(&value, bytes.data(), sizeof(value));
  return value;
}

// The last character stays zero.
template <size_t n>
void Put(std::string_view text, std::array<char, n>& into) {
  text.copy(into.data(), n - 1);
}

// Anybody may have written it.
template <size_t n>
std::string TextOf(const std::array<char, n>& from) {
  std::string text(from.data(), size_t(std::ranges::find(from, '\0') - from.begin()));
  std::ranges::replace_if(
      text, [](char c) { return c < ' ' || c > '~'; }, '?');
  return text;
}

// A TLS client begins with this: a record of a handshake, version 3.
bool IsTls(std::string_view begin) { return begin.starts_with("\x16\x03"); }

}  // namespace

absl::StatusOr<Handshake> Handshake::Calling(const JobSecret& secret, std::string_view purpose,
                                             std::string_view card) {
  Handshake handshake(secret, State::kChallengeHead, purpose);
  handshake.card_ = card;
  Hello hello;
  Put(purpose, hello.purpose);
  DTNN_RETURN_IF_ERROR(FillRandom(hello.nonce));
  handshake.hello_ = handshake.output_ = BytesOf(hello);
  return handshake;
}

Handshake Handshake::Answering(const JobSecret& secret, std::string_view purpose, Admit admit) {
  Handshake handshake(secret, State::kHelloHead, purpose);
  handshake.admit_ = std::move(admit);
  return handshake;
}

bool Handshake::CallsWithoutTls(std::string_view begin) {
  return !begin.empty() && BytesOf(kMagic).starts_with(begin.substr(0, sizeof(kMagic)));
}

std::string Handshake::NeedsTls() {
  const Challenge challenge = {.head = {.answer = Answer::kTls}};
  return std::string(BytesOf(challenge));
}

size_t Handshake::wanted() const {
  switch (state_) {
    case State::kHelloHead:
      return sizeof(HelloHead);
    case State::kHello:
      return sizeof(Hello) - sizeof(HelloHead);
    case State::kChallengeHead:
      return sizeof(ChallengeHead);
    case State::kChallenge:
      return sizeof(Challenge) - sizeof(ChallengeHead);
    case State::kProof:
      return sizeof(ProofMessage);
    case State::kWelcome:
      return sizeof(Welcome);
    case State::kDone:
    case State::kFailed:
      break;
  }
  return 0;
}

std::string Handshake::TakeOutput() { return std::exchange(output_, ""); }

absl::Status Handshake::Take(std::string_view message) {
  if (message.size() != wanted()) return InvalidArgument("a message of a wrong size");
  const State state = std::exchange(state_, State::kFailed);  // unless it continues
  switch (state) {
    case State::kHelloHead:
      return TakeHelloHead(message);
    case State::kHello:
      return TakeHello(std::exchange(head_, "").append(message));
    case State::kChallengeHead:
      return TakeChallengeHead(message);
    case State::kChallenge:
      return TakeChallenge(std::exchange(head_, "").append(message));
    case State::kProof:
      return TakeProof(message);
    case State::kWelcome:
      return TakeWelcome(message);
    case State::kDone:
    case State::kFailed:
      break;
  }
  return absl::FailedPreconditionError("the handshake is over");
}

absl::Status Handshake::TakeHelloHead(std::string_view message) {
  const HelloHead head = Read<HelloHead>(message);
  if (IsTls(message)) {
    output_ = BytesOf(Challenge());  // is not TLS: the caller's end says so
    return InvalidArgument("uses TLS, which this process was not told to use; ", kAllOrNone);
  }
  if (head.magic != kMagic) return InvalidArgument("is not a process of DTNN");
  if (head.version != kVersion) {
    const Challenge challenge = {.head = {.answer = Answer::kVersion}};
    output_ = BytesOf(challenge);
    return InvalidArgument("speaks version ", head.version, " of the protocol, not ", kVersion);
  }
  head_ = message;
  state_ = State::kHello;
  return absl::OkStatus();
}

absl::Status Handshake::TakeHello(std::string_view message) {
  const Hello hello = Read<Hello>(message);
  Challenge challenge;
  Put(purpose_, challenge.purpose);
  if (hello.purpose != challenge.purpose) {
    challenge.head.answer = Answer::kPurpose;
    output_ = BytesOf(challenge);
    return InvalidArgument("calls ", TextOf(hello.purpose), "; this is ", purpose_);
  }
  hello_ = message;
  DTNN_RETURN_IF_ERROR(FillRandom(nonce_));
  challenge.nonce = nonce_;
  DTNN_ASSIGN_OR_RETURN(challenge.proof,
                        secret_->Prove({AsBytes(kAnswers), AsBytes(hello_), nonce_}));
  output_ = BytesOf(challenge);
  state_ = State::kProof;
  return absl::OkStatus();
}

absl::Status Handshake::TakeChallengeHead(std::string_view message) {
  const ChallengeHead head = Read<ChallengeHead>(message);
  if (head.magic != kMagic) {
    return InvalidArgument(
        "what answers is not a process of DTNN; is another program at its port?");
  }
  switch (head.answer) {
    case Answer::kWelcome:
    case Answer::kPurpose:
      head_ = message;
      state_ = State::kChallenge;
      return absl::OkStatus();
    case Answer::kVersion:
      return InvalidArgument("it speaks version ", head.version,
                             " of the protocol, this process version ", kVersion,
                             "; start the same program everywhere");
    case Answer::kTls:
      return InvalidArgument("it uses TLS, which this process was not told to use; ", kAllOrNone);
    case Answer::kRefused:  // is said later
      break;
  }
  return InvalidArgument("its answer is not one of this protocol");
}

absl::Status Handshake::TakeChallenge(std::string_view message) {
  const Challenge challenge = Read<Challenge>(message);
  if (challenge.head.answer == Answer::kPurpose) {
    return InvalidArgument("it is ", TextOf(challenge.purpose), ", and this process calls ",
                           purpose_, "; are two jobs at the same port?");
  }
  nonce_ = challenge.nonce;
  DTNN_ASSIGN_OR_RETURN(
      const bool known,
      secret_->Proves(challenge.proof, {AsBytes(kAnswers), AsBytes(hello_), nonce_}));
  if (!known) {
    return absl::PermissionDeniedError(
        "it does not know this job's secret; give all processes the same one, or another port");
  }
  ProofMessage proof;
  std::string_view(card_).copy(proof.card.data(), proof.card.size());
  DTNN_ASSIGN_OR_RETURN(proof.proof, secret_->Prove({AsBytes(kCalls), AsBytes(hello_), nonce_,
                                                     AsBytes(BytesOf(proof.card))}));
  output_ = BytesOf(proof);
  state_ = State::kWelcome;
  return absl::OkStatus();
}

absl::Status Handshake::TakeProof(std::string_view message) {
  const ProofMessage proof = Read<ProofMessage>(message);
  DTNN_ASSIGN_OR_RETURN(const bool known,
                        secret_->Proves(proof.proof, {AsBytes(kCalls), AsBytes(hello_), nonce_,
                                                      AsBytes(BytesOf(proof.card))}));
  if (!known) return absl::PermissionDeniedError("does not know this job's secret");
  card_ = BytesOf(proof.card);
  const absl::Status admitted = admit_ ? admit_(card_) : absl::OkStatus();
  Welcome welcome = {.answer = admitted.ok() ? Answer::kWelcome : Answer::kRefused};
  Put(std::string(admitted.message()), welcome.reason);
  DTNN_ASSIGN_OR_RETURN(welcome.proof, secret_->Prove({AsBytes(RoleOf(welcome)), AsBytes(hello_),
                                                       nonce_, AsBytes(BytesOf(welcome.reason))}));
  output_ = BytesOf(welcome);
  if (!admitted.ok()) return WithContext(admitted, "is refused");
  state_ = State::kDone;
  return absl::OkStatus();
}

absl::Status Handshake::TakeWelcome(std::string_view message) {
  const Welcome welcome = Read<Welcome>(message);
  DTNN_ASSIGN_OR_RETURN(const bool known,
                        secret_->Proves(welcome.proof, {AsBytes(RoleOf(welcome)), AsBytes(hello_),
                                                        nonce_, AsBytes(BytesOf(welcome.reason))}));
  if (!known) return absl::PermissionDeniedError("it does not know this job's secret");
  if (welcome.answer != Answer::kWelcome) return InvalidArgument(TextOf(welcome.reason));
  state_ = State::kDone;
  return absl::OkStatus();
}

}  // namespace dtnn
