#include "comm/federation/threshold_protocol.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "comm/ckks/message.h"
#include "comm/ckks/threshold.h"
#include "comm/codec/encrypted_codec.h"
#include "comm/crypto/hash.h"
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

class Server : public ServerProtocol {
 public:
  Server(ContextPointer context, const SumFacts& sum, const ckks::Seed& seed)
      : context_(std::move(context)), clients_(sum.participants), seed_(seed) {
    for (auto& list : replies_) list.resize(size_t(clients_));
  }

  int setup_notes() const override { return 2; }
  bool needs_all() const override { return true; }

  absl::Status TakeReply(int note, int position, std::span<const uint8_t> reply) override {
    const size_t wanted =
        note == 0 ? sizeof(Hash) : MessageBytes(*context_, ckks::MessageKind::kKeyShare);
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
      DTNN_RETURN_IF_ERROR(CheckKeyShare(*context_, seed_, position, commitment, reply));
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
  Client(ContextPointer context, int clients, int position, const ckks::Seed& seed,
         ckks::ThresholdClient self)
      : context_(std::move(context)),
        clients_(clients),
        position_(position),
        seed_(seed),
        self_(std::move(self)) {}

  int setup_notes() const override { return 2; }

  absl::StatusOr<Bytes> FirstReply() override {
    return Bytes(self_->commitment().begin(), self_->commitment().end());
  }

  absl::StatusOr<std::optional<Bytes>> TakeNote(int note, std::span<const uint8_t> body) override {
    DTNN_ASSIGN_OR_RETURN(std::vector<Bytes> list, ListFromBytes(body, size_t(clients_)));
    const bool mine =
        note == 0 ? list.size() == size_t(clients_) &&
                        std::ranges::equal(list[size_t(position_)], self_->commitment())
                  : list.size() == size_t(clients_) && list[size_t(position_)] == self_->share();
    if (note > 1 || !mine) {
      return absl::UnauthenticatedError(
          "the aggregator tells others another share of the joint key than this client's");
    }
    if (note == 1) {
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
    return self_->share();
  }

  absl::StatusOr<std::unique_ptr<codec::ClientCodec>> MakeCodec() override {
    if (!key_ || !self_) return absl::FailedPreconditionError("there is no joint key yet");
    ckks::ThresholdClient self = *std::move(self_);
    self_.reset();
    return codec::ThresholdCodecClient(context_, clients_, std::move(self), *std::move(key_));
  }

 private:
  const ContextPointer context_;
  const int clients_, position_;
  const ckks::Seed seed_;
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
                                                                    int position) {
  if (sum.participants < 2) {
    return FailedPrecondition("threshold keys of ", sum.participants,
                              " client hide nothing; at least 2 are needed");
  }
  DTNN_ASSIGN_OR_RETURN(const ckks::Seed seed, SeedOf(sum));
  DTNN_ASSIGN_OR_RETURN(ckks::ThresholdClient self,
                        ckks::ThresholdClient::Create(*context, ThresholdOf(sum), position, seed));
  return std::make_unique<Client>(std::move(context), sum.participants, position, seed,
                                  std::move(self));
}

}  // namespace dtnn::federation
