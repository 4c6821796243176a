// Secure aggregation by masks: what all parties of one sum agree on, and what they send each other.
//
// Client u sends x_u + PRG(b_u) + sum over v > u of PRG(s_uv) - sum over v < u of PRG(s_uv), in
// integers modulo 2^32 or 2^64: every pair's mask s_uv appears twice with opposite signs, so in the
// sum only the clients' own masks b_u are left, which they help to remove. A single client's
// numbers look uniformly random. Clients may drop out: shares of b_u and of the private key behind
// s_uv were given to all others, of which any `threshold` can rebuild one of the two, never both
// (Bonawitz et al., "Practical secure aggregation for privacy-preserving machine learning", 2017,
// without its signatures).
//
//   client                         server
//   Advertise                  ->  AddAdvertisement      two public keys each
//   Share                      <-  advertisements        sealed shares for every other client
//                              ->  AddShares
//   Receive                    <-  SharesFor             who takes part is fixed now
//   Mask, numbers              ->  (adds the words)
//   Reveal                     <-  the survivors         a share per participant
//                              ->  AddReveal
//                                  Unmask                the sum of the survivors
//
// Protects each client's numbers, beyond what the sum says, from the server and from fewer than
// `threshold` clients, as long as the server follows the protocol; where clients have a key that
// the server does not have (Bond), also from one that does not: docs/security.md.

#ifndef DTNN_COMM_SECRETS_MASKED_MASKED_PARAMETERS_H_
#define DTNN_COMM_SECRETS_MASKED_MASKED_PARAMETERS_H_

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "comm/secrets/crypto/hash.h"
#include "comm/secrets/crypto/wiped.h"
#include "comm/secrets/crypto/x25519.h"

namespace dtnn::masked {

struct MaskedParameters {
  int clients = 3;  // 0 .. clients - 1, 2 to 255 of them
  // Clients that must stay until the end; also the size of a group that could unmask others.
  // 0: floor(2 clients / 3) + 1.
  int threshold = 0;
  uint64_t round = 0;  // one sum: keys and masks are never used for another one

  int least() const { return threshold > 0 ? threshold : 2 * clients / 3 + 1; }
};

absl::Status Validate(const MaskedParameters& parameters);

// Keys of client `client`: for the encryption of shares, for masks, and a hash of its own mask's
// seed, by which the server knows that it was rebuilt well.
struct Advertisement {
  int client = 0;
  X25519PublicKey sealing{}, masking{};
  Hash own_mask{};
};

// Shares of the client's two secrets, readable by `to` only.
struct SealedShares {
  int from = 0, to = 0;
  std::vector<uint8_t> sealed;
};

// What a client reveals: for each participant a share of its own mask's seed where it survived,
// else of its private key of masking.
struct Reveal {
  struct Entry {
    int client = 0;
    bool survived = false;
    Secret share;
  };
  int client = 0;
  std::vector<Entry> entries;
};

// As bytes, with lengths checked against the parameters before anything is allocated; DataLoss for
// others.
std::vector<uint8_t> ToBytes(const Advertisement& message);
std::vector<uint8_t> ToBytes(const SealedShares& message);
std::vector<uint8_t> ToBytes(const Reveal& message);
absl::StatusOr<Advertisement> AdvertisementFromBytes(const MaskedParameters& parameters,
                                                     std::span<const uint8_t> bytes);
absl::StatusOr<SealedShares> SealedSharesFromBytes(const MaskedParameters& parameters,
                                                   std::span<const uint8_t> bytes);
absl::StatusOr<Reveal> RevealFromBytes(const MaskedParameters& parameters,
                                       std::span<const uint8_t> bytes);

}  // namespace dtnn::masked

#endif  // DTNN_COMM_SECRETS_MASKED_MASKED_PARAMETERS_H_
