#include "comm/secrets/masked/masked_client.h"

#include <algorithm>

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
                                  const std::map<int, Advertisement>& advertised) {
  WireWriter writer;
  writer.Bytes(AsBytes("DTNN masked sum"));
  writer.Number(parameters.round);
  writer.Number(uint32_t(parameters.clients));
  writer.Number(uint32_t(parameters.least()));
  writer.Bytes(bond.facts);
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
  static constexpr std::string_view kNext[] = {"Share", "Receive", "Mask or RevealShares",
                                               "nothing more"};
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
    std::span<const Advertisement> advertised) {
  DTNN_RETURN_IF_ERROR(Expect(Stage::kAdvertised));
  DTNN_RETURN_IF_ERROR(CheckAdvertised(parameters_, advertisement_, advertised));
  stage_ = Stage::kShared;
  const int self = advertisement_.client;
  DTNN_ASSIGN_OR_RETURN(const std::vector<SecretShare> own,
                        SplitSecret(secrets_->own_mask, parameters_.least(), parameters_.clients));
  DTNN_ASSIGN_OR_RETURN(const std::vector<SecretShare> masking,
                        SplitSecret(secrets_->masking, parameters_.least(), parameters_.clients));
  for (const Advertisement& peer : advertised) advertised_.emplace(peer.client, peer);
  DTNN_ASSIGN_OR_RETURN(agreed_, HashOfAgreed(parameters_, bond_, advertised_));
  std::vector<SealedShares> messages;
  for (const auto& [to, peer] : advertised_) {
    const Shares shares{own[size_t(to)].value, masking[size_t(to)].value};
    if (to == self) {
      secrets_->shares.emplace(self, shares);
      continue;
    }
    DTNN_ASSIGN_OR_RETURN(const Secret key, WithContext(SealKey(peer), "client ", to));
    WipedVector<uint8_t> message(shares.own_mask.bytes().begin(), shares.own_mask.bytes().end());
    message.insert(message.end(), shares.masking.bytes().begin(), shares.masking.bytes().end());
    SealedShares sealed{self, to, {}};
    DTNN_ASSIGN_OR_RETURN(sealed.sealed, Seal(key, Bound(parameters_, self, to), message));
    messages.push_back(std::move(sealed));
  }
  return messages;
}

absl::Status MaskedClient::Receive(std::span<const SealedShares> shares) {
  DTNN_RETURN_IF_ERROR(Expect(Stage::kShared));
  const int self = advertisement_.client;
  for (const SealedShares& message : shares) {
    const auto peer = advertised_.find(message.from);
    if (message.to != self || message.from == self || peer == advertised_.end() ||
        secrets_->shares.contains(message.from)) {
      return InvalidArgument("masked sum: shares from client ", message.from, " to client ",
                             message.to, " are not for client ", self, " or come twice");
    }
    culprit_ = message.from;
    DTNN_ASSIGN_OR_RETURN(const Secret key, SealKey(peer->second));
    DTNN_ASSIGN_OR_RETURN(
        const WipedVector<uint8_t> opened,
        WithContext(Open(key, Bound(parameters_, message.from, self), message.sealed),
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
  if (int(secrets_->shares.size()) < parameters_.least()) {
    return InvalidArgument("masked sum: only ", secrets_->shares.size(),
                           " clients sent shares, needs ", parameters_.least());
  }
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

absl::StatusOr<Reveal> MaskedClient::RevealShares(std::span<const int> survivors) {
  DTNN_RETURN_IF_ERROR(Expect(Stage::kReceived));
  const std::set<int> survived(survivors.begin(), survivors.end());
  for (const int client : survived) {
    if (!secrets_->shares.contains(client)) {
      return InvalidArgument("masked sum: client ", client, " cannot survive, it never shared");
    }
  }
  if (int(survived.size()) < parameters_.least() || !survived.contains(advertisement_.client)) {
    return InvalidArgument("masked sum: client ", advertisement_.client, " reveals nothing for ",
                           survived.size(), " survivors: needs ", parameters_.least(),
                           ", itself among them");
  }
  stage_ = Stage::kRevealed;
  Reveal reveal;
  reveal.client = advertisement_.client;
  for (const auto& [client, shares] : secrets_->shares) {
    const bool there = survived.contains(client);
    reveal.entries.push_back({client, there, there ? shares.own_mask : shares.masking});
  }
  secrets_.reset();
  return reveal;
}

}  // namespace dtnn::masked
