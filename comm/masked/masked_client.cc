#include "comm/masked/masked_client.h"

#include <algorithm>

#include "comm/crypto/random_secret.h"
#include "comm/crypto/sealed_message.h"
#include "comm/crypto/shamir.h"
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

absl::Status MaskedClient::Expect(Stage stage) const {
  static constexpr std::string_view kNext[] = {"Share", "Receive", "Mask or RevealShares",
                                               "nothing more"};
  if (stage_ == stage) return absl::OkStatus();
  return FailedPrecondition("masked sum of round ", parameters_.round, ": client ",
                            advertisement_.client, " can do ", kNext[size_t(stage_)],
                            " now; one client object makes one sum");
}

absl::StatusOr<MaskedClient> MaskedClient::Create(const MaskedParameters& parameters, int client) {
  DTNN_RETURN_IF_ERROR(Validate(parameters));
  if (client < 0 || client >= parameters.clients) {
    return InvalidArgument("masked sum: there is no client ", client, " among ",
                           parameters.clients);
  }
  MaskedClient result(parameters);
  DTNN_ASSIGN_OR_RETURN(result.sealing_, RandomSecret());
  DTNN_ASSIGN_OR_RETURN(result.masking_, RandomSecret());
  DTNN_ASSIGN_OR_RETURN(result.own_mask_, RandomSecret());
  Advertisement& a = result.advertisement_;
  a.client = client;
  DTNN_ASSIGN_OR_RETURN(a.sealing, X25519PublicKeyOf(result.sealing_));
  DTNN_ASSIGN_OR_RETURN(a.masking, X25519PublicKeyOf(result.masking_));
  DTNN_ASSIGN_OR_RETURN(a.own_mask, HashOfOwnMask(parameters, client, result.own_mask_));
  return result;
}

absl::StatusOr<std::vector<SealedShares>> MaskedClient::Share(
    std::span<const Advertisement> advertised) {
  DTNN_RETURN_IF_ERROR(Expect(Stage::kAdvertised));
  DTNN_RETURN_IF_ERROR(CheckAdvertised(parameters_, advertisement_, advertised));
  stage_ = Stage::kShared;
  const int self = advertisement_.client;
  DTNN_ASSIGN_OR_RETURN(const std::vector<SecretShare> own,
                        SplitSecret(own_mask_, parameters_.least(), parameters_.clients));
  DTNN_ASSIGN_OR_RETURN(const std::vector<SecretShare> masking,
                        SplitSecret(masking_, parameters_.least(), parameters_.clients));
  std::vector<SealedShares> messages;
  for (const Advertisement& peer : advertised) {
    const int to = peer.client;
    advertised_.emplace(to, peer);
    const Shares shares{own[size_t(to)].value, masking[size_t(to)].value};
    if (to == self) {
      shares_.emplace(self, shares);
      continue;
    }
    DTNN_ASSIGN_OR_RETURN(const Secret key, WithContext(PairSecret(parameters_, kSealPurpose, self,
                                                                   sealing_, to, peer.sealing),
                                                        "client ", to));
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
        shares_.contains(message.from)) {
      return InvalidArgument("masked sum: shares from client ", message.from, " to client ",
                             message.to, " are not for client ", self, " or come twice");
    }
    culprit_ = message.from;
    DTNN_ASSIGN_OR_RETURN(const Secret key, PairSecret(parameters_, kSealPurpose, self, sealing_,
                                                       message.from, peer->second.sealing));
    DTNN_ASSIGN_OR_RETURN(
        const WipedVector<uint8_t> opened,
        WithContext(Open(key, Bound(parameters_, message.from, self), message.sealed),
                    "shares of client ", message.from));
    if (opened.size() != 2 * Secret::kSize) {
      return DataLoss("shares of client ", message.from, ": have ", opened.size(), " bytes");
    }
    const std::span<const uint8_t> bytes(opened);
    shares_.emplace(message.from, Shares{Secret(bytes.first<Secret::kSize>()),
                                         Secret(bytes.last<Secret::kSize>())});
    DTNN_ASSIGN_OR_RETURN(Secret mask, PairSecret(parameters_, kMaskPurpose, self, masking_,
                                                  message.from, peer->second.masking));
    pair_masks_.emplace(message.from, mask);
    culprit_.reset();
  }
  if (int(shares_.size()) < parameters_.least()) {
    return InvalidArgument("masked sum: only ", shares_.size(), " clients sent shares, needs ",
                           parameters_.least());
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
  DTNN_RETURN_IF_ERROR(AddMask(own_mask_, chunk, Sign::kPlus, words));
  for (const auto& [peer, seed] : pair_masks_) {
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
    if (!shares_.contains(client)) {
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
  for (const auto& [client, shares] : shares_) {
    const bool there = survived.contains(client);
    reveal.entries.push_back({client, there, there ? shares.own_mask : shares.masking});
  }
  shares_.clear();
  pair_masks_.clear();
  return reveal;
}

}  // namespace dtnn::masked
