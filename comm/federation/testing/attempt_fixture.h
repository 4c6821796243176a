// What the tests of attempts share: an attempt at a round, and its clients, without connections and
// clocks.

#ifndef DTNN_COMM_FEDERATION_TESTING_ATTEMPT_FIXTURE_H_
#define DTNN_COMM_FEDERATION_TESTING_ATTEMPT_FIXTURE_H_

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "comm/federation/aggregator/attempt/attempt.h"
#include "comm/federation/hidden_metrics.h"
#include "comm/secrets/ckks/message.h"
#include "comm/secrets/crypto/random_secret.h"
#include "comm/secrets/masked/masked_parameters.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tensor/must.h"

namespace dtnn::federation {

// Its part of a decryption is well formed, but one number of it is another one.
class LiesAboutSums : public codec::ClientCodec {
 public:
  LiesAboutSums(std::unique_ptr<codec::ClientCodec> codec, const ckks::CkksContext& context)
      : codec_(std::move(codec)), context_(context) {}
  const codec::CodecDescription& description() const override { return codec_->description(); }
  absl::StatusOr<Bytes> Encode(ChunkId id, std::span<const float> values) override {
    return codec_->Encode(id, values);
  }
  absl::StatusOr<Bytes> Answer(ChunkId id, std::span<const uint8_t> question) override {
    ckks::Message part = Must(ckks::MessageFromBytes(
        context_, ckks::MessageKind::kPartialDecryption, Must(codec_->Answer(id, question))));
    uint64_t& number = part.polynomials[0][5];
    number = number == 0 ? 1 : number - 1;
    return ckks::MessageToBytes(context_, ckks::MessageKind::kPartialDecryption, part.number, {},
                                {part.polynomials[0]});
  }
  absl::Status Decode(ChunkId id, std::span<const uint8_t> result,
                      std::span<float> values) override {
    return codec_->Decode(id, result, values);
  }

 private:
  const std::unique_ptr<codec::ClientCodec> codec_;
  const ckks::CkksContext& context_;
};

// An attempt, and clients that follow the protocol but where a test has them send something else.
class AttemptTest : public ::testing::Test {
 protected:
  static constexpr size_t kValues = 10;
  static constexpr uint64_t kNumber = 3;

  // What the client at a position contributes, times its factor of 1.
  static float NumberOf(int position) { return float(1 << position % 7); }

  void Begin(Protection protection, int clients, int quorum, size_t values = kValues) {
    values_ = values;
    protector_ = Must(
        Protector::Create({.protection = protection, .mask_neighbours = mask_neighbours_}, values));
    std::vector<Asked> asked;
    clients_.clear();
    updates_.clear();
    replies_.assign(size_t(clients), 0);
    for (int i = 0; i < clients; ++i) {
      asked.push_back({.name = StrCat("client-", i), .samples = 1, .factor = factor_});
    }
    const SumFacts sum = {.attempt = kNumber,
                          .participants = clients,
                          .chunks = protector_->chunks(protector_->sum_values(values))};
    for (int i = 0; i < clients; ++i) {
      clients_.push_back(Must(MakeClientProtocol(*protector_, sum, i, key_)));
    }
    attempt_ = Must(
        Attempt::Create({.number = kNumber,
                         .quorum = quorum,
                         .deadline = deadline_,
                         .robust = robust_,
                         .receive_bytes = receive_bytes_,
                         .run = run_},
                        *protector_, job_, values, {}, std::move(asked),
                        [this](int position, FrameKind kind, uint32_t index, SharedBytes body) {
                          notes_.push_back({kind, position, index, std::move(body)});
                        }));
    attempt_->Advance(now_);
    for (int i = 0; i < clients; ++i) {
      if (clients_[size_t(i)]->setup_notes() > 0) {
        Reply(i, Must(clients_[size_t(i)]->FirstReply()));
      }
    }
    Deliver();
  }

  // As the aggregator does with what comes from a connection.
  void Send(int position, FrameKind kind, uint32_t index, Bytes body) {
    const FrameHeader header = {
        .kind = kind, .bytes = uint32_t(body.size()), .attempt = kNumber, .index = index};
    const std::optional<size_t> most = attempt_->Allowed(position, header);
    ASSERT_TRUE(most && body.size() <= *most)
        << index << ": the connection would end, " << body.size();
    attempt_->Take(position, {.header = header, .body = std::move(body)});
    attempt_->Advance(now_);
  }

  void Reply(int position, Bytes body) {
    Send(position, FrameKind::kReply, replies_[size_t(position)]++, std::move(body));
  }

  // Notes and questions, and the replies to them. `change` may make another reply.
  void Deliver() {
    while (!notes_.empty()) {
      const Note note = std::move(notes_.front());
      notes_.pop_front();
      if (note.kind == FrameKind::kQuestion) {
        Send(note.position, FrameKind::kAnswer, note.index,
             Must(updates_.at(note.position)->Answer({kNumber, note.index}, *note.body)));
        continue;
      }
      ASSERT_EQ(note.kind, FrameKind::kNote);
      if (skip_ && skip_(note)) continue;
      std::optional<Bytes> reply =
          Must(clients_[size_t(note.position)]->TakeNote(int(note.index), *note.body));
      if (!reply) continue;
      if (change_) change_(note.position, *reply);
      Reply(note.position, *std::move(reply));
    }
  }

  void SendUpdate(int position, Report report = {.samples = 1}) {
    std::unique_ptr<codec::ClientCodec> codec = Must(clients_[size_t(position)]->MakeCodec());
    if (position == liar_)
      codec = std::make_unique<LiesAboutSums>(std::move(codec), *protector_->context());
    auto client = std::make_unique<codec::UpdateClient>(std::move(codec), position,
                                                        Must(codec::ClientTagKey(job_, position)),
                                                        Must(codec::ServerTagKey(job_)));
    const size_t most = protector_->chunk_values();
    const size_t all = protector_->sum_values(values_);
    std::vector<float> numbers =
        numbers_ ? numbers_(position) : std::vector<float>(values_, NumberOf(position));
    if (all > values_) {
      const std::vector<float> hidden = HideMetrics(report.metrics);
      numbers.insert(numbers.end(), hidden.begin(), hidden.end());
    }
    for (size_t at = 0; at < all; at += most) {
      const auto values = std::span(numbers).subspan(at, std::min(most, all - at));
      const auto chunk = uint32_t(at / most);
      Bytes message = Must(client->Encode({kNumber, chunk}, values));
      if (damage_) damage_(chunk, message);
      Send(position, FrameKind::kUpdate, chunk, std::move(message));
    }
    updates_[position] = std::move(client);
    Send(position, FrameKind::kReport, 0, ToBytes(report));
  }
  void SendUpdates(int from, int to) {
    for (int i = from; i < to; ++i) SendUpdate(i);
    Deliver();
  }

  const Asked& asked(int position) const { return attempt_->asked()[size_t(position)]; }

  // The sum of these clients, and no others.
  void ExpectMeanOf(const std::vector<int>& positions) {
    ASSERT_TRUE(attempt_->over());
    ASSERT_EQ(attempt_->failure(), absl::OkStatus());
    float sum = 0;
    for (const int i : positions) sum += NumberOf(i);
    const float mean = sum / float(positions.size());
    EXPECT_THAT(attempt_->average(), ::testing::Each(::testing::FloatNear(mean, 1e-4f)));
    for (int i = 0; i < int(attempt_->asked().size()); ++i) {
      EXPECT_EQ(asked(i).state == Asked::State::kAccepted, std::ranges::count(positions, i) == 1)
          << i;
    }
  }

  // Makes the shares that these clients reveal of those clients' secrets wrong.
  void Twist(const std::vector<int>& by, const std::vector<int>& of) {
    change_ = [this, by, of](int from, Bytes& reply) {
      const masked::MaskedParameters parameters = {.clients = int(clients_.size()),
                                                   .round = kNumber};
      absl::StatusOr<masked::Reveal> reveal = masked::RevealFromBytes(parameters, reply);
      if (std::ranges::count(by, from) == 0 || !reveal.ok()) return;
      for (masked::Reveal::Entry& entry : reveal->entries) {
        // By different numbers: equal ones may cancel in the secret.
        if (std::ranges::count(of, entry.client) > 0) entry.share.bytes()[5] ^= uint8_t(9 + from);
      }
      reply = masked::ToBytes(*reveal);
    };
  }

  struct Note {
    FrameKind kind;
    int position;
    uint32_t index;
    SharedBytes body;
  };

  size_t values_ = 0;
  double factor_ = 1;                                           // of every client
  std::function<std::vector<float>(int position)> numbers_;     // in place of NumberOf
  std::function<void(uint32_t chunk, Bytes& message)> damage_;  // of an update
  std::optional<Secret> key_;                                   // that clients share
  RobustOptions robust_;
  std::function<void(std::function<void()> work)> run_;
  uint64_t receive_bytes_ = uint64_t{1} << 30;
  std::chrono::seconds deadline_{40};
  int mask_neighbours_ = 0;
  const Secret job_ = Must(RandomSecret());
  Attempt::Clock::time_point now_ = Attempt::Clock::now();
  std::optional<Protector> protector_;
  std::unique_ptr<Attempt> attempt_;
  std::vector<std::unique_ptr<ClientProtocol>> clients_;
  std::map<int, std::unique_ptr<codec::UpdateClient>> updates_;  // of those that have sent one
  std::vector<uint32_t> replies_;                                // that each has sent
  std::deque<Note> notes_;
  std::function<bool(const Note&)> skip_;  // which its client does not get
  std::function<void(int position, Bytes& reply)> change_;
  int liar_ = -1;  // decrypts something else than the sum
};

}  // namespace dtnn::federation

#endif  // DTNN_COMM_FEDERATION_TESTING_ATTEMPT_FIXTURE_H_
