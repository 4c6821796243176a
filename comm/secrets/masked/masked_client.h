// A client of one masked sum (masked_parameters.h). Its calls come in the order of the functions
// below, each once; FailedPrecondition otherwise.
//
// Where clients have neighbours, a server that gives different lists of survivors to different ones
// learns no more than one sum: a client reveals shares only where more than two thirds of all
// clients have voted for its list, the list is connected, and all its neighbours on the list have
// shared with it. Suppose that the sum of a part A of that list was read without the rest B.
// Between the two there are no masks then: a member of A has not got the shares of its neighbours
// in B, and if it has such neighbours it reveals nothing. Let e be such a member. It has shares of
// threshold - 1 others, so at most k - (k / 2 + 1) = k / 2 - 1 of its k neighbours are in B. Its
// secret can be rebuilt only from shares of those, and of neighbours in A that have none in B: if
// the nearest of the latter is j places away there are at most k / 2 - j + 1, all on one side of e,
// and the former are beyond its reach, at most j on the other side. That is k / 2 + 1 together, one
// too few. So no member of A has neighbours in B, and the list is not connected.

#ifndef DTNN_COMM_SECRETS_MASKED_MASKED_CLIENT_H_
#define DTNN_COMM_SECRETS_MASKED_MASKED_CLIENT_H_

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <span>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "comm/secrets/crypto/wiped.h"
#include "comm/secrets/masked/mask_graph.h"
#include "comm/secrets/masked/masked_parameters.h"
#include "comm/secrets/masked/masks.h"

namespace dtnn::masked {

// What the clients of a sum have in common. Shares are sealed with keys that follow from all of it
// and from all advertisements, so that a client opens those of another one only where both have the
// same key, received the same, and saw the same list of keys, with its own new ones among them.
struct Bond {
  Hash facts{};  // of what all received alike
  // That only clients have. Zeros: none; then a server that gives each client keys of its own
  // making for those of the others can play all of them.
  Secret key = {};
};

class MaskedClient {
 public:
  // Draws its secrets. `client` is its number.
  static absl::StatusOr<MaskedClient> Create(const MaskedParameters& parameters, int client,
                                             const Bond& bond = {});

  const Advertisement& advertisement() const { return advertisement_; }

  // One message for every neighbour that advertised. InvalidArgument where its own advertisement
  // was changed, two clients have the same keys, or there are fewer than the threshold. `drawn`:
  // what the server drew when it closed the list.
  absl::StatusOr<std::vector<SealedShares>> Share(std::span<const Advertisement> advertised,
                                                  const Hash& drawn = {});

  // Those that were sealed for this client: their senders share masks with it.
  absl::Status Receive(std::span<const SealedShares> shares);
  // After a Receive that failed: whose shares could not be opened.
  std::optional<int> culprit() const { return culprit_; }

  // Adds the masks to the numbers of a chunk, in place; any number of chunks, each once: a second
  // time is refused, since the difference of two messages under one mask is that of the numbers.
  // A client that has to send a chunk again keeps its words. Each costs a stream of random words
  // per participant. Two threads may mask at a time.
  template <typename Word>
  absl::Status Mask(uint64_t chunk, std::span<Word> words);

  // Given who of the participants sent all chunks. Refuses too few, itself not among them, groups
  // that are not connected, a neighbour that did not share, and a second list. Only with
  // neighbours.
  absl::StatusOr<Vote> VoteFor(std::span<const int> survivors);
  // What the server needs to remove the masks, where enough clients have voted for the same
  // survivors; wrong votes are passed over. FailedPrecondition for too few.
  absl::StatusOr<Reveal> RevealShares(std::span<const Vote> votes);
  // The same where all others are neighbours, whose shares do without votes. Refuses what VoteFor
  // refuses, and a second call: a client never reveals both shares of another one.
  absl::StatusOr<Reveal> RevealShares(std::span<const int> survivors);
  // Not after RevealShares.
  bool holds_secrets() const { return secrets_.has_value(); }

 private:
  struct Shares {
    Secret own_mask, masking;
  };
  enum class Stage { kAdvertised, kShared, kReceived, kVoted, kRevealed };

  struct Secrets {
    Secret sealing, masking, own_mask;
    std::map<int, Secret> seal_keys;   // with the neighbours that advertised, until Receive
    std::map<int, Shares> shares;      // of the participants around it, itself included
    std::map<int, Secret> pair_masks;  // with the others of these
  };

  MaskedClient(const MaskedParameters& parameters, const Bond& bond)
      : parameters_(parameters), bond_(bond) {}
  absl::Status Expect(Stage stage) const;
  // With which it and that client seal shares for each other.
  absl::StatusOr<Secret> SealKey(const Advertisement& peer) const;
  absl::Status CheckSurvivors(const std::set<int>& survivors) const;
  // The proof in that client's vote for survivors_.
  absl::StatusOr<Secret> VoteOf(int client) const;
  Reveal TakeShares(const std::set<int>& survivors);

  MaskedParameters parameters_;
  Stage stage_ = Stage::kAdvertised;
  std::optional<int> culprit_;
  Advertisement advertisement_;
  Bond bond_;
  std::map<int, Advertisement> advertised_;  // by client, itself included
  std::optional<MaskGraph> graph_;           // from Share on
  Hash agreed_{};            // of these, and of what the bond says that all received
  std::set<int> survivors_;  // that it has voted for
  std::optional<Secrets> secrets_;
  // Chunks whose masks were used, between threads.
  struct Used {
    std::mutex mutex;
    std::set<uint64_t> chunks;
  };
  std::unique_ptr<Used> used_ = std::make_unique<Used>();
};

}  // namespace dtnn::masked

#endif  // DTNN_COMM_SECRETS_MASKED_MASKED_CLIENT_H_
