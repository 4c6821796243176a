#include "comm/secrets/masked/masked_client.h"

#include "comm/secrets/crypto/random_secret.h"
#include "comm/secrets/crypto/sealed_message.h"
#include "comm/secrets/crypto/shamir.h"
#include "comm/wire/wire.h"
#include "tensor/errors.h"

namespace dtnn::masked {
namespace {

constexpr std::string_view kSealPurpose = "DTNN shares from one client to another";

// What a sealed message is bound to. Each direction has its own.
std::vector<uint8_t> Bound(const MaskedParameters& parameters, int from, int to) {
  WireWriter writer;
  writer.Number(parameters.round);
  writer.Number(uint32_t(from));
  writer.Number(uint32_t(to));
  return std::move(writer).Take();
}

absl::StatusOr<Hash> HashOfAgreed(const MaskedParameters& parameters, const Bond& bond,
                                  const Hash& drawn,
                                  const std::map<int, Advertisement>& advertised) {
  WireWriter writer;
  writer.Bytes(AsBytes("DTNN masked sum"));
  writer.Number(parameters.round);
  writer.Number(uint32_t(parameters.clients));
  writer.Number(uint32_t(parameters.neighbours));
  writer.Number(uint32_t(parameters.shares_needed()));
  writer.Bytes(bond.facts);
  writer.Bytes(drawn);
  for (const auto& [client, advertisement] : advertised) writer.Bytes(ToBytes(advertisement));
  return Sha256({writer.bytes()});
}

absl::Status CheckAdvertised(const MaskedParameters& parameters, const Advertisement& own,
                             std::span<const Advertisement> advertised) {
  std::set<int> clients;
  std::set<X25519PublicKey> keys;
  bool own_found = false;
  for (const Advertisement& a : advertised) {
    if (a.client < 0 || a.client >= parameters.clients || !clients.insert(a.client).second ||
        !keys.insert(a.sealing).second || !keys.insert(a.masking).second) {
      return InvalidArgument("masked sum: client ", a.client,
                             " does not exist, advertised twice, or has a key of another one");
    }
    own_found |= a.client == own.client && ToBytes(a) == ToBytes(own);
  }
  if (!own_found) {
    return InvalidArgument("masked sum: the server changed or lost the keys of client ",
                           own.client);
  }
  if (int(clients.size()) < parameters.least()) {
    return InvalidArgument("masked sum: only ", clients.size(), " clients advertised, needs ",
                           parameters.least());
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<Secret> MaskedClient::SealKey(const Advertisement& peer) const {
  DTNN_ASSIGN_OR_RETURN(const Secret pair,
                        PairSecret(parameters_, kSealPurpose, advertisement_.client,
                                   secrets_->sealing, peer.client, peer.sealing));
  DTNN_ASSIGN_OR_RETURN(const Hash both, Sha256({pair.bytes(), bond_.key.bytes()}));
  return DeriveSecret(Secret(both), kSealPurpose, agreed_);
}

absl::Status MaskedClient::Expect(Stage stage) const {
  static constexpr std::string_view kNext[] = {"Share", "Receive", "Mask, vote or RevealShares",
                                               "RevealShares", "nothing more"};
  if (stage_ == stage) return absl::OkStatus();
  return FailedPrecondition("masked sum of round ", parameters_.round, ": client ",
                            advertisement_.client, " can do ", kNext[size_t(stage_)],
                            " now; one client object makes one sum");
}

absl::StatusOr<MaskedClient> MaskedClient::Create(const MaskedParameters& parameters, int client,
                                                  const Bond& bond) {
  DTNN_RETURN_IF_ERROR(Validate(parameters));
  if (client < 0 || client >= parameters.clients) {
    return InvalidArgument("masked sum: there is no client ", client, " among ",
                           parameters.clients);
  }
  MaskedClient result(parameters, bond);
  Secrets& secrets = result.secrets_.emplace();
  DTNN_ASSIGN_OR_RETURN(secrets.sealing, RandomSecret());
  DTNN_ASSIGN_OR_RETURN(secrets.masking, RandomSecret());
  DTNN_ASSIGN_OR_RETURN(secrets.own_mask, RandomSecret());
  Advertisement& a = result.advertisement_;
  a.client = client;
  DTNN_ASSIGN_OR_RETURN(a.sealing, X25519PublicKeyOf(secrets.sealing));
  DTNN_ASSIGN_OR_RETURN(a.masking, X25519PublicKeyOf(secrets.masking));
  DTNN_ASSIGN_OR_RETURN(a.own_mask, HashOfOwnMask(parameters, client, secrets.own_mask));
  return result;
}

absl::StatusOr<std::vector<SealedShares>> MaskedClient::Share(
    std::span<const Advertisement> advertised, const Hash& drawn) {
  DTNN_RETURN_IF_ERROR(Expect(Stage::kAdvertised));
  DTNN_RETURN_IF_ERROR(CheckAdvertised(parameters_, advertisement_, advertised));
  stage_ = Stage::kShared;
  const int self = advertisement_.client, needed = parameters_.shares_needed();
  DTNN_ASSIGN_OR_RETURN(const std::vector<SecretShare> own,
                        SplitSecret(secrets_->own_mask, needed, parameters_.shares()));
  DTNN_ASSIGN_OR_RETURN(const std::vector<SecretShare> masking,
                        SplitSecret(secrets_->masking, needed, parameters_.shares()));
  for (const Advertisement& peer : advertised) advertised_.emplace(peer.client, peer);
  DTNN_ASSIGN_OR_RETURN(agreed_, HashOfAgreed(parameters_, bond_, drawn, advertised_));
  DTNN_ASSIGN_OR_RETURN(graph_, MaskGraph::Draw(parameters_, advertised, drawn));
  std::vector<SealedShares> messages;
  int holders = 0;
  for (const int to : graph_->Around(self)) {
    const auto found = advertised_.find(to);
    if (found == advertised_.end()) continue;
    const Advertisement& peer = found->second;
    const auto index = size_t(graph_->ShareIndex(self, to));
    const Shares shares{own[index].value, masking[index].value};
    ++holders;
    if (to == self) {
      secrets_->shares.emplace(self, shares);
      continue;
    }
    DTNN_ASSIGN_OR_RETURN(const Secret key, WithContext(SealKey(peer), "client ", to));
    secrets_->seal_keys.emplace(to, key);
    WipedVector<uint8_t> message(shares.own_mask.bytes().begin(), shares.own_mask.bytes().end());
    message.insert(message.end(), shares.masking.bytes().begin(), shares.masking.bytes().end());
    SealedShares sealed{self, to, {}};
    DTNN_ASSIGN_OR_RETURN(sealed.sealed, Seal(key, Bound(parameters_, self, to), message));
    messages.push_back(std::move(sealed));
  }
  if (holders < needed) {
    return InvalidArgument("masked sum: only ", holders, " around client ", self,
                           " advertised, needs ", needed);
  }
  return messages;
}

absl::Status MaskedClient::Receive(std::span<const SealedShares> shares) {
  DTNN_RETURN_IF_ERROR(Expect(Stage::kShared));
  const int self = advertisement_.client;
  for (const SealedShares& message : shares) {
    const auto peer = advertised_.find(message.from);
    if (message.to != self || peer == advertised_.end() ||
        !graph_->AreNeighbours(message.from, self) || secrets_->shares.contains(message.from)) {
      return InvalidArgument("masked sum: shares from client ", message.from, " to client ",
                             message.to, " are not for client ", self, " or come twice");
    }
    culprit_ = message.from;
    DTNN_ASSIGN_OR_RETURN(const WipedVector<uint8_t> opened,
                          WithContext(Open(secrets_->seal_keys.at(message.from),
                                           Bound(parameters_, message.from, self), message.sealed),
                                      "shares of client ", message.from));
    if (opened.size() != 2 * Secret::kSize) {
      return DataLoss("shares of client ", message.from, ": have ", opened.size(), " bytes");
    }
    const std::span<const uint8_t> bytes(opened);
    secrets_->shares.emplace(message.from, Shares{Secret(bytes.first<Secret::kSize>()),
                                                  Secret(bytes.last<Secret::kSize>())});
    DTNN_ASSIGN_OR_RETURN(
        Secret mask, PairSecret(parameters_, kMaskPurpose, self, secrets_->masking, message.from,
                                peer->second.masking));
    secrets_->pair_masks.emplace(message.from, mask);
    culprit_.reset();
  }
  if (int(secrets_->shares.size()) < parameters_.shares_needed()) {
    return InvalidArgument("masked sum: only ", secrets_->shares.size(),
                           " clients sent shares, needs ", parameters_.shares_needed());
  }
  secrets_->seal_keys.clear();
  stage_ = Stage::kReceived;
  return absl::OkStatus();
}

template <typename Word>
absl::Status MaskedClient::Mask(uint64_t chunk, std::span<Word> words) {
  DTNN_RETURN_IF_ERROR(Expect(Stage::kReceived));
  {
    const std::lock_guard lock(used_->mutex);
    if (!used_->chunks.insert(chunk).second) {
      return FailedPrecondition("masked sum of round ", parameters_.round, ": client ",
                                advertisement_.client, " has masked chunk ", chunk,
                                " before; a mask hides one message, send that one again");
    }
  }
  DTNN_RETURN_IF_ERROR(AddMask(secrets_->own_mask, chunk, Sign::kPlus, words));
  for (const auto& [peer, seed] : secrets_->pair_masks) {
    DTNN_RETURN_IF_ERROR(AddMask(seed, chunk, SignOf(advertisement_.client, peer), words));
  }
  return absl::OkStatus();
}

template absl::Status MaskedClient::Mask(uint64_t, std::span<uint32_t>);
template absl::Status MaskedClient::Mask(uint64_t, std::span<uint64_t>);

}  // namespace dtnn::masked
