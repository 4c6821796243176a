#include "comm/federation/threshold_protocol.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "comm/secrets/ckks/message.h"
#include "comm/secrets/ckks/threshold.h"
#include "comm/secrets/crypto/hash.h"
#include "comm/secrets/sums/encrypted_codec.h"
#include "comm/wire/wire.h"
#include "tensor/errors.h"

namespace dtnn::federation {
namespace {

// Public, and new for every sum.
absl::StatusOr<ckks::Seed> SeedOf(const SumFacts& sum) {
  WireWriter writer;
  writer.Bytes(AsBytes("DTNN joint key of a federation"));
  writer.Bytes(sum.nonce);
  writer.Number(sum.attempt);
  DTNN_ASSIGN_OR_RETURN(const Hash hash, Sha256({writer.bytes()}));
  ckks::Seed seed{};
  static_assert(sizeof(seed) <= sizeof(hash));
  std::copy_n(hash.begin(), seed.size(), seed.begin());
  return seed;
}

ckks::ThresholdParameters ThresholdOf(const SumFacts& sum) {
  return {.clients = sum.participants, .decryptions = std::max<int64_t>(1, int64_t(sum.chunks))};
}

size_t TaggedShareBytes(const ckks::CkksContext& context) {
  return MessageBytes(context, ckks::MessageKind::kKeyShare) + sizeof(Hash);
}

class Server : public ServerProtocol {
 public:
  Server(ContextPointer context, const SumFacts& sum, const ckks::Seed& seed)
      : context_(std::move(context)), clients_(sum.participants), seed_(seed) {
    for (auto& list : replies_) list.resize(size_t(clients_));
  }

  int setup_notes() const override { return 2; }
  bool needs_all() const override { return true; }

  absl::Status TakeReply(int note, int position, std::span<const uint8_t> reply) override {
    const size_t wanted = note == 0 ? sizeof(Hash) : TaggedShareBytes(*context_);
    if (note > 1 || reply.size() != wanted) {
      return DataLoss("reply ", note, " of client ", position, " has ", reply.size(),
                      " bytes, expected ", wanted);
    }
    // Here, since all other clients would refuse it.
    if (note == 1) {
      Hash commitment{};
      const Bytes& announced = replies_[0][size_t(position)];
      if (announced.size() != commitment.size()) return DataLoss("a share without a commitment");
      std::ranges::copy(announced, commitment.begin());
      DTNN_RETURN_IF_ERROR(CheckKeyShare(*context_, seed_, position, commitment,
                                         reply.first(reply.size() - sizeof(Hash))));
    }
    replies_[note][size_t(position)].assign(reply.begin(), reply.end());
    return absl::OkStatus();
  }

  absl::StatusOr<std::map<int, SharedBytes>> Note(int note) override {
    const std::vector<Bytes>& replies = replies_[note];
    if (std::ranges::any_of(replies, &Bytes::empty)) {
      return absl::FailedPreconditionError("threshold keys need all clients");
    }
    const SharedBytes all = std::make_shared<const Bytes>(ListToBytes(replies));
    std::map<int, SharedBytes> notes;
    for (int position = 0; position < clients_; ++position) notes[position] = all;
    return notes;
  }

  absl::StatusOr<std::unique_ptr<codec::ServerCodec>> MakeCodec() override {
    return codec::ThresholdCodecServer(context_, clients_);
  }

 private:
  const ContextPointer context_;
  const int clients_;
  const ckks::Seed seed_;
  std::vector<Bytes> replies_[2];
};

class Client : public ClientProtocol {
 public:
  Client(ContextPointer context, const SumFacts& sum, int position, const ckks::Seed& seed,
         const Secret& key, ckks::ThresholdClient self)
      : context_(std::move(context)),
        sum_(sum),
        position_(position),
        seed_(seed),
        tag_key_(key),
        self_(std::move(self)) {}

  int setup_notes() const override { return 2; }

  absl::StatusOr<Bytes> FirstReply() override {
    return Bytes(self_->commitment().begin(), self_->commitment().end());
  }

  absl::StatusOr<std::optional<Bytes>> TakeNote(int note, std::span<const uint8_t> body) override {
    const size_t clients = size_t(sum_.participants);
    DTNN_ASSIGN_OR_RETURN(std::vector<Bytes> list, ListFromBytes(body, clients));
    const Bytes mine =
        note == 0 ? Bytes(self_->commitment().begin(), self_->commitment().end()) : tagged_share_;
    if (note > 1 || list.size() != clients || list[size_t(position_)] != mine) {
      return absl::UnauthenticatedError(
          "the aggregator tells others another share of the joint key than this client's");
    }
    if (note == 1) {
      DTNN_RETURN_IF_ERROR(TakeTags(list));
      DTNN_ASSIGN_OR_RETURN(key_, JoinKeyShares(*context_, seed_, commitments_, list));
      return std::nullopt;
    }
    for (const Bytes& entry : list) {
      Hash commitment{};
      if (entry.size() != commitment.size()) {
        return DataLoss("a commitment of ", entry.size(), " bytes, expected ", commitment.size());
      }
      std::ranges::copy(entry, commitment.begin());
      commitments_.push_back(commitment);
    }
    DTNN_ASSIGN_OR_RETURN(const Hash tag, TagOf(position_));
    tagged_share_ = self_->share();
    tagged_share_.insert(tagged_share_.end(), tag.begin(), tag.end());
    return tagged_share_;
  }

  std::optional<int> culprit() const override { return culprit_; }

  absl::StatusOr<std::unique_ptr<codec::ClientCodec>> MakeCodec() override {
    if (!key_ || !self_) return absl::FailedPreconditionError("there is no joint key yet");
    ckks::ThresholdClient self = *std::move(self_);
    self_.reset();
    DTNN_ASSIGN_OR_RETURN(const Hash agreed, TagOf(sum_.participants));
    DTNN_ASSIGN_OR_RETURN(const Secret tags,
                          DeriveSecret(Secret(agreed), "DTNN federation: tags of ciphertexts"));
    return codec::ThresholdCodecClient(context_, sum_.participants, std::move(self),
                                       *std::move(key_), tags);
  }

 private:
  // The tag of the share of a client that has received the same messages and commitments, which
  // this client's new one is among. That of position `participants`, which is nobody's, goes
  // nowhere: it is what this sum's other keys are made of.
  absl::StatusOr<Hash> TagOf(int position) const {
    WireWriter writer;
    writer.Bytes(AsBytes("DTNN share of a joint key"));
    writer.Bytes(sum_.facts);
    writer.Number(uint32_t(position));
    for (const Hash& commitment : commitments_) writer.Bytes(commitment);
    return Hmac(tag_key_.bytes(), {writer.bytes()});
  }

  // Leaves the shares.
  absl::Status TakeTags(std::vector<Bytes>& tagged) {
    for (int position = 0; position < sum_.participants; ++position) {
      Bytes& entry = tagged[size_t(position)];
      DTNN_ASSIGN_OR_RETURN(const Hash good, TagOf(position));
      Hash tag{};
      const bool whole = entry.size() == TaggedShareBytes(*context_);
      if (whole) std::copy(entry.end() - int64_t(tag.size()), entry.end(), tag.begin());
      if (!whole || !Secret(good).Equals(Secret(tag))) {
        culprit_ = position;
        return absl::UnauthenticatedError(
            StrCat("the share of the joint key of client ", position,
                   " has a wrong tag: it has another key than this client, has received "
                   "other messages, or another process plays it"));
      }
      entry.resize(entry.size() - tag.size());
    }
    return absl::OkStatus();
  }

  const ContextPointer context_;
  const SumFacts sum_;
  const int position_;
  const ckks::Seed seed_;
  const Secret tag_key_;
  Bytes tagged_share_;
  std::optional<int> culprit_;
  std::optional<ckks::ThresholdClient> self_;
  std::vector<Hash> commitments_;
  std::optional<ckks::PublicKey> key_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<ServerProtocol>> MakeThresholdServer(ContextPointer context,
                                                                    const SumFacts& sum) {
  if (sum.participants < 2) {
    return FailedPrecondition("threshold keys need 2 clients or more, not ", sum.participants);
  }
  DTNN_ASSIGN_OR_RETURN(const ckks::Seed seed, SeedOf(sum));
  return std::make_unique<Server>(std::move(context), sum, seed);
}

absl::StatusOr<std::unique_ptr<ClientProtocol>> MakeThresholdClient(ContextPointer context,
                                                                    const SumFacts& sum,
                                                                    int position,
                                                                    const Secret& key) {
  if (sum.participants < 2) {
    return FailedPrecondition("threshold keys of ", sum.participants,
                              " client hide nothing; at least 2 are needed");
  }
  DTNN_ASSIGN_OR_RETURN(const ckks::Seed seed, SeedOf(sum));
  DTNN_ASSIGN_OR_RETURN(ckks::ThresholdClient self,
                        ckks::ThresholdClient::Create(*context, ThresholdOf(sum), position, seed));
  return std::make_unique<Client>(std::move(context), sum, position, seed, key, std::move(self));
}

}  // namespace dtnn::federation
