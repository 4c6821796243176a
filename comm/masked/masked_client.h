// A client of one masked sum (masked_parameters.h). Its calls come in the order of the functions
// below, each once; FailedPrecondition otherwise.

#ifndef DTNN_COMM_MASKED_MASKED_CLIENT_H_
#define DTNN_COMM_MASKED_MASKED_CLIENT_H_

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
#include "comm/crypto/wiped.h"
#include "comm/masked/masked_parameters.h"
#include "comm/masked/masks.h"

namespace dtnn::masked {

class MaskedClient {
 public:
  // Draws its secrets. `client` is its number.
  static absl::StatusOr<MaskedClient> Create(const MaskedParameters& parameters, int client);

  const Advertisement& advertisement() const { return advertisement_; }

  // One message for every other client that advertised. InvalidArgument where its own
  // advertisement was changed, two clients have the same keys, or there are fewer than the
  // threshold.
  absl::StatusOr<std::vector<SealedShares>> Share(std::span<const Advertisement> advertised);

  // Those that were sealed for this client: they and this client are the participants.
  absl::Status Receive(std::span<const SealedShares> shares);
  // After a Receive that failed: whose shares could not be opened.
  std::optional<int> culprit() const { return culprit_; }

  // Adds the masks to the numbers of a chunk, in place; any number of chunks, each once: a second
  // time is refused, since the difference of two messages under one mask is that of the numbers.
  // Who has to send a chunk again keeps its words. Each costs a stream of random words per
  // participant. Two threads may mask at a time.
  template <typename Word>
  absl::Status Mask(uint64_t chunk, std::span<Word> words);

  // What the server needs to remove the masks, given who of the participants sent all chunks.
  // Refuses fewer than the threshold, itself not among them, and a second call: it never reveals
  // both shares of a client.
  absl::StatusOr<Reveal> RevealShares(std::span<const int> survivors);

 private:
  struct Shares {
    Secret own_mask, masking;
  };
  enum class Stage { kAdvertised, kShared, kReceived, kRevealed };

  explicit MaskedClient(const MaskedParameters& parameters) : parameters_(parameters) {}
  absl::Status Expect(Stage stage) const;

  MaskedParameters parameters_;
  Stage stage_ = Stage::kAdvertised;
  std::optional<int> culprit_;
  Advertisement advertisement_;
  Secret sealing_, masking_, own_mask_;
  std::map<int, Advertisement> advertised_;  // by client, itself included
  std::map<int, Shares> shares_;             // of the participants, itself included
  std::map<int, Secret> pair_masks_;         // with the other participants
  // Chunks whose masks were used, between threads.
  struct Used {
    std::mutex mutex;
    std::set<uint64_t> chunks;
  };
  std::unique_ptr<Used> used_ = std::make_unique<Used>();
};

}  // namespace dtnn::masked

#endif  // DTNN_COMM_MASKED_MASKED_CLIENT_H_
