#include "comm/tcp/handshake.h"

#include <cstring>
#include <type_traits>
#include <utility>

#include "comm/crypto/random_secret.h"
#include "tensor/errors.h"

namespace dtnn {
namespace {

constexpr uint32_t kMagic = 0x4e4e5444;  // "DTNN"
constexpr uint16_t kVersion = 2;

enum class Answer : uint32_t { kWelcome, kVersion, kSize, kNotMe, kRank, kTaken, kTls };

struct Hello {
  uint32_t magic = kMagic;
  uint16_t version = kVersion, reserved = 0;
  int32_t from = 0, to = 0, size = 0;
  std::array<uint8_t, 32> nonce = {};
};
struct Challenge {
  uint32_t magic = kMagic;
  Answer answer = Answer::kWelcome;  // else a refusal
  int32_t size = 0;                  // how many ranks the accepting side counts
  uint16_t version = kVersion, reserved = 0;
  std::array<uint8_t, 32> nonce = {};
  Proof proof = {};
};
struct ProofMessage {
  RankCard card = {};
  Proof proof = {};
};
struct Welcome {
  uint32_t magic = kMagic;
  Answer answer = Answer::kWelcome;  // or kTaken
  Proof proof = {};
};

// The role is part of what is proved.
constexpr std::string_view kAccepts = "accepts", kConnects = "connects";
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

// A TLS client begins with this: a record of a handshake, version 3.
bool IsTls(std::string_view begin) { return begin.starts_with("\x16\x03"); }

template <typename T>
T Read(std::string_view bytes) {
  T value;
  std::memcpy(&value, bytes.data(), sizeof(value));
  return value;
}

}  // namespace

absl::StatusOr<Handshake> Handshake::Connecting(const JobSecret& secret, int rank, int to, int size,
                                                const RankCard& card) {
  Handshake handshake(secret, State::kChallenge, rank, to, size);
  handshake.card_ = card;
  Hello hello = {.from = rank, .to = to, .size = size};
  DTNN_RETURN_IF_ERROR(FillRandom(hello.nonce));
  handshake.hello_ = handshake.output_ = BytesOf(hello);
  return handshake;
}

Handshake Handshake::Accepting(const JobSecret& secret, int rank, int size,
                               std::function<bool(int)> expects) {
  Handshake handshake(secret, State::kHello, rank, -1, size);
  handshake.expects_ = std::move(expects);
  return handshake;
}

bool Handshake::CallsWithoutTls(std::string_view begin) {
  return !begin.empty() && BytesOf(kMagic).starts_with(begin.substr(0, sizeof(kMagic)));
}

std::string Handshake::NeedsTls() {
  const Challenge challenge = {.answer = Answer::kTls};
  return std::string(BytesOf(challenge));
}

size_t Handshake::wanted() const {
  switch (state_) {
    case State::kHello:
      return sizeof(Hello);
    case State::kChallenge:
      return sizeof(Challenge);
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
  const State state = std::exchange(state_, State::kFailed);  // unless it goes on
  switch (state) {
    case State::kHello:
      return TakeHello(message);
    case State::kChallenge:
      return TakeChallenge(message);
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

absl::Status Handshake::TakeHello(std::string_view message) {
  const Hello hello = Read<Hello>(message);
  Challenge challenge = {.size = size_};
  if (IsTls(message)) {
    output_ = BytesOf(challenge);  // is no TLS: the caller's end says so
    return InvalidArgument("uses TLS, which this process was not told to use; ", kAllOrNone);
  }
  if (hello.magic != kMagic) return InvalidArgument("is not a rank of DTNN");
  absl::Status refused;
  if (hello.version != kVersion) {
    challenge.answer = Answer::kVersion;
    refused = InvalidArgument("speaks version ", hello.version, " of the protocol, not ", kVersion);
  } else if (hello.size != size_) {
    challenge.answer = Answer::kSize;
    refused = InvalidArgument("belongs to a job of ", hello.size, " ranks, not of ", size_);
  } else if (hello.to != rank_) {
    challenge.answer = Answer::kNotMe;
    refused = InvalidArgument("calls rank ", hello.to, ", not rank ", rank_);
  } else if (hello.from < 0 || hello.from >= size_ || hello.from == rank_) {
    challenge.answer = Answer::kRank;
    refused = InvalidArgument("calls itself rank ", hello.from);
  }
  if (refused.ok()) {
    peer_ = hello.from;
    hello_ = message;
    DTNN_RETURN_IF_ERROR(FillRandom(nonce_));
    challenge.nonce = nonce_;
    DTNN_ASSIGN_OR_RETURN(challenge.proof,
                          secret_->Prove({AsBytes(kAccepts), AsBytes(hello_), nonce_}));
    state_ = State::kProof;
  }
  output_ = BytesOf(challenge);
  return refused;
}

absl::Status Handshake::TakeChallenge(std::string_view message) {
  const Challenge challenge = Read<Challenge>(message);
  if (challenge.magic != kMagic) {
    return InvalidArgument("what answers is not a rank of DTNN; is another program at its port?");
  }
  switch (challenge.answer) {
    case Answer::kWelcome:
      break;
    case Answer::kVersion:
      return InvalidArgument("it speaks version ", challenge.version,
                             " of the protocol, this rank version ", kVersion,
                             "; start the same program on all ranks");
    case Answer::kSize:
      return InvalidArgument("it belongs to a job of ", challenge.size,
                             " ranks, this rank to one of ", size_);
    case Answer::kNotMe:
      return InvalidArgument("it is not rank ", peer_, "; are two jobs at the same port?");
    case Answer::kRank:
      return InvalidArgument("it refuses a rank ", rank_, " of ", size_);
    case Answer::kTls:
      return InvalidArgument("it uses TLS, which this process was not told to use; ", kAllOrNone);
    case Answer::kTaken:  // is said later
      return InvalidArgument("it answers what is no answer");
  }
  nonce_ = challenge.nonce;
  DTNN_ASSIGN_OR_RETURN(
      const bool known,
      secret_->Proves(challenge.proof, {AsBytes(kAccepts), AsBytes(hello_), nonce_}));
  if (!known) {
    return absl::PermissionDeniedError(
        "it does not know this job's secret; give all ranks the same one, or another port");
  }
  ProofMessage proof = {.card = card_};
  DTNN_ASSIGN_OR_RETURN(proof.proof, secret_->Prove({AsBytes(kConnects), AsBytes(hello_), nonce_,
                                                     AsBytes(BytesOf(card_))}));
  output_ = BytesOf(proof);
  state_ = State::kWelcome;
  return absl::OkStatus();
}

absl::Status Handshake::TakeProof(std::string_view message) {
  const ProofMessage proof = Read<ProofMessage>(message);
  DTNN_ASSIGN_OR_RETURN(const bool known,
                        secret_->Proves(proof.proof, {AsBytes(kConnects), AsBytes(hello_), nonce_,
                                                      AsBytes(BytesOf(proof.card))}));
  if (!known) {
    return absl::PermissionDeniedError("does not know this job's secret");
  }
  card_ = proof.card;
  card_.host[sizeof(card_.host) - 1] = '\0';
  const bool expected = !expects_ || expects_(peer_);
  Welcome welcome = {.answer = expected ? Answer::kWelcome : Answer::kTaken};
  DTNN_ASSIGN_OR_RETURN(welcome.proof,
                        secret_->Prove({AsBytes(RoleOf(welcome)), AsBytes(hello_), nonce_}));
  output_ = BytesOf(welcome);
  if (!expected) return InvalidArgument("is a second rank ", peer_);
  state_ = State::kDone;
  return absl::OkStatus();
}

absl::Status Handshake::TakeWelcome(std::string_view message) {
  const Welcome welcome = Read<Welcome>(message);
  DTNN_ASSIGN_OR_RETURN(
      const bool known,
      secret_->Proves(welcome.proof, {AsBytes(RoleOf(welcome)), AsBytes(hello_), nonce_}));
  if (!known) return absl::PermissionDeniedError("it does not know this job's secret");
  if (welcome.answer != Answer::kWelcome) {
    return InvalidArgument("another process has joined it as rank ", rank_,
                           "; give every process of the job a rank of its own");
  }
  state_ = State::kDone;
  return absl::OkStatus();
}

}  // namespace dtnn
