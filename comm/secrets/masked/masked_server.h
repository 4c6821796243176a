// The server of one masked sum (masked_parameters.h). It learns the sum of the survivors' numbers.
//
// Calls come in the order of the functions below; InvalidArgument for messages that do not belong
// there. Words stay outside: the caller adds them (they wrap around) and calls Unmask at the
// end, chunk by chunk. A client's words must be kept until its last chunk has arrived, and added
// only then: one that stops between two chunks does not survive, and its mask would stay in the
// sums of its first ones, which Unmask refuses.

#ifndef DTNN_COMM_SECRETS_MASKED_MASKED_SERVER_H_
#define DTNN_COMM_SECRETS_MASKED_MASKED_SERVER_H_

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <stop_token>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "comm/secrets/crypto/wiped.h"
#include "comm/secrets/masked/mask_graph.h"
#include "comm/secrets/masked/masked_parameters.h"
#include "comm/secrets/masked/masks.h"
#include "comm/secrets/masked/share_search.h"

namespace dtnn::masked {

class MaskedServer {
 public:
  static absl::StatusOr<MaskedServer> Create(const MaskedParameters& parameters);

  absl::Status AddAdvertisement(const Advertisement& advertisement);
  // For every client that advertised.
  std::vector<Advertisement> advertised() const;

  // No client advertises then. Random bytes that it draws now, which all clients need to Share;
  // zeros where clients share without.
  absl::StatusOr<Hash> CloseAdvertised();

  // All messages of one client, one for every neighbour that advertised; no client advertises then.
  absl::Status AddShares(int client, std::span<const SealedShares> messages);
  // The participants: those whose shares arrived. After the first call, no more are taken.
  std::set<int> FixParticipants();
  // FailedPrecondition where fewer than the threshold participate around one of them: the round is
  // lost.
  absl::Status CheckParticipants() const { return CheckAround(participants_); }
  // What client `to`, a participant, has to Receive.
  std::vector<SealedShares> SharesFor(int to) const;

  // Those participants of which all chunks arrived; what clients vote for, or RevealShares for.
  // FailedPrecondition for too few, also around one participant: the round is lost.
  absl::Status SetSurvivors(std::span<const int> survivors);

  // With neighbours: what all survivors need before they reveal, and at least `least` of them.
  absl::Status AddVote(const Vote& vote);
  const std::map<int, Vote>& votes() const { return votes_; }

  absl::Status AddReveal(const Reveal& reveal);
  // Rebuilds the secrets once enough clients have revealed: FailedPrecondition before. Shares that
  // are wrong are passed over as long as enough others are right; else DataLoss. It and Unmask may
  // take minutes: Cancelled, soon, once `stop` asks for it.
  absl::Status Rebuild(const std::stop_token& stop = {});
  // What Rebuild has passed over, whether it has succeeded or not. One of the two has lied: `from`
  // about what it was given, or `of` by what it gave.
  struct WrongShare {
    int of = 0, from = 0;
  };
  const std::vector<WrongShare>& wrong_shares() const { return wrong_shares_; }

  // Removes the masks from the sum of the words of a chunk, in place. `added`: whose words those
  // are; FailedPrecondition unless they are the survivors'. Costs a stream of random words per
  // survivor, and one per pair of a survivor and a client that dropped out. Two threads may unmask
  // different chunks.
  template <typename Word>
  absl::Status Unmask(uint64_t chunk, const std::set<int>& added, std::span<Word> words) const;

 private:
  struct Removal {
    Secret seed;
    Sign sign;
  };

  explicit MaskedServer(const MaskedParameters& parameters) : parameters_(parameters) {}
  absl::Status CheckKeys(const Advertisement& advertisement) const;
  absl::Status DrawGraph();
  absl::Status CheckStop() const;
  // Around each participant there are enough of these.
  absl::Status CheckAround(const std::set<int>& clients) const;
  std::map<int, std::vector<SecretShare>> SharesByClient() const;
  absl::StatusOr<bool> IsSecretOf(int client, const Secret& secret) const;
  absl::StatusOr<std::map<int, Secret>> RebuildAll();

  MaskedParameters parameters_;
  std::map<int, Advertisement> advertised_;
  std::set<X25519PublicKey> keys_;  // of these
  Hash drawn_{};
  std::optional<MaskGraph> graph_;                     // nothing while clients may advertise
  std::map<int, std::map<int, SealedShares>> shares_;  // by receiver, by sender
  std::set<int> participants_, survivors_;
  bool fixed_ = false, rebuilt_ = false;
  std::map<int, Vote> votes_;
  std::map<int, Reveal> reveals_;
  std::vector<Removal> removals_;
  std::vector<WrongShare> wrong_shares_;
  std::stop_token stop_;
};

}  // namespace dtnn::masked

#endif  // DTNN_COMM_SECRETS_MASKED_MASKED_SERVER_H_
