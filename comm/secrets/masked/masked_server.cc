#include "comm/secrets/masked/masked_server.h"

#include <algorithm>
#include <iterator>

#include "comm/secrets/crypto/random_secret.h"
#include "tensor/errors.h"

namespace dtnn::masked {
namespace {

// Choices of shares that turn out wrong, in one sum: half a second for the most clients.
constexpr int kMostTries = 1000;

}  // namespace

absl::StatusOr<MaskedServer> MaskedServer::Create(const MaskedParameters& parameters) {
  DTNN_RETURN_IF_ERROR(Validate(parameters));
  return MaskedServer(parameters);
}

// What the other clients would refuse, so that one that is wrong is found before they see it.
absl::Status MaskedServer::CheckKeys(const Advertisement& advertisement) const {
  DTNN_ASSIGN_OR_RETURN(const Secret any, RandomSecret());
  for (const X25519PublicKey& key : {advertisement.sealing, advertisement.masking}) {
    if (keys_.contains(key) || advertisement.sealing == advertisement.masking) {
      return InvalidArgument("masked sum: client ", advertisement.client,
                             " advertises a key that is there already");
    }
    DTNN_RETURN_IF_ERROR(WithContext(X25519Agree(any, key).status(), "masked sum: a key of client ",
                                     advertisement.client));
  }
  return absl::OkStatus();
}

absl::Status MaskedServer::AddAdvertisement(const Advertisement& advertisement) {
  const int client = advertisement.client;
  if (client < 0 || client >= parameters_.clients || graph_ || fixed_ ||
      advertised_.contains(client)) {
    return InvalidArgument("masked sum: client ", client,
                           " does not exist, advertises twice, or too late");
  }
  DTNN_RETURN_IF_ERROR(CheckKeys(advertisement));
  advertised_.emplace(client, advertisement);
  keys_.insert({advertisement.sealing, advertisement.masking});
  return absl::OkStatus();
}

std::vector<Advertisement> MaskedServer::advertised() const {
  std::vector<Advertisement> result;
  for (const auto& [client, advertisement] : advertised_) result.push_back(advertisement);
  return result;
}

absl::Status MaskedServer::DrawGraph() {
  if (graph_) return absl::OkStatus();
  DTNN_ASSIGN_OR_RETURN(graph_, MaskGraph::Draw(parameters_, advertised(), drawn_));
  return absl::OkStatus();
}

absl::StatusOr<Hash> MaskedServer::CloseAdvertised() {
  if (graph_) return FailedPrecondition("masked sum: advertising is closed already");
  DTNN_ASSIGN_OR_RETURN(const Secret random, RandomSecret());
  std::ranges::copy(random.bytes(), drawn_.begin());
  DTNN_RETURN_IF_ERROR(DrawGraph());
  return drawn_;
}

absl::Status MaskedServer::AddShares(int client, std::span<const SealedShares> messages) {
  if (!advertised_.contains(client)) {
    return InvalidArgument("masked sum: client ", client, " has shares, but did not advertise");
  }
  DTNN_RETURN_IF_ERROR(DrawGraph());
  std::set<int> receivers;
  for (const SealedShares& message : messages) {
    if (message.from != client || !advertised_.contains(message.to) ||
        !graph_->AreNeighbours(client, message.to) || !receivers.insert(message.to).second) {
      return InvalidArgument("masked sum: shares of client ", client, " name client ", message.from,
                             " as sender and ", message.to,
                             " as receiver, which does not exist or comes twice");
    }
  }
  const auto around = graph_->Around(client);
  const auto there = std::ranges::count_if(around, [&](int c) { return advertised_.contains(c); });
  if (fixed_ || participants_.contains(client) || int64_t(receivers.size()) + 1 != there) {
    return InvalidArgument("masked sum: the shares of client ", client,
                           " are too late, come twice, or are not for all its neighbours");
  }
  participants_.insert(client);
  for (const SealedShares& message : messages) shares_[message.to].emplace(client, message);
  return absl::OkStatus();
}

std::set<int> MaskedServer::FixParticipants() {
  fixed_ = true;
  return participants_;
}

absl::Status MaskedServer::CheckAround(const std::set<int>& clients) const {
  for (const int client : participants_) {
    const int around = graph_->CountAround(client, clients);
    if (around >= parameters_.shares_needed()) continue;
    return FailedPrecondition("masked sum of round ", parameters_.round, ": only ", around,
                              " of the ", parameters_.shares(), " clients that have shares of ",
                              "client ", client, " are left, needs ", parameters_.shares_needed(),
                              ": the round cannot be finished");
  }
  return absl::OkStatus();
}

std::vector<SealedShares> MaskedServer::SharesFor(int to) const {
  std::vector<SealedShares> result;
  const auto found = shares_.find(to);
  if (found == shares_.end()) return result;
  for (const auto& [from, message] : found->second) result.push_back(message);
  return result;
}

absl::Status MaskedServer::SetSurvivors(std::span<const int> survivors) {
  const std::set<int> survived(survivors.begin(), survivors.end());
  if (!fixed_ || !survivors_.empty() || !std::ranges::includes(participants_, survived)) {
    return InvalidArgument(
        "masked sum: survivors are participants, and are set once, when those are fixed");
  }
  if (int(survived.size()) < parameters_.least()) {
    return FailedPrecondition("masked sum of round ", parameters_.round, ": only ", survived.size(),
                              " of ", parameters_.clients, " clients are left, needs ",
                              parameters_.least(), ": the round cannot be finished");
  }
  // At a gap in a circle of neighbours one of them would have too few, so they are connected.
  DTNN_RETURN_IF_ERROR(CheckAround(survived));
  survivors_ = survived;
  return absl::OkStatus();
}

absl::Status MaskedServer::AddVote(const Vote& vote) {
  if (parameters_.complete() || !survivors_.contains(vote.client) || !reveals_.empty() ||
      rebuilt_ || !votes_.emplace(vote.client, vote).second) {
    return InvalidArgument("masked sum: client ", vote.client,
                           " votes without being asked, twice, or too late");
  }
  return absl::OkStatus();
}

absl::Status MaskedServer::AddReveal(const Reveal& reveal) {
  std::set<int> clients;
  for (const Reveal::Entry& entry : reveal.entries) {
    const bool around = entry.client == reveal.client ||
                        (graph_ && graph_->AreNeighbours(entry.client, reveal.client));
    if (!participants_.contains(entry.client) || !around || !clients.insert(entry.client).second ||
        entry.survived != survivors_.contains(entry.client)) {
      return InvalidArgument("masked sum: client ", reveal.client,
                             " reveals what nobody asked for");
    }
  }
  if (!survivors_.contains(reveal.client) || rebuilt_ ||
      int(clients.size()) != graph_->CountAround(reveal.client, participants_) ||
      !reveals_.emplace(reveal.client, reveal).second) {
    return InvalidArgument("masked sum: client ", reveal.client,
                           " did not survive, reveals twice, too late, or too little");
  }
  return absl::OkStatus();
}

std::map<int, std::vector<SecretShare>> MaskedServer::SharesByClient() const {
  std::map<int, std::vector<SecretShare>> shares;
  for (const auto& [from, reveal] : reveals_) {
    for (const Reveal::Entry& entry : reveal.entries) {
      shares[entry.client].push_back({graph_->ShareIndex(entry.client, from), entry.share});
    }
  }
  return shares;
}

absl::StatusOr<bool> MaskedServer::IsSecretOf(int client, const Secret& secret) const {
  const Advertisement& advertised = advertised_.at(client);
  if (survivors_.contains(client)) {
    DTNN_ASSIGN_OR_RETURN(const Hash hash, HashOfOwnMask(parameters_, client, secret));
    return hash == advertised.own_mask;
  }
  DTNN_ASSIGN_OR_RETURN(const X25519PublicKey key, X25519PublicKeyOf(secret));
  return key == advertised.masking;
}

absl::StatusOr<std::map<int, Secret>> MaskedServer::RebuildAll() {
  std::map<int, Secret> secrets;
  int tries = kMostTries;
  absl::Status status;
  std::map<int, std::vector<SecretShare>> shares_of = SharesByClient();
  std::set<int> have_lied;  // and are tried last: else a few would use up all tries
  for (const int client : participants_) {
    DTNN_RETURN_IF_ERROR(CheckStop());
    std::vector<SecretShare>& shares = shares_of[client];
    const int needed = parameters_.shares_needed();
    if (int(shares.size()) < needed) {
      status.Update(FailedPrecondition("masked sum of round ", parameters_.round, ": only ",
                                       shares.size(), " clients have revealed shares of client ",
                                       client, ", needs ", needed));
      continue;
    }
    std::ranges::stable_partition(shares, [&](const SecretShare& share) {
      return !have_lied.contains(graph_->HolderOf(client, share.index));
    });
    const auto is_secret = [&](const Secret& secret) { return IsSecretOf(client, secret); };
    absl::StatusOr<Secret> secret = FindSecret(shares, needed, is_secret, tries);
    if (!secret.ok()) {
      status.Update(WithContext(secret.status(), "masked sum: wrong shares of client ", client));
      continue;  // the others may say who lies
    }
    DTNN_ASSIGN_OR_RETURN(const std::vector<int> wrong, WrongShares(shares, needed));
    for (const int index : wrong) {
      const int from = graph_->HolderOf(client, index);
      wrong_shares_.push_back({.of = client, .from = from});
      have_lied.insert(from);
    }
    secrets.emplace(client, *std::move(secret));
  }
  DTNN_RETURN_IF_ERROR(status);
  return secrets;
}

absl::Status MaskedServer::CheckStop() const {
  if (!stop_.stop_requested()) return absl::OkStatus();
  return absl::CancelledError(StrCat("masked sum of round ", parameters_.round, ": stopped"));
}

absl::Status MaskedServer::Rebuild(const std::stop_token& stop) {
  stop_ = stop;
  const int needed = parameters_.shares_needed();
  if (survivors_.empty() || rebuilt_ || int(reveals_.size()) < needed) {
    return FailedPrecondition("masked sum of round ", parameters_.round, ": ", reveals_.size(),
                              " clients have revealed their shares, needs ", needed);
  }
  DTNN_ASSIGN_OR_RETURN(const auto secrets, RebuildAll());
  std::vector<Removal> removals;
  for (const auto& [client, secret] : secrets) {
    DTNN_RETURN_IF_ERROR(CheckStop());
    if (survivors_.contains(client)) {
      removals.push_back({secret, Sign::kMinus});
      continue;
    }
    for (const int survivor : graph_->Around(client)) {
      if (!survivors_.contains(survivor)) continue;
      DTNN_ASSIGN_OR_RETURN(const Secret seed,
                            PairSecret(parameters_, kMaskPurpose, client, secret, survivor,
                                       advertised_.at(survivor).masking));
      removals.push_back({seed, Opposite(SignOf(survivor, client))});
    }
  }
  removals_ = std::move(removals);
  reveals_.clear();
  rebuilt_ = true;
  return absl::OkStatus();
}

template <typename Word>
absl::Status MaskedServer::Unmask(uint64_t chunk, const std::set<int>& added,
                                  std::span<Word> words) const {
  if (!rebuilt_) {
    return FailedPrecondition("masked sum of round ", parameters_.round,
                              ": masks can be removed only after Rebuild");
  }
  if (added != survivors_) {
    std::vector<int> others;
    std::ranges::set_symmetric_difference(added, survivors_, std::back_inserter(others));
    return FailedPrecondition(
        "masked sum of round ", parameters_.round, ": chunk ", chunk, " ",
        added.contains(others[0]) ? "has words of client " : "lacks words of client ", others[0],
        ", which ", added.contains(others[0]) ? "did not survive" : "survived",
        "; add a client's words when all its chunks have arrived");
  }
  for (const Removal& removal : removals_) {
    DTNN_RETURN_IF_ERROR(CheckStop());
    DTNN_RETURN_IF_ERROR(AddMask(removal.seed, chunk, removal.sign, words));
  }
  return absl::OkStatus();
}

template absl::Status MaskedServer::Unmask(uint64_t, const std::set<int>&,
                                           std::span<uint32_t>) const;
template absl::Status MaskedServer::Unmask(uint64_t, const std::set<int>&,
                                           std::span<uint64_t>) const;

}  // namespace dtnn::masked
