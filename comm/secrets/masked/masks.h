// The masks that clients add and the server removes: streams of words from seeds.

#ifndef DTNN_COMM_SECRETS_MASKED_MASKS_H_
#define DTNN_COMM_SECRETS_MASKED_MASKS_H_

#include <cstdint>
#include <span>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "comm/secrets/crypto/hash.h"
#include "comm/secrets/crypto/wiped.h"
#include "comm/secrets/crypto/x25519.h"
#include "comm/secrets/masked/masked_parameters.h"

namespace dtnn::masked {

// What `mine` and `theirs` agree on for `purpose`, in this round: the same for both, whichever
// private key it is computed from.
absl::StatusOr<Secret> PairSecret(const MaskedParameters& parameters, std::string_view purpose,
                                  int mine, const Secret& private_key, int theirs,
                                  const X25519PublicKey& public_key);

constexpr std::string_view kMaskPurpose = "DTNN mask of two clients";

absl::StatusOr<Hash> HashOfOwnMask(const MaskedParameters& parameters, int client,
                                   const Secret& seed);

enum class Sign { kPlus, kMinus };

// The sign with which `client` adds the mask that it shares with `peer`.
constexpr Sign SignOf(int client, int peer) { return client < peer ? Sign::kPlus : Sign::kMinus; }
constexpr Sign Opposite(Sign sign) { return sign == Sign::kPlus ? Sign::kMinus : Sign::kPlus; }

// words += or -= the mask of this chunk. Chunks are numbered from 0; all must divide them alike.
template <typename Word>
absl::Status AddMask(const Secret& seed, uint64_t chunk, Sign sign, std::span<Word> words);

}  // namespace dtnn::masked

#endif  // DTNN_COMM_SECRETS_MASKED_MASKS_H_
