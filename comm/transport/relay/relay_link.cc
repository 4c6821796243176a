#include "comm/transport/relay/relay_link.h"

#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

#include "comm/secrets/crypto/hash.h"
#include "comm/secrets/crypto/random_secret.h"
#include "comm/secrets/crypto/sealed_message.h"
#include "comm/wire/wire.h"
#include "tensor/errors.h"

namespace dtnn {
namespace {

// A smaller piece of what is to be written waits for more room.
constexpr size_t kLeastWrite = 32 << 10;
// That have called as one rank and may have the link.
constexpr size_t kMostCallers = 8;

// What calls and answers say.
struct Introduction {
  X25519PublicKey key = {};
  RelayLink::Card card;
};

std::vector<uint8_t> BytesOf(const Introduction& introduction) {
  WireWriter writer;
  writer.Bytes(introduction.key);
  writer.Number(uint32_t(introduction.card.instance.rank));
  writer.Number(introduction.card.instance.number);
  writer.Number(introduction.card.network_space);
  return std::move(writer).Take();
}

absl::StatusOr<Introduction> ReadIntroduction(std::span<const uint8_t> bytes, int rank) {
  WireReader reader(bytes, "introduction");
  Introduction introduction;
  const std::span<const uint8_t> key = reader.Bytes(introduction.key.size());
  introduction.card.instance.rank = int(reader.Number<uint32_t>());
  introduction.card.instance.number = reader.Number<uint64_t>();
  introduction.card.network_space = reader.Number<uint64_t>();
  DTNN_RETURN_IF_ERROR(reader.Done());
  if (introduction.card.instance.rank != rank) return InvalidArgument("shows another's card");
  std::ranges::copy(key, introduction.key.begin());
  return introduction;
}

}  // namespace

// What the engine holds of a link.
class RelayStream : public Stream {
 public:
  explicit RelayStream(RelayLink& link) : link_(link) {}

  absl::StatusOr<size_t> Read(std::span<std::byte> into) override { return link_.Read(into); }
  absl::StatusOr<size_t> Write(std::span<const std::span<const std::byte>> from) override {
    return link_.Write(from);
  }
  void CloseWriting() override { link_.CloseWriting(); }
  int descriptor() const override { return link_.wakeup_.descriptor(); }
  bool writes_after_reading() const override { return true; }
  absl::StatusOr<std::vector<uint8_t>> binding() const override { return link_.Binding(); }

 private:
  RelayLink& link_;
};

RelayLink::RelayLink(const Options& options, const JobSecret& secret,
                     std::function<void(std::string)> send, std::function<void()> changed)
    : options_(options), secret_(secret), send_(std::move(send)), changed_(std::move(changed)) {
  error_ = MakeKeys();
}

std::unique_ptr<Stream> RelayLink::MakeStream() { return std::make_unique<RelayStream>(*this); }

bool RelayLink::established() const {
  const std::lock_guard lock(mutex_);
  return state_ == State::kTogether;
}

absl::Status RelayLink::error() const {
  const std::lock_guard lock(mutex_);
  return error_;
}

std::string RelayLink::refused() const {
  const std::lock_guard lock(mutex_);
  return refused_;
}

RelayLink::Card RelayLink::card() const {
  const std::lock_guard lock(mutex_);
  return card_;
}

void RelayLink::Fail(const absl::Status& why) {
  if (error_.ok()) error_ = why;
  wakeup_.Wake();
}

absl::StatusOr<Secret> RelayLink::CallKey(const JobSecret& secret) {
  return secret.Derive("a call through a relay");
}

absl::Status RelayLink::MakeKeys() {
  DTNN_RETURN_IF_ERROR(wakeup_.status());
  DTNN_ASSIGN_OR_RETURN(private_key_, RandomSecret());
  DTNN_ASSIGN_OR_RETURN(own_, X25519PublicKeyOf(private_key_));
  return absl::OkStatus();
}

absl::StatusOr<Secret> RelayLink::AnswerKey(const X25519PublicKey& called) const {
  return secret_.Derive("an answer through a relay", called);
}

absl::StatusOr<Secret> RelayLink::StreamKey(const X25519PublicKey& peer) const {
  const bool calls = options_.peer < options_.card.instance.rank;
  const X25519PublicKey &called = calls ? own_ : peer, &answered = calls ? peer : own_;
  std::vector<uint8_t> both(called.begin(), called.end());
  both.insert(both.end(), answered.begin(), answered.end());
  DTNN_ASSIGN_OR_RETURN(const Secret agreed, X25519Agree(private_key_, peer));
  DTNN_ASSIGN_OR_RETURN(const Secret of_job, secret_.Derive("a stream through a relay", both));
  return DeriveSecret(agreed, "a stream through a relay", of_job.bytes());
}

void RelayLink::Send(Kind kind, const Secret& key, int64_t number,
                     std::span<const uint8_t> payload) {
  const PacketHeader header = {.version = kPacketVersion,
                               .kind = kind,
                               .from = options_.card.instance.rank,
                               .to = options_.peer,
                               .size = options_.size,
                               .number = number};
  absl::StatusOr<std::string> packet = SealPacket(key, header, payload);
  if (packet.ok()) return send_(*std::move(packet));
  Fail(packet.status());
}

void RelayLink::SendInStream(Kind kind, std::span<const uint8_t> payload) {
  Send(kind, *key_, sent_++, payload);
}

// As large as any packet, and a small one after it: where the carrier has no room for large ones,
// the other side misses it now, and not in the middle of the work.
void RelayLink::SendReady() {
  SendInStream(Kind::kReady, std::vector<uint8_t>(kMostPayload));
  SendRead();
}

void RelayLink::SendRead() {
  WireWriter writer;
  writer.Number(told_read_);
  SendInStream(Kind::kRead, writer.bytes());
}

void RelayLink::Call() {
  const std::lock_guard lock(mutex_);
  if (state_ != State::kApart || !error_.ok()) return;
  const absl::StatusOr<Secret> key = CallKey(secret_);
  if (!key.ok()) return Fail(key.status());
  Send(Kind::kCall, *key, 0, BytesOf({own_, options_.card}));
}

absl::Status RelayLink::TakeCall(const Packet& packet) {
  if (options_.peer < options_.card.instance.rank) return InvalidArgument("calls a higher rank");
  DTNN_ASSIGN_OR_RETURN(const Secret call_key, CallKey(secret_));
  DTNN_ASSIGN_OR_RETURN(const WipedVector<uint8_t> payload, OpenPacket(call_key, packet));
  DTNN_ASSIGN_OR_RETURN(const Introduction caller, ReadIntroduction(payload, options_.peer));
  DTNN_ASSIGN_OR_RETURN(const Secret answer_key, AnswerKey(caller.key));
  if (packet.header.size != options_.size) {
    Send(Kind::kSize, answer_key, 0, {});
    return InvalidArgument("counts ", packet.header.size, " ranks instead of ", options_.size);
  }
  if (state_ == State::kTogether) {
    if (caller.key != peers_) Send(Kind::kTaken, answer_key, 0, {});
    return absl::OkStatus();
  }
  DTNN_RETURN_IF_ERROR(error_);
  if (std::ranges::count(callers_, caller.key, &Caller::public_key) == 0) {
    DTNN_ASSIGN_OR_RETURN(Secret key, StreamKey(caller.key));
    callers_.push_back({caller.key, caller.card, std::move(key)});
    if (callers_.size() > kMostCallers) callers_.pop_front();
  }
  state_ = State::kAnswered;
  Send(Kind::kAnswer, answer_key, 0, BytesOf({own_, options_.card}));
  return absl::OkStatus();
}

bool RelayLink::ChooseCaller(const Packet& packet) {
  const auto chosen = std::ranges::find_if(
      callers_, [&](const Caller& caller) { return OpenPacket(caller.key, packet).ok(); });
  if (chosen == callers_.end()) return false;
  for (const Caller& other : callers_) {
    if (&other == &*chosen) continue;
    const absl::StatusOr<Secret> answer_key = AnswerKey(other.public_key);
    if (answer_key.ok()) Send(Kind::kTaken, *answer_key, 0, {});
  }
  peers_ = chosen->public_key;
  card_ = chosen->card;
  key_ = std::move(chosen->key);
  callers_.clear();
  return true;
}

absl::Status RelayLink::TakeAnswer(const Packet& packet) {
  if (options_.peer > options_.card.instance.rank) return absl::OkStatus();
  // Else it is to a call that was repeated.
  const bool counts =
      state_ == State::kApart || (state_ == State::kAnswered && packet.header.kind == Kind::kTaken);
  if (!counts) return absl::OkStatus();
  DTNN_ASSIGN_OR_RETURN(const Secret key, AnswerKey(own_));
  DTNN_ASSIGN_OR_RETURN(const WipedVector<uint8_t> payload, OpenPacket(key, packet));
  if (packet.header.kind == Kind::kTaken) {
    Fail(InvalidArgument("another process has joined it as rank ", options_.card.instance.rank,
                         "; each process needs a rank of its own"));
    return absl::OkStatus();
  }
  if (packet.header.kind == Kind::kSize) {
    Fail(InvalidArgument("it counts ", packet.header.size, " ranks, and this one ", options_.size));
    return absl::OkStatus();
  }
  DTNN_ASSIGN_OR_RETURN(const Introduction answered, ReadIntroduction(payload, options_.peer));
  DTNN_ASSIGN_OR_RETURN(key_, StreamKey(answered.key));
  peers_ = answered.key;
  card_ = answered.card;
  state_ = State::kAnswered;
  SendReady();
  return absl::OkStatus();
}

absl::Status RelayLink::TakeInStream(const Packet& packet) {
  if (!key_ && callers_.empty()) return absl::OkStatus();  // of an earlier connection
  if (!key_ && !ChooseCaller(packet)) return absl::UnauthenticatedError("");
  DTNN_ASSIGN_OR_RETURN(WipedVector<uint8_t> payload, OpenPacket(*key_, packet));
  if (packet.header.number < taken_) return absl::OkStatus();  // twice the same
  if (packet.header.number > taken_) {
    Fail(Unavailable(packet.header.number - taken_,
                     " of its messages are missing: what carries them has dropped them; it must "
                     "have room for messages of 257 KiB and for ",
                     options_.window / kPacketCost, " of them from each rank"));
    return absl::OkStatus();
  }
  ++taken_;
  const bool first = packet.header.number == 0;
  if (first != (packet.header.kind == Kind::kReady)) return InvalidArgument("is not ready");
  WireReader reader(payload, "packet");
  switch (packet.header.kind) {
    case Kind::kReady:
      if (options_.peer > options_.card.instance.rank) SendReady();
      state_ = State::kTogether;
      break;
    case Kind::kBytes:
      if (payload.empty()) return InvalidArgument("sends nothing");
      received_ += payload.size() + kPacketCost;
      if (received_ - told_read_ > options_.window) {
        return ResourceExhausted("sends more than it was granted");
      }
      inbox_.push_back(std::move(payload));
      break;
    case Kind::kRead: {
      const uint64_t read = reader.Number<uint64_t>();
      DTNN_RETURN_IF_ERROR(reader.Done());
      if (read < acknowledged_ || read > written_)
        return InvalidArgument("reads what was not sent");
      acknowledged_ = read;
      break;
    }
    default:  // kEnd
      Fail(absl::OutOfRangeError("closed by the other side"));
  }
  wakeup_.Wake();
  return absl::OkStatus();
}

void RelayLink::Take(const Packet& packet) {
  bool news = false;
  {
    const std::lock_guard lock(mutex_);
    const State before = state_;
    const bool was_ok = error_.ok();
    absl::Status status;
    switch (packet.header.kind) {
      case Kind::kCall:
        status = TakeCall(packet);
        break;
      case Kind::kAnswer:
      case Kind::kTaken:
      case Kind::kSize:
        status = TakeAnswer(packet);
        break;
      case Kind::kWrong:
        // Anybody may say so; it only helps who looks for the reason of a silence.
        if (state_ == State::kApart) status = Unavailable("cannot open what this rank sends");
        break;
      default:
        if (error_.ok()) status = TakeInStream(packet);
        // The sender knows the key, and breaks the rules.
        if (!status.ok() && !absl::IsUnauthenticated(status)) Fail(status);
    }
    if (!status.ok()) {
      refused_ = absl::IsUnauthenticated(status) ? "does not know this job's secret"
                                                 : std::string(status.message());
      if (absl::IsUnauthenticated(status) && packet.header.kind == Kind::kCall) {
        send_(BarePacket({.version = kPacketVersion,
                          .kind = Kind::kWrong,
                          .from = options_.card.instance.rank,
                          .to = options_.peer,
                          .size = options_.size}));
      }
    }
    news = state_ != before || error_.ok() != was_ok || !status.ok();
  }
  if (news) changed_();
}

void RelayLink::Leave(const Instance& who) {
  {
    const std::lock_guard lock(mutex_);
    const auto caller =
        std::ranges::find(callers_, who, [](const Caller& caller) { return caller.card.instance; });
    if (caller != callers_.end()) {
      card_ = caller->card;
      callers_.erase(caller);
      if (!callers_.empty()) return;  // the link may still be another's
    }
    if (state_ == State::kApart || who != card_.instance) return;
    // The users of the stream notice a process that left when the stream was ready.
    state_ = State::kTogether;
    Fail(absl::OutOfRangeError("closed by the other side"));
  }
  changed_();
}

void RelayLink::Cut(const absl::Status& why) {
  {
    const std::lock_guard lock(mutex_);
    Fail(why);
  }
  changed_();
}

absl::StatusOr<size_t> RelayLink::Read(std::span<std::byte> into) {
  const std::lock_guard lock(mutex_);
  if (inbox_.empty()) {
    wakeup_.Drain();
    if (error_.ok()) return size_t{0};
    wakeup_.Wake();  // poll reports an end again and again
    return error_;
  }
  const WipedVector<uint8_t>& first = inbox_.front();
  const size_t n = std::min(into.size(), first.size() - inbox_at_);
  std::memcpy(into.data(), first.data() + inbox_at_, n);
  inbox_at_ += n;
  if (inbox_at_ == first.size()) {
    read_ += first.size() + kPacketCost;
    inbox_at_ = 0;
    inbox_.pop_front();
  }
  if (read_ - told_read_ >= options_.window / 4 && error_.ok()) {
    told_read_ = read_;
    SendRead();
  }
  return n;
}

absl::StatusOr<size_t> RelayLink::Write(std::span<const std::span<const std::byte>> from) {
  size_t total = 0;
  for (const std::span<const std::byte> range : from) total += range.size();
  const std::lock_guard lock(mutex_);
  if (!error_.ok()) return error_;
  if (ended_ || total == 0) return size_t{0};
  const uint64_t open = written_ - acknowledged_;
  const size_t most = std::min(total, kMostPayload);
  if (open + kPacketCost + std::min(most, kLeastWrite) > options_.window) return size_t{0};
  const size_t n = std::min<size_t>(most, options_.window - open - kPacketCost);
  std::vector<uint8_t> payload;
  payload.reserve(n);
  for (const std::span<const std::byte> range : from) {
    const auto* const begin = reinterpret_cast<const uint8_t*>(range.data());
    payload.insert(payload.end(), begin, begin + std::min(range.size(), n - payload.size()));
  }
  written_ += n + kPacketCost;
  SendInStream(Kind::kBytes, payload);
  return n;
}

absl::StatusOr<std::vector<uint8_t>> RelayLink::Binding() const {
  const std::lock_guard lock(mutex_);
  if (!key_) return FailedPrecondition("the stream has no key yet");
  DTNN_ASSIGN_OR_RETURN(const Secret binding, DeriveSecret(*key_, "a stream's binding"));
  return std::vector<uint8_t>(binding.bytes().begin(), binding.bytes().end());
}

void RelayLink::CloseWriting() {
  const std::lock_guard lock(mutex_);
  if (!std::exchange(ended_, true) && key_) SendInStream(Kind::kEnd, {});
}

}  // namespace dtnn
