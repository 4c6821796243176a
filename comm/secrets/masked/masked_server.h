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
#include <set>
#include <span>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "comm/secrets/crypto/wiped.h"
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

  // All messages of one client, one for every other client that advertised.
  absl::Status AddShares(int client, std::span<const SealedShares> messages);
  // The participants: those whose shares arrived. After the first call, no more are taken.
  std::set<int> FixParticipants();
  // What client `to`, a participant, has to Receive.
  std::vector<SealedShares> SharesFor(int to) const;

  // Those participants of which all chunks arrived; what clients RevealShares for.
  // FailedPrecondition for fewer than the threshold: the round is lost.
  absl::Status SetSurvivors(std::span<const int> survivors);

  absl::Status AddReveal(const Reveal& reveal);
  // Rebuilds the secrets once enough clients have revealed: FailedPrecondition before. Shares that
  // are wrong are passed over as long as enough others are right; else DataLoss.
  absl::Status Rebuild();
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
  std::vector<SecretShare> SharesOf(int client) const;
  absl::StatusOr<bool> IsSecretOf(int client, const Secret& secret) const;
  absl::StatusOr<std::map<int, Secret>> RebuildAll();

  MaskedParameters parameters_;
  std::map<int, Advertisement> advertised_;
  std::map<int, std::map<int, SealedShares>> shares_;  // by receiver, by sender
  std::set<int> participants_, survivors_;
  bool fixed_ = false, rebuilt_ = false;
  std::map<int, Reveal> reveals_;
  std::vector<Removal> removals_;
  std::vector<WrongShare> wrong_shares_;
};

}  // namespace dtnn::masked

#endif  // DTNN_COMM_SECRETS_MASKED_MASKED_SERVER_H_
